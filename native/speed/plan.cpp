#include "speed/plan.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/dispatch.h"

namespace acuity {

namespace {

// ---- filters ----------------------------------------------------------------------------------

// Samples a window of VIF's has at that scale: 17, 9, 5, 3, 2, times the kernel scale, rounded up to odd.
int window_size(int scale, float kernelscale) {
    const int whole = (1 << (4 - scale)) + 1;
    const auto size = static_cast<int>(std::ceil(static_cast<float>(whole) * kernelscale));
    return std::max(size % 2 == 0 ? size + 1 : size, 3);
}

std::vector<float> gaussian(int size, float deviation) {
    const auto sigma = static_cast<double>(deviation);
    const auto peak = static_cast<float>(1 / (sigma * std::sqrt(2 * std::numbers::pi)));
    std::vector<float> taps;
    float sum = 0;
    for (int i = 0; i < size; ++i) {
        const double x = i - (size - 1) / 2;
        taps.push_back(static_cast<float>(std::exp(-0.5 * x / sigma * x / sigma)) / peak);
        sum += taps.back();
    }
    for (float& tap : taps) tap /= sum;
    return taps;
}

// ---- rescaling --------------------------------------------------------------------------------

float cubic(float t) {
    constexpr float a = -0.75f;
    t = std::fabs(t);
    if (t < 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
    if (t < 2) return (((t - 5) * t + 8) * t - 4) * a;
    return 0;
}

constexpr float kLobes = 4.0f;

float lanczos(float t) {
    constexpr double pi = std::numbers::pi;
    const auto x = static_cast<double>(t), lobes = static_cast<double>(kLobes);
    if (t == 0) return 1;
    if (t <= -kLobes || t >= kLobes) return 0;
    return static_cast<float>(lobes * std::sin(pi * x) * std::sin(pi * x / lobes) / (pi * pi * x * x));
}

int mirror(int i, int size) { return i < 0 ? -i : i >= size ? 2 * size - 2 - i : i; }

struct Tap {
    int at;
    float weight;
};

// Samples that a sample of the rescaled axis is made of.
using Taps = std::vector<Tap>;

Taps nearest(int i, int size, float ratio) {
    return {{std::min(static_cast<int>(static_cast<float>(i) * ratio), size - 1), 1.0f}};
}

// Where a sample of the rescaled axis lies on the other one.
float place(int i, float ratio) { return static_cast<float>((i + 0.5) * static_cast<double>(ratio) - 0.5); }

// The left neighbour is mirrored before its distance is taken, so that at the edge it is a longer one.
Taps bilinear(int i, int size, float ratio) {
    const float x = place(i, ratio);
    const int left = mirror(static_cast<int>(std::floor(x)), size);
    const int right = mirror(static_cast<int>(std::ceil(x)), size);
    const float distance = x - static_cast<float>(left);
    return {{left, 1 - distance}, {right, distance}};
}

template <int First, int Last, float (*Kernel)(float)>
Taps blended(int i, int size, float ratio) {
    const float x = place(i, ratio);
    const auto left = static_cast<int>(std::floor(x));
    const float distance = x - static_cast<float>(left);
    Taps taps;
    for (int t = First; t <= Last; ++t)
        taps.push_back({mirror(left + t, size), Kernel(static_cast<float>(t) - distance)});
    return taps;
}

struct Method {
    const char* name;
    int blend;
    bool normalised;
    Taps (*taps)(int i, int size, float ratio);
};

constexpr Method kMethods[] = {
    {"nearest", 1, false, nearest},
    {"bilinear", 2, false, bilinear},
    {"bicubic", 4, false, blended<-1, 2, cubic>},
    {"lanczos4", 9, true, blended<-4, 4, lanczos>},
};

const Method& find_method(const std::string& name) {
    for (const Method& method : kMethods)
        if (name == method.name) return method;
    throw UnsupportedOptions("there is no prescale method '" + name + "'");
}

constexpr Method kAsItIs = {"", 0, false, [](int i, int, float) -> Taps { return {{i, 1.0f}}; }};

// Fills the tables of an axis of `size` samples that are `scaled` once rescaled.
SpeedAxis settle(int size, int scaled, int window, const Method& method, SpeedPlan::Axis& axis) {
    const float ratio = static_cast<float>(size) / static_cast<float>(scaled);
    const int outputs = scaled / kSpeedStep, entries = window * outputs, blend = std::max(method.blend, 1);
    axis.at.resize(static_cast<std::size_t>(blend) * static_cast<std::size_t>(entries));
    axis.weights.resize(axis.at.size());
    for (int t = 0; t < window; ++t)
        for (int o = 0; o < outputs; ++o) {
            const Taps taps = method.taps(mirror(o * kSpeedStep - window / 2 + t, scaled), size, ratio);
            for (int b = 0; b < blend; ++b) {
                const auto entry = static_cast<std::size_t>(b * entries + t * outputs + o);
                axis.at[entry] = taps[static_cast<std::size_t>(b)].at;
                axis.weights[entry] = taps[static_cast<std::size_t>(b)].weight;
            }
        }
    return {outputs, entries, axis.at.data(), axis.weights.data()};
}

}  // namespace

SpeedPlan::SpeedPlan(int width, int height, const SpeedOptions& options) {
    const auto kernelscale = static_cast<float>(options.kernelscale);
    const int window = window_size(1, kernelscale), local = window_size(4, kernelscale);
    low_pass_ = gaussian(window, static_cast<float>(2.0 * window / 5.0));
    mean_ = gaussian(local, static_cast<float>(local) / 5.0f);

    const auto scale = [&](int size) { return static_cast<int>(size * options.prescale + 0.5); };
    int scaled_width = scale(width), scaled_height = scale(height);
    const bool close_to_1 = std::fabs(options.prescale - 1.0) < 1e-3;
    if (close_to_1) {  // the picture stays as it is, at most cut
        scaled_width = std::min(scaled_width, width);
        scaled_height = std::min(scaled_height, height);
    }
    const bool same = close_to_1 || (scaled_width == width && scaled_height == height);
    const Method& method = same ? kAsItIs : find_method(options.prescale_method);
    if (std::min(scaled_width, scaled_height) < kSpeedBlock * kSpeedStep)
        throw UnsupportedOptions("SpEED needs planes that are at least " + std::to_string(kSpeedBlock * kSpeedStep) +
                                 " samples wide and high once rescaled, and these are " + std::to_string(scaled_width) +
                                 "x" + std::to_string(scaled_height));
    reduction_.columns = settle(width, scaled_width, window, method, columns_);
    reduction_.rows = settle(height, scaled_height, window, method, rows_);
    reduction_.blend = method.blend;
    reduction_.normalised = method.normalised;
    reduction_.taps = window;
    reduction_.low_pass = low_pass_.data();
    reduction_.mean_taps = local;
    reduction_.mean = mean_.data();
}

}  // namespace acuity
