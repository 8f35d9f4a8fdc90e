// ADM: one scale of a picture pair, from wavelet to sums.
#pragma once

#include <type_traits>

#include "core/kernels.h"

namespace acuity {

// Everything about one scale that doesn't change from frame to frame.
struct AdmScale {
    int scale;               // 0..3
    int width, height;       // of the input of this scale's wavelet transform
    int depth;               // of the video; used at scale 0 only
    std::uint32_t rfactor[3];  // contrast sensitivity of bands h, v, d in fixed point:
                               // scale 0: Q21, Q21, Q23; above: Q32
    double gains[kMaxGains];
    int n_gains;
    bool bands;  // false: make only the low-pass band (skipped scale)
    bool aim;    // also sum the additive impairment
};

// Sums over bands h, v, d, shifted as libvmaf's fixed-point arithmetic shifts them.
struct AdmSums {
    std::uint64_t den[3];
    std::int64_t num[kMaxGains][3];
    std::int64_t aim[kMaxGains][3];
};

// Input of a scale: at scale 0 the video planes, above it the low-pass bands of the scale before.
struct AdmInput {
    Plane ref, dis;  // scale 0
    const void* ref_low;  // scales 1..3
    const void* dis_low;
    std::ptrdiff_t low_stride;  // in samples
};

// Where a scale leaves its low-pass bands, (height+1)/2 rows of (width+1)/2 samples.
struct AdmLow {
    void* ref;
    void* dis;
    std::ptrdiff_t stride;  // in samples
};

// Samples of the low-pass band of each scale. At scale 0 they fit a word: rows and columns are filtered by taps whose
// magnitudes add up to 54822, so that samples within 2^15 of the middle of 16 bits come to at most
// 2^15 * 54822^2 / 2^32 = 22930, and those of fewer bits, shifted by as many bits less, to no more.
template <int Scale>
using AdmLowSample = std::conditional_t<Scale == 0, std::int16_t, std::int32_t>;

struct AdmKernels {
    // Bytes of scratch memory for pictures up to this size.
    std::size_t (*scratch_bytes)(int width, int height);

    // Wavelet, decoupling, contrast masking, sums.
    void (*scale)(const AdmScale& scale, const AdmInput& in, void* scratch, const AdmLow& low, AdmSums& out);
};

// Daubechies 2 wavelet in Q15; the high-pass taps sum to 0, the low-pass ones to kDwtLowSum.
inline constexpr std::int32_t kDwtLow[4] = {15826, 27411, 7345, -4240};
inline constexpr std::int32_t kDwtHigh[4] = {-4240, -7345, 27411, -15826};
inline constexpr std::int32_t kDwtLowSum = 46342;

// cos(1 degree)^2, in the single precision the reference keeps it in.
float cos_one_degree_squared();

}  // namespace acuity
