// ADM in single precision: one scale of a picture pair, for several settings.
#pragma once

#include "core/kernels.h"

namespace acuity {

// The part of a setting that one scale needs.
struct FloatAdmWeights {
    float straight, diagonal;  // contrast sensitivity of bands h and v, and of d
    double gain_limit;
    double exponent;           // of the sums' terms
    bool masking;              // neighbours hide impairment
    bool reference;            // also sum the reference picture's own detail

    float factor(int band) const { return band == 2 ? diagonal : straight; }
};

// Sums over bands h, v, d.
struct FloatAdmSums {
    float reference[3];   // detail of the reference
    float kept[3];        // detail that is restored, as far as it is visible
    float impairment[3];  // what was added, as far as it is visible
};

struct FloatAdmScale {
    FloatPicture ref, dis;
    bool bands;                // false: make only the low-pass band
    float *ref_low, *dis_low;  // (height + 1) / 2 rows of (width + 1) / 2 values
    std::ptrdiff_t low_stride;
};

// The part of a band that counts: a tenth on either side doesn't.
struct FloatAdmRange {
    explicit FloatAdmRange(int size)
        : size(size), first(static_cast<int>(size * 0.1 - 0.5)), stop(size - first) {}

    int size, first, stop;
};

struct FloatAdmKernels {
    std::size_t (*scratch_bytes)(int width, int height, int settings);

    void (*scale)(const FloatAdmScale& scale, const FloatAdmWeights* settings, int count, void* scratch,
                  FloatAdmSums* out);
};

// The wavelet's taps, and the shares of masking that a neighbour and a place itself have.
inline constexpr float kFloatDwtLow[4] = {0.482962913144690f, 0.836516303737469f, 0.224143868041857f,
                                          -0.129409522550921f};
inline constexpr float kFloatDwtHigh[4] = {-0.129409522550921f, -0.224143868041857f, 0.836516303737469f,
                                           -0.482962913144690f};
inline constexpr double kMaskNeighbour = 0.0333333351, kMaskPlace = 0.0666666701;
inline constexpr float kDecoupleEpsilon = 1e-30f;

// Past the end the picture is mirrored with its last sample repeated, before the start without repeating the first.
constexpr int dwt_reflect(int i, int n) { return i < 0 ? -i : (i >= n ? 2 * n - i - 1 : i); }

}  // namespace acuity
