// Single and double precision alternate here exactly as in the reference: the factors decide last digits.
#include "adm/csf.h"

#include <cmath>
#include <iterator>
#include <string>

#include "core/dispatch.h"

namespace acuity {

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kReferenceDistance = 3.0 * 1080;  // lines from the screen that the 16-bit scale 0 allows
constexpr double kLuminance = 100.0;               // cd/m2

// ---- Watson 1997: visibility of wavelet quantization noise ------------------------------------

constexpr float kWatsonA = 0.495f, kWatsonK = 0.466f, kWatsonF0 = 0.401f;
constexpr float kWatsonStraight = 1.0f, kWatsonDiagonal = 0.534f;  // g of each direction
constexpr float kAmplitudes[kScales][2] = {  // of the 9/7 basis functions: straight, diagonal
    {0.67234f, 0.72709f}, {0.41317f, 0.49428f}, {0.22727f, 0.28688f}, {0.11792f, 0.15214f}};

float watson(const CsfOptions& o, int scale, float direction, float amplitude) {
    const double frequency = std::pow(2.0, scale + 1) * static_cast<double>(kWatsonF0) *
                             static_cast<double>(direction) / static_cast<double>(pixels_per_degree(o));
    const auto distance = static_cast<float>(std::log10(frequency));
    const auto step = static_cast<float>(2.0 * static_cast<double>(kWatsonA) *
                                         std::pow(10.0, static_cast<double>(kWatsonK * distance * distance)) /
                                         static_cast<double>(amplitude));
    return 1.0f / step;
}

// ---- Barten, as HDR-VDP 2.2 simplifies it ------------------------------------------------------

// Fitted at 20 and at 150 cd/m2, the measured levels around kLuminance.
constexpr float kLevels[2] = {20.0f, 150.0f};
constexpr float kFits[2][4] = {{0.334278f, 3.79542f, 1.07327f, 6.4635f}, {0.394533f, 2.7755f, 1.16577f, 7.45665f}};
constexpr float kSensitivity[4] = {30.162f, 4.0627f, 1.6596f, 0.2712f};
constexpr float kMtfA[4] = {0.424838596301290f, 0.572435103936480f, 0.000167576239164937f, 0.00255872352306433f};
constexpr float kMtfB[4] = {0.028f, 0.37f, 37.0f, 360.0f};

float fit_at_luminance(int parameter) {
    const auto left = static_cast<float>(std::log10(static_cast<double>(kLevels[0])));
    const auto right = static_cast<float>(std::log10(static_cast<double>(kLevels[1])));
    const auto here = static_cast<float>(std::log10(kLuminance));
    const float from = kFits[0][parameter], to = kFits[1][parameter];
    return from + ((to - from) / (right - left)) * (here - left);
}

float eye_transfer(float frequency) {
    float sum = 0.0f;
    for (int i = 0; i < 4; ++i)
        sum = static_cast<float>(static_cast<double>(sum) +
                                 static_cast<double>(kMtfA[i]) * std::exp(static_cast<double>(-kMtfB[i] * frequency)));
    return sum;
}

float luminance_sensitivity() {
    const float drop = kSensitivity[1] / static_cast<float>(kLuminance);
    const double base = std::pow(static_cast<double>(drop), static_cast<double>(kSensitivity[2])) + 1;
    return static_cast<float>(static_cast<double>(kSensitivity[0]) *
                              std::pow(base, -static_cast<double>(kSensitivity[3])));
}

float barten(const CsfOptions& o, int scale, double weight) {
    const auto frequency = static_cast<float>(static_cast<double>(pixels_per_degree(o)) / std::pow(2, scale + 1));
    const float p0 = fit_at_luminance(0), p1 = fit_at_luminance(1), p2 = fit_at_luminance(2), p3 = fit_at_luminance(3);
    const auto a = static_cast<float>(1.0 + std::pow(static_cast<double>(p0 * frequency), static_cast<double>(p1)));
    const double low = 1 - std::exp(-std::pow(static_cast<double>(frequency / 7), 2));
    const auto b = static_cast<float>(1.0 / std::pow(low, static_cast<double>(p2)));
    const auto neural = static_cast<float>(static_cast<double>(p3) / std::pow(static_cast<double>(a * b), 0.5));
    return static_cast<float>(static_cast<double>(neural * eye_transfer(frequency) * luminance_sensitivity()) * weight);
}

// ---- blends of the two, tabulated for common screens -------------------------------------------

struct Blend {
    int display_height;
    double view_distance;
    float straight[kScales], diagonal[kScales];
};

// Screens nearer than kReferenceDistance are refused before the table is looked at.
constexpr Blend kBlends[] = {
    {1080, 3.0, {0.01183f, 0.025026f, 0.04295f, 0.058621f}, {0.004302f, 0.011778f, 0.023918f, 0.035901f}},
    {1080, 5.0, {0.004212f, 0.014809f, 0.029642f, 0.047464f}, {0.000984f, 0.005852f, 0.0146f, 0.027574f}},
    {2160, 1.5, {0.01183f, 0.025026f, 0.04295f, 0.058621f}, {0.004302f, 0.011778f, 0.023918f, 0.035901f}},
    {2160, 3.0, {0.00226f, 0.01183f, 0.025026f, 0.04295f}, {0.000479f, 0.004302f, 0.011778f, 0.023918f}},
    {2160, 5.0, {0.000092f, 0.004212f, 0.014809f, 0.029642f}, {0.000050f, 0.000984f, 0.005852f, 0.0146f}},
    {720, 5.0, {0.010144f, 0.022561f, 0.040309f, 0.05672f}, {0.003463f, 0.010282f, 0.021839f, 0.034641f}},
};

constexpr Blend kBlendsMae[] = {
    {1080, 3.0, {0.011249f, 0.022606f, 0.035930f, 0.045673f}, {0.004097f, 0.010921f, 0.021430f, 0.031313f}},
    {1080, 5.0, {0.004052f, 0.013939f, 0.026298f, 0.038833f}, {0.000927f, 0.005544f, 0.013415f, 0.024515f}},
    {2160, 1.5, {0.011249f, 0.022606f, 0.035930f, 0.045673f}, {0.004097f, 0.010921f, 0.021430f, 0.031313f}},
    {2160, 3.0, {0.002166f, 0.011249f, 0.022606f, 0.035930f}, {0.000447f, 0.004097f, 0.010921f, 0.021430f}},
    {2160, 5.0, {0.000077f, 0.004052f, 0.013939f, 0.026298f}, {0.000045f, 0.000927f, 0.005544f, 0.013415f}},
    {720, 5.0, {0.009689f, 0.020577f, 0.034162f, 0.044523f}, {0.003302f, 0.009579f, 0.019661f, 0.030318f}},
};

std::string number(double value) {
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
}

template <std::size_t N>
CsfFactors blended(const Blend (&table)[N], const CsfOptions& o, int scale) {
    std::string known;
    for (const Blend& b : table) {
        if (b.display_height == o.display_height && b.view_distance == o.view_distance)
            return {b.straight[scale], b.diagonal[scale]};
        known += (known.empty() ? "" : ", ") + number(b.view_distance) + " at " + std::to_string(b.display_height);
    }
    throw UnsupportedOptions("adm_csf_mode " + std::to_string(static_cast<int>(o.mode)) +
                             " has no table for adm_norm_view_dist " + number(o.view_distance) +
                             " at adm_ref_display_height " + std::to_string(o.display_height) + ": use one of " + known);
}

// Out-of-range conversions are undefined in C; the reference figures saturate.
std::uint32_t saturate(double x) {
    if (!(x > 0)) return 0;
    return x >= 4294967295.0 ? 0xFFFFFFFFu : static_cast<std::uint32_t>(x);
}

bool is_default_screen(const CsfOptions& o) {
    return o.mode == CsfMode::kWatson97 && std::fabs(o.view_distance * o.display_height - kReferenceDistance) < 1.0e-8;
}

}  // namespace

