// The kernel table: every hot function's signature, declared once.
//
// Each instruction set fills one table (plain.cpp, then the same SIMD sources compiled once per
// set). All tables compute the same integers, so whoever calls through one can't tell which it is,
// except by the clock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "families.h"

namespace acuity {

constexpr int kMaxGains = 4;    // gain limits served by one pass
constexpr int kScales = 4;
constexpr std::size_t kAlign = 64;  // one cache line, one widest register

// A plane of samples as it lies in memory; 8-bit samples are bytes, deeper ones little-endian words.
struct Plane {
    const void* data;
    std::ptrdiff_t stride;  // bytes from row to row
    int width, height;
    int depth;              // bits a sample
};

// ---- VIF ------------------------------------------------------------------------------------

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

// ---- ADM ------------------------------------------------------------------------------------

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
    const std::int32_t* ref_low;  // scales 1..3
    const std::int32_t* dis_low;
    std::ptrdiff_t low_stride;    // in samples
};

// Where a scale leaves its low-pass bands, (height+1)/2 rows of (width+1)/2 samples.
struct AdmLow {
    std::int32_t* ref;
    std::int32_t* dis;
    std::ptrdiff_t stride;  // in samples
};

// ---- families in folders of their own --------------------------------------------------------

#define ACUITY_DECLARE(Type, name) struct Type##Kernels;
ACUITY_FAMILIES(ACUITY_DECLARE)
#undef ACUITY_DECLARE

// ---- the table ------------------------------------------------------------------------------

struct Kernels {
    const char* name;

    // Bytes of scratch memory the functions below want for pictures up to this size.
    std::size_t (*scratch_bytes)(int width, int height);

    // Statistics of one scale of VIF.
    void (*vif_statistic)(const VifLevel& level, const double* gains, int n_gains,
                          void* scratch, VifSums& out);

    // Low-pass and halve a plane: from `scale` to scale + 1. `out` holds height/2 rows of width/2
    // words, `out_stride` in bytes.
    void (*vif_decimate)(const Plane& in, int scale, void* scratch,
                         std::uint16_t* out, std::ptrdiff_t out_stride);

    // One scale of ADM: wavelet, decoupling, contrast masking, sums.
    void (*adm_scale)(const AdmScale& scale, const AdmInput& in, void* scratch,
                      const AdmLow& low, AdmSums& out);

    // Sum of absolute differences of two blurred pictures.
    std::uint64_t (*motion_sad)(const Plane& before, const Plane& now, void* scratch);

#define ACUITY_MEMBER(Type, name) const Type##Kernels* name;
    ACUITY_FAMILIES(ACUITY_MEMBER)
#undef ACUITY_MEMBER
};

// Tables compiled into this build, fastest first; `plain` is always there and always last.
const Kernels* const* all_kernels(int& count);

// Whether this machine can run a table.
bool kernels_supported(const Kernels& kernels);

}  // namespace acuity
