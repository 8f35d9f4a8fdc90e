// VIF: statistics of one scale of a picture pair, and the way down to the next scale.
#pragma once

#include "core/kernels.h"

namespace acuity {

// One scale of a picture pair. At scale 0 the samples are the video's own (bytes when depth is 8);
// above it they are 16-bit words whatever the depth.
struct VifLevel {
    Plane ref, dis;  // same size; .depth is the video's
    int scale;
};

struct VifSums {
    std::int64_t num_log[kMaxGains];  // sum of log2 numerators, in 1/2048, one for each gain limit
    std::int64_t den_log;             // sum of log2 denominators, in 1/2048
    std::int64_t num_flat;            // sum of distorted variances where the reference is flat
    std::int64_t den_flat;            // number of flat places
};

struct VifKernels {
    // Bytes of scratch memory the functions below want for pictures up to this size.
    std::size_t (*scratch_bytes)(int width, int height);

    void (*statistic)(const VifLevel& level, const double* gains, int n_gains, void* scratch, VifSums& out);

    // Low-pass and halve a plane: from `scale` to scale + 1. `out` holds height/2 rows of width/2
    // words, `out_stride` in bytes.
    void (*decimate)(const Plane& in, int scale, void* scratch, std::uint16_t* out, std::ptrdiff_t out_stride);

    // log2 of 2^16 <= x < 2^31 in 1/2048, for native_check, which compares all there are; n is a multiple of 16.
    void (*logarithms)(const std::uint32_t* x, int n, std::int32_t* out);
};

// The window at each scale: a Gaussian in Q16, so its taps sum to 65536.
inline constexpr std::uint16_t kVifFilter0[] = {489,  935,  1640, 2640, 3896, 5274, 6547, 7455, 7784,
                                                7455, 6547, 5274, 3896, 2640, 1640, 935,  489};
inline constexpr std::uint16_t kVifFilter1[] = {1244, 3663, 7925, 12590, 14692, 12590, 7925, 3663, 1244};
inline constexpr std::uint16_t kVifFilter2[] = {3571, 16004, 26386, 16004, 3571};
inline constexpr std::uint16_t kVifFilter3[] = {10904, 43728, 10904};
inline constexpr int kVifTaps[] = {17, 9, 5, 3};
inline constexpr const std::uint16_t* kVifFilter[] = {kVifFilter0, kVifFilter1, kVifFilter2, kVifFilter3};

// Below this variance (2.0 in Q16) a place counts as flat.
inline constexpr std::int32_t kVifNoise = 2 << 16;
// Keeps the gain finite; part of the reference arithmetic.
inline constexpr double kVifEpsilon = 65536 * 1.0e-10;

}  // namespace acuity
