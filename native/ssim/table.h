// Structural similarity in single precision: local moments under a Gaussian window, and smaller pictures to
// take them from.
//
// Filters round every product of a sample and a weight to single precision and add the products in double
// precision. That is libvmaf's arithmetic, and figures follow it: where pictures are flat, variances are what
// rounding left over, and in decibels the last bit of a figure near 1 shows.
#pragma once

#include "core/kernels.h"

namespace acuity {

// The depth of a Plane whose samples are single-precision numbers on the scale of 8 bits.
constexpr int kSingle = 32;

// The factor that brings a sample of that depth to the scale of 8 bits; a power of two.
constexpr float unit(int depth) { return depth == kSingle ? 1.0f : 1.0f / static_cast<float>(1 << (depth - 8)); }

// The window's weights in one direction, by distance from its middle.
constexpr int kReach = 5;
constexpr int kWindow = 2 * kReach + 1;
constexpr float kGaussian[kReach + 1] = {0.266012f, 0.213006f, 0.109361f, 0.036001f, 0.007599f, 0.001028f};

// The low-pass filter before halving, by distance from its middle. Its weights are no products of two rows of
// numbers, for each was rounded to six decimals.
constexpr int kLowReach = 4;
constexpr int kLowTaps = 2 * kLowReach + 1;
constexpr float kLowPass[kLowReach + 1][kLowReach + 1] = {
    {0.363505f, 0.160885f, -0.047149f, -0.010146f, 0.016114f},
    {0.160885f, 0.071207f, -0.020867f, -0.004490f, 0.007132f},
    {-0.047149f, -0.020867f, 0.006115f, 0.001316f, -0.002090f},
    {-0.010146f, -0.004490f, 0.001316f, 0.000283f, -0.000450f},
    {0.016114f, 0.007132f, -0.002090f, -0.000450f, 0.000714f},
};

// The constants that keep the three terms from dividing by zero.
constexpr float kStableLuminance = (0.01f * 255.0f) * (0.01f * 255.0f);
constexpr float kStableContrast = (0.03f * 255.0f) * (0.03f * 255.0f);
constexpr float kStableStructure = kStableContrast / 2.0f;

// The moments taken under the window.
enum Moment { kRefMean, kDisMean, kRefSquare, kDisSquare, kProduct, kMoments };

// Sums over all places where the window fits: of the terms, and of their product. Each column is summed from
// top to bottom, then the columns from left to right.
struct SsimSums {
    double luminance, contrast, structure, ssim;
};

constexpr int kMaxFactor = 256;  // by which pictures are shrunk; that of the largest pictures

// Samples beyond an edge are those before it, the edge's own first.
constexpr int reflect_edge(int i, int n) { return i < 0 ? -1 - i : i >= n ? 2 * n - 1 - i : i; }

// Sides of a picture made smaller by a factor; an odd side gets one more.
constexpr int shrunk(int side, int factor) { return side / factor + (side & 1); }

struct SsimKernels {
    // Bytes of scratch memory the functions below want for pictures up to this width.
    std::size_t (*scratch_bytes)(int width);

    // Sums over two pictures of at least kWindow x kWindow samples.
    void (*statistic)(const Plane& ref, const Plane& dis, void* scratch, SsimSums& out);

    // Low-pass and take every second sample; pictures of at least kLowTaps a side.
    void (*halve)(const Plane& in, void* scratch, float* out, std::ptrdiff_t out_stride);

    // Means of factor x factor samples around every factor-th; pictures of 8 to 16 bits, at least 11 factors a
    // side.
    void (*shrink)(const Plane& in, int factor, void* scratch, float* out, std::ptrdiff_t out_stride);
};

}  // namespace acuity
