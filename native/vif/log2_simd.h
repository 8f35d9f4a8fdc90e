// log2 in steps of 1/2048, as log2.h defines it, for a register of lanes.
#pragma once

#include <iterator>

#include "simd/isa.h"
#include "vif/log2.h"

namespace acuity::ACUITY_ISA::vif {

#if defined(ACUITY_ISA_AVX512) || defined(ACUITY_ISA_AVX2)

// Looking up 8 or 16 addresses of memory at once is slow, so a table that fits a register reduces the mantissa m, and a
// polynomial does the rest. Each segment of m has a whole number of steps T and r = 2^((2^-10 - T) / 2048), so that
//     2048 log2(m) + 2^-10 = T + 2048 log2(1 + z),  z = m r - 1.
// The definition rounds to float before it rounds to steps, which lifts what lies less than 2^-10 below a half.
// Every m of 16 bits comes out right: native_check compares them all.
#if defined(ACUITY_ISA_AVX512)
constexpr float kSteps[kLanes32] = {94,   256,  431,  587,  732,  861,  1013, 1125,
                                    1260, 1388, 1479, 1603, 1706, 1796, 1915, 2001};
constexpr float kInverse[kLanes32] = {0x1.eff7b4p-1, 0x1.d58198p-1, 0x1.ba8162p-1, 0x1.a3bf78p-1,
                                      0x1.8fa55cp-1, 0x1.7e92a0p-1, 0x1.6b63a0p-1, 0x1.5ddf46p-1,
                                      0x1.4e3ef4p-1, 0x1.401332p-1, 0x1.365e04p-1, 0x1.299c80p-1,
                                      0x1.1f6a4cp-1, 0x1.16cadap-1, 0x1.0bc976p-1, 0x1.041adap-1};
constexpr float kPolynomial[] = {-0x1.71c742p+9, 0x1.ecd980p+9, -0x1.715470p+10, 0x1.715474p+11};
constexpr int kSegmentBits = 4;
#else
constexpr float kSteps[kLanes32] = {181, 496, 812, 1077, 1329, 1550, 1769, 1956};
constexpr float kInverse[kLanes32] = {0x1.e1939ep-1, 0x1.b0e07cp-1, 0x1.84f864p-1, 0x1.639a3cp-1,
                                      0x1.4687dap-1, 0x1.2eff7ep-1, 0x1.195a0ap-1, 0x1.0818c0p-1};
constexpr float kPolynomial[] = {0x1.29480ap+9, -0x1.72dbfcp+9, 0x1.ec6f78p+9, -0x1.715432p+10, 0x1.715476p+11};
constexpr int kSegmentBits = 3;
#endif
constexpr float kToInteger = 0x1.8p+23;     // a float of this size has no fraction: adding it rounds to nearest,
constexpr std::int32_t kLogBias = 0x4b400000;  // and these are the bits of 0

// log2 of lanes 2^16 <= x < 2^31, in 1/2048, plus kLogBias.
inline I32 log2_q11(U32 x) {
    const U32 f = as<U32>(leading16(x));
    const U32 m = (f & 0x007fff00u) | 0x3f800000u;
    const U32 segment = f >> (23 - kSegmentBits);
    const F32 z = fused(as<F32>(m), lookup(load<F32>(kInverse), segment), splat<F32>(-1.0f));
    F32 p = splat<F32>(kPolynomial[0]);
    for (unsigned i = 1; i < std::size(kPolynomial); ++i) p = fused(p, z, splat<F32>(kPolynomial[i]));
    const F32 steps = fused(p, z, lookup(load<F32>(kSteps) + kToInteger, segment));
    return as<I32>(steps) + as<I32>((f - m) >> 12);  // what differs between f and m is the exponent, and bits below 2^8
}

#else

constexpr std::int32_t kLogBias = -kLog2Least;

inline I32 log2_q11(U32 x) {
    const TopBits top = top16(x);
    const U32 at = (top.bits >> 3) & 4095u;
    const auto& entries = log2_steps.entry;
    const I32 entry{entries[at[0]], entries[at[1]], entries[at[2]], entries[at[3]]};
    return ((entry + as<I32>(top.bits & 7u)) >> 3) + as<I32>(top.shift << 11);
}

#endif

inline void logarithms(const std::uint32_t* x, int n, std::int32_t* out) {
    for (int i = 0; i < n; i += kLanes32) store(out + i, log2_q11(load<U32>(x + i)) - kLogBias);
}

}  // namespace acuity::ACUITY_ISA::vif
