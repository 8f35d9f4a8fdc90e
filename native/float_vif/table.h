// VIF in single precision: one scale of a picture pair.
#pragma once

#include "core/kernels.h"

namespace acuity {

constexpr int kFloatVifTaps = 65;  // of the widest window

// The variance of the eye's noise, and values derived from it.
struct FloatVifNoise {
    explicit FloatVifNoise(double variance);

    double variance;
    float flat_below;   // smallest value of single precision that is no less: places below it count as flat
    float flat_slope;   // what a flat place loses for each unit of distorted variance
    float inverse;      // 1 / variance where that is exact, else 0
};

struct FloatVifScale {
    FloatPicture ref, dis;
    const float* window;      // odd number of taps
    int taps;
    bool statistic;           // false: only halve
    const float* low_pass;    // the window of the next scale, before every second sample is dropped
    int low_pass_taps;        // 0: there is no next scale
    float *ref_low, *dis_low;  // height/2 rows of width/2 values; rows end on a cache line
    std::ptrdiff_t low_stride;
};

struct FloatVifSums {
    float num[kMaxGains];  // one for each gain limit
    float den;
};

struct Resampling;

struct FloatVifKernels {
    std::size_t (*scratch_bytes)(int width, int height, int taps);

    // Sums of one scale, and the pictures of the next one.
    void (*scale)(const FloatVifScale& scale, const FloatVifNoise& noise, const float* gains, int n_gains,
                  void* scratch, FloatVifSums& out);

    // A picture of another size; see resampling.h.
    std::size_t (*resample_bytes)(int width, int height, int out_width);
    void (*resample)(const FloatPicture& in, const Resampling& to, void* scratch, float* out, std::ptrdiff_t out_stride);
};

}  // namespace acuity