float pixels_per_degree(const CsfOptions& o) {
    return static_cast<float>(o.view_distance * o.display_height * kPi / 180.0);
}

CsfFactors watson_factors(const CsfOptions& o, int scale) {
    return {watson(o, scale, kWatsonStraight, kAmplitudes[scale][0]),
            watson(o, scale, kWatsonDiagonal, kAmplitudes[scale][1])};
}

CsfFactors barten_factors(const CsfOptions& o, int scale) {
    return {barten(o, scale, o.scale), barten(o, scale, o.diagonal_scale)};
}

CsfFactors csf_factors(const CsfOptions& o, int scale) {
    if (o.view_distance * o.display_height < kReferenceDistance)
        throw UnsupportedOptions("adm_norm_view_dist " + number(o.view_distance) + " times adm_ref_display_height " +
                                 std::to_string(o.display_height) +
                                 " is below 3240, nearer than 16-bit arithmetic allows: raise one of them");
    switch (o.mode) {
        case CsfMode::kBarten:
            return barten_factors(o, scale);
        case CsfMode::kBlend:
            return blended(kBlends, o, scale);
        case CsfMode::kBlendMae:
            return blended(kBlendsMae, o, scale);
        case CsfMode::kWatson97:
            break;
    }
    return watson_factors(o, scale);
}

void fixed_point_factors(const CsfOptions& o, int scale, std::uint32_t (&out)[3]) {
    const CsfFactors f = csf_factors(o, scale);
    if (scale > 0) {
        out[0] = out[1] = saturate(static_cast<double>(f.straight) * 4294967296.0);
        out[2] = saturate(static_cast<double>(f.diagonal) * 4294967296.0);
        return;
    }
    if (is_default_screen(o)) {
        out[0] = out[1] = 36453;
        out[2] = 49417;
        return;
    }
    // Kept in 16 bits, so larger factors wrap.
    out[0] = out[1] = saturate(static_cast<double>(f.straight) * 2097152.0) & 0xFFFFu;
    out[2] = saturate(static_cast<double>(f.diagonal) * 8388608.0) & 0xFFFFu;
}

}  // namespace acuity
