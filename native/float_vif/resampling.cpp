// Single and double precision alternate here as in the reference: positions decide which samples are taken.
#include "float_vif/resampling.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/dispatch.h"

namespace acuity {

namespace {

constexpr double kPi = 3.14159265358979323846;

// Reflects once, as far as the picture reaches.
int reflect_once(int i, int n) {
    const int reflected = i < 0 ? -i : (i > n - 1 ? 2 * (n - 1) - i : i);
    return std::clamp(reflected, 0, n - 1);
}

float cubic(float t) {
    constexpr float a = -0.75f;
    t = std::fabs(t);
    if (t < 1) return ((a + 2) * t - (a + 3)) * t * t + 1;
    if (t < 2) return (((t - 5) * t + 8) * t - 4) * a;
    return 0;
}

float lanczos(float x) {
    constexpr float a = 4;
    if (x == 0.0f) return 1.0f;
    if (!(x > -a && x < a)) return 0.0f;
    const double d = static_cast<double>(x);
    return static_cast<float>(static_cast<double>(a) * std::sin(kPi * d) * std::sin(kPi * d / static_cast<double>(a)) /
                              (kPi * kPi * d * d));
}

// The taps of a method for one new sample at position `at` of the old ones.
struct Taps {
    int index[9];
    float weight[9];
};

using Make = Taps (*)(float at, int n);

Taps bilinear_taps(float at, int n) {
    const int first = reflect_once(static_cast<int>(std::floor(at)), n);
    const int second = reflect_once(static_cast<int>(std::ceil(at)), n);
    const float part = at - static_cast<float>(first);
    return {{first, second}, {1 - part, part}};
}

template <int First, int Last, float (&Kernel)(float)>
Taps kernel_taps(float at, int n) {
    const int base = static_cast<int>(std::floor(at));
    const float part = at - static_cast<float>(base);
    Taps taps{};
    for (int i = First; i <= Last; ++i) {
        taps.index[i - First] = reflect_once(base + i, n);
        taps.weight[i - First] = Kernel(static_cast<float>(i) - part);
    }
    return taps;
}

struct MethodRow {
    const char* name;
    int taps;
    Make make;  // null: nearest, which has positions of its own
    bool normalise;
};

// In the order of Resampling::Method.
constexpr MethodRow kMethods[] = {
    {"nearest", 1, nullptr, false},
    {"bilinear", 2, bilinear_taps, false},
    {"bicubic", 4, kernel_taps<-1, 2, cubic>, false},
    {"lanczos4", 9, kernel_taps<-4, 4, lanczos>, true},
};

const MethodRow& row_of(Resampling::Method method) { return kMethods[static_cast<int>(method)]; }

ResampleAxis make_axis(const MethodRow& method, int from, int size) {
    ResampleAxis axis{from, size, method.taps, {}, {}};
    const auto count = static_cast<std::size_t>(method.taps) * static_cast<std::size_t>(size);
    axis.index.resize(count);
    axis.weight.resize(count);
    const float ratio = static_cast<float>(from) / static_cast<float>(size);
    for (int i = 0; i < size; ++i) {
        Taps taps{{std::min(static_cast<int>(static_cast<float>(i) * ratio), from - 1)}, {1.0f}};
        if (method.make != nullptr)
            taps = method.make(static_cast<float>((i + 0.5) * static_cast<double>(ratio) - 0.5), from);
        for (int t = 0; t < method.taps; ++t) {
            const auto at = static_cast<std::size_t>(t) * static_cast<std::size_t>(size) + static_cast<std::size_t>(i);
            axis.index[at] = taps.index[t];
            axis.weight[at] = taps.weight[t];
        }
    }
    return axis;
}

}  // namespace

Resampling::Resampling(Method method, int width, int height, int new_width, int new_height)
    : x(make_axis(row_of(method), width, new_width)), y(make_axis(row_of(method), height, new_height)),
      normalise(row_of(method).normalise) {}

Resampling::Method resampling_method(const std::string& name) {
    for (const MethodRow& row : kMethods)
        if (name == row.name) return static_cast<Resampling::Method>(&row - std::begin(kMethods));
    throw UnsupportedOptions("there is no resampling method '" + name + "': use nearest, bilinear, bicubic or lanczos4");
}

}  // namespace acuity
