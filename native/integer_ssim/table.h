// Structural similarity in integer arithmetic: moments under a window of whole weights, terms in double precision.
#pragma once

#include <algorithm>

#include "core/kernels.h"

namespace acuity {

// The window's weights in one direction, by distance from its middle: a Gaussian of deviation 1.5 in 1/256.
// Beyond an edge it ends, and what is left of it weighs less.
constexpr int kSsimReach = 4;
constexpr int kSsimTaps = 2 * kSsimReach + 1;
constexpr int kSsimWeights[kSsimReach + 1] = {68, 55, 28, 9, 2};

// The weight of the window around place i of n, in one direction.
constexpr int ssim_weight(int i, int n) {
    int sum = 0;
    for (int at = std::max(0, i - kSsimReach); at <= std::min(n - 1, i + kSsimReach); ++at)
        sum += kSsimWeights[at > i ? at - i : i - at];
    return sum;
}

// Constants that avoid a division by zero, for a window of weight 1. In double precision from the start:
// the square of a peak of 16 bits doesn't fit an int.
struct SsimStable {
    double luminance, contrast;

    explicit constexpr SsimStable(int depth) {
        const double peak = static_cast<double>((std::int64_t{1} << depth) - 1);
        luminance = peak * peak * (0.01 * 0.01);
        contrast = peak * peak * (0.03 * 0.03);
    }
};

struct IntegerSsimKernels {
    // Bytes of scratch memory for pictures up to this width.
    std::size_t (*scratch_bytes)(int width);

    // The sum over all samples of similarity times the window's weight. Each column is summed from top to
    // bottom, then the columns from left to right.
    double (*similarity)(const Plane& ref, const Plane& dis, void* scratch);
};

}  // namespace acuity
