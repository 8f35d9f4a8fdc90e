// Single and double precision alternate here as in the reference.
#include "float_adm/float_adm.h"

#include <algorithm>
#include <cmath>

namespace acuity {

namespace {

// ---- contrast sensitivity -----------------------------------------------------------------------

// Of Li, Zhang, Ma and Ngan, who separated detail loss from additive impairment.
float li(const CsfOptions& o, int scale, bool diagonal) {
    auto frequency = static_cast<float>(static_cast<double>(pixels_per_degree(o)) / std::pow(2, scale + 1));
    if (diagonal) frequency = static_cast<float>(static_cast<double>(frequency) / 0.7);
    const double f = static_cast<double>(frequency);
    return static_cast<float>((0.31 + 0.69 * f) * std::exp(-0.29 * f));
}

CsfFactors li_factors(const CsfOptions& o, int scale) { return {li(o, scale, false), li(o, scale, true)}; }

CsfFactors factors(const FloatAdmSetting& s, int scale) {
    using Function = CsfFactors (*)(const CsfOptions&, int);
    static constexpr Function kFunctions[] = {watson_factors, barten_factors, li_factors};
    const Function function = kFunctions[s.csf_mode <= 2 ? s.csf_mode : 0];
    const CsfOptions options = {CsfMode::kWatson97, s.view_distance, s.display_height, s.csf_scale,
                                s.csf_diagonal_scale};
    CsfFactors found = function(options, scale);
    if (s.straight[scale] >= 0) found.straight = static_cast<float>(s.straight[scale]);
    if (s.diagonal[scale] >= 0) found.diagonal = static_cast<float>(s.diagonal[scale]);
    return found;
}

bool same_reference(const FloatAdmWeights& a, const FloatAdmWeights& b) {
    return a.straight == b.straight && a.diagonal == b.diagonal && a.exponent == b.exponent;
}

// ---- scores -------------------------------------------------------------------------------------

float root(float sum, double exponent) { return std::pow(sum, static_cast<float>(1.0 / exponent)); }

// Roots of the bands' sums, each with its share of the noise floor.
double pooled(const float (&sums)[3], const FloatAdmSetting& s, double noise_weight, double area) {
    const float noise = root(static_cast<float>(area * noise_weight), s.exponent);
    const float h = root(sums[0], s.exponent) + noise, v = root(sums[1], s.exponent) + noise,
                d = root(sums[2], s.exponent) + noise;
    return static_cast<double>(h + v + d);
}

}  // namespace

// Low-pass bands of two scales in turn, and the kernels' scratch.
struct FloatAdm::Memory {
    Grid<float> ref[2], dis[2];
    void* scratch;
    std::size_t bytes;
};

FloatAdm::Memory FloatAdm::carve(Carver carver) const {
    Memory m;
    int width = width_, height = height_;
    for (int i = 0; i < 2; ++i) {
        width = (width + 1) / 2;
        height = (height + 1) / 2;
        m.ref[i] = carver.grid<float>(width, height);
        m.dis[i] = carver.grid<float>(width, height);
    }
    m.scratch = carver.bytes(kernels_.scratch_bytes(width_, height_, static_cast<int>(settings_.size())));
    m.bytes = carver.used();
    return m;
}

FloatAdm::FloatAdm(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height,
                   bool skip_scale0, const std::vector<FloatAdmSetting>& settings)
    : workspace_(std::move(workspace)), kernels_(*kernels.float_adm), width_(width), height_(height),
      skip_scale0_(skip_scale0), settings_(settings) {
    for (int scale = 0; scale < kScales; ++scale) {
        for (const FloatAdmSetting& s : settings_) {
            const CsfFactors f = factors(s, scale);
            weights_[scale].push_back({f.straight, f.diagonal, s.gain_limit, s.exponent, s.masking, true});
        }
    }
    for (std::size_t i = 0; i < settings_.size(); ++i) {
        std::size_t first = 0;
        while (!std::all_of(std::begin(weights_), std::end(weights_),
                            [&](const auto& scale) { return same_reference(scale[first], scale[i]); }))
            ++first;
        reference_of_.push_back(first);
        for (auto& scale : weights_) scale[i].reference = first == i;
    }
    workspace_->reserve(carve(Carver(nullptr)).bytes);
}

// The whole, the additive impairment, four scales, then numerator and denominator of the whole and of each scale.
void FloatAdm::append_outputs(std::size_t setting, const Sums (&sums)[kScales], std::vector<double>& out) const {
    const FloatAdmSetting& s = settings_[setting];
    double num = 0, den = 0, aim_num = 0, aim_den = 0;
    double scale_num[kScales], scale_den[kScales];
    int width = width_, height = height_;
    for (int scale = 0; scale < kScales; ++scale) {
        width = (width + 1) / 2;
        height = (height + 1) / 2;
        const FloatAdmRange rows(height), columns(width);
        const double area = (columns.stop - columns.first) * (rows.stop - rows.first);
        double aim = 0;
        scale_num[scale] = 0;
        scale_den[scale] = static_cast<double>(1e-10f);  // so that a skipped scale divides to 0
        if (scale > 0 || !skip_scale0_) {
            const FloatAdmSums& found = sums[scale][setting];
            scale_num[scale] = pooled(found.kept, s, s.noise_weight, area);
            scale_den[scale] = pooled(sums[scale][reference_of_[setting]].reference, s, s.noise_weight, area);
            aim = pooled(found.impairment, s, 0.0, area);
        }
        num += scale_num[scale];
        den += scale_den[scale];
        if (scale == s.skip_aim_scale) continue;
        aim_num += aim;
        aim_den += scale_den[scale];
    }
    const double limit = 1e-10 * (width_ * height_) / (1920.0 * 1080.0);
    num = num < limit ? 0 : num;
    den = den < limit ? 0 : den;
    const double impairment = aim_num / aim_den;
    out.push_back(den == 0.0 ? 1.0 : num / den);
    out.push_back(den == 0.0 ? 0.0 : (impairment < 1.0 ? impairment : 1.0));
    for (int scale = 0; scale < kScales; ++scale) out.push_back(scale_num[scale] / scale_den[scale]);
    out.push_back(num);
    out.push_back(den);
    for (int scale = 0; scale < kScales; ++scale) {
        out.push_back(scale_num[scale]);
        out.push_back(scale_den[scale]);
    }
}

std::vector<double> FloatAdm::run(const Plane& ref, const Plane& dis) const {
    const Memory m = carve(Carver(workspace_->block()));
    Sums sums[kScales];
    FloatAdmScale scale{};
    scale.ref = FloatPicture::of(ref);
    scale.dis = FloatPicture::of(dis);
    for (int s = 0; s < kScales; ++s) {
        const auto &ref_low = m.ref[s % 2], &dis_low = m.dis[s % 2];
        scale.bands = s > 0 || !skip_scale0_;
        scale.ref_low = ref_low.data;
        scale.dis_low = dis_low.data;
        scale.low_stride = ref_low.stride;
        sums[s].resize(settings_.size());
        kernels_.scale(scale, weights_[s].data(), static_cast<int>(settings_.size()), m.scratch, sums[s].data());
        const int width = (scale.ref.width + 1) / 2, height = (scale.ref.height + 1) / 2;
        scale.ref = FloatPicture::of(ref_low.data, ref_low.stride, width, height);
        scale.dis = FloatPicture::of(dis_low.data, dis_low.stride, width, height);
    }
    std::vector<double> out;
    out.reserve(settings_.size() * kOutputs);
    for (std::size_t i = 0; i < settings_.size(); ++i) append_outputs(i, sums, out);
    return out;
}

}  // namespace acuity
