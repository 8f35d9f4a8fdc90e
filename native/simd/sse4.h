// SSE4.2 (x86-64-v2). Contracts are those of avx512.h.
#pragma once

#include <nmmintrin.h>

#include <cmath>

#define ACUITY_REGISTER_BYTES 16
#include "types.h"

namespace acuity::ACUITY_ISA {

constexpr std::uint16_t kBias = 0x8000;
constexpr std::uint32_t kDotOffset = 0x80000000u;

inline __m128i raw(auto v) { return reinterpret_cast<__m128i>(v); }

inline bool any(I32 mask) { return !_mm_testz_si128(raw(mask), raw(mask)); }
inline int count(I32 mask) {
    return __builtin_popcount(_mm_movemask_ps(reinterpret_cast<__m128>(mask)));
}

inline U16 widen_u8(const std::uint8_t* p) {
    return as<U16>(_mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}

inline U16 mulhi(U16 a, U16 b) { return as<U16>(_mm_mulhi_epu16(raw(a), raw(b))); }

inline U32 dot2(U32 acc, I16 a, I16 c) { return acc + as<U32>(_mm_madd_epi16(raw(a), raw(c))); }

inline I16 zip_lo(I16 a, I16 b) { return as<I16>(_mm_unpacklo_epi16(raw(a), raw(b))); }
inline I16 zip_hi(I16 a, I16 b) { return as<I16>(_mm_unpackhi_epi16(raw(a), raw(b))); }

inline U16 blend_words(U32 low, U32 high) { return as<U16>(_mm_blend_epi16(raw(low), raw(high), 0xAA)); }
inline U16 narrow(U32 a, U32 b) { return as<U16>(_mm_packus_epi32(raw(a), raw(b))); }
inline I16 narrow_signed(I32 a, I32 b) { return as<I16>(_mm_packs_epi32(raw(a), raw(b))); }

inline void store_low16(std::uint16_t* out, U32 v) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out),
                     _mm_packus_epi32(raw(v & 0xffffu), _mm_setzero_si128()));
}

inline U64 mul_even(U32 a, U32 b) { return as<U64>(_mm_mul_epu32(raw(a), raw(b))); }
inline U64 mul_odd(U32 a, U32 b) {
    return as<U64>(_mm_mul_epu32(_mm_srli_epi64(raw(a), 32), _mm_srli_epi64(raw(b), 32)));
}
inline I64 mul_even(I32 a, I32 b) { return as<I64>(_mm_mul_epi32(raw(a), raw(b))); }

inline U32 join_high(U64 even, U64 odd) {
    return as<U32>(_mm_blend_epi16(_mm_srli_epi64(raw(even), 32), raw(odd), 0xCC));
}

inline I32 abs32(I32 v) { return as<I32>(_mm_abs_epi32(raw(v))); }

inline I64 widen_sum(I32 v) {
    return as<I64>(_mm_cvtepi32_epi64(raw(v))) +
           as<I64>(_mm_cvtepi32_epi64(_mm_srli_si128(raw(v), 8)));
}

inline F64x2 to_f64(I32 v) {
    return {as<F64>(_mm_cvtepi32_pd(raw(v))), as<F64>(_mm_cvtepi32_pd(_mm_srli_si128(raw(v), 8)))};
}

inline F64x2 load_f64(const std::int32_t* p) { return to_f64(load<I32>(p)); }

inline F64x2 to_f64(F32 v) {
    const __m128 f = reinterpret_cast<__m128>(v);
    return {as<F64>(_mm_cvtps_pd(f)), as<F64>(_mm_cvtps_pd(_mm_movehl_ps(f, f)))};
}

inline I32 to_i32(F64x2 v) {
    return as<I32>(_mm_unpacklo_epi64(_mm_cvttpd_epi32(reinterpret_cast<__m128d>(v.lo)),
                                      _mm_cvttpd_epi32(reinterpret_cast<__m128d>(v.hi))));
}

inline I32 narrow_mask(I64 lo, I64 hi) {
    return as<I32>(_mm_shuffle_ps(reinterpret_cast<__m128>(lo), reinterpret_cast<__m128>(hi), 0x88));
}

inline F64 as_single(F64 v) {
    return as<F64>(_mm_cvtps_pd(_mm_cvtpd_ps(reinterpret_cast<__m128d>(v))));
}
inline F32 square_root(F32 v) { return as<F32>(_mm_sqrt_ps(reinterpret_cast<__m128>(v))); }
inline F64 square_root(F64 v) { return as<F64>(_mm_sqrt_pd(reinterpret_cast<__m128d>(v))); }

inline F32 to_f32(I32 v) { return as<F32>(_mm_cvtepi32_ps(raw(v))); }
inline F32 to_f32(F64x2 v) {
    return as<F32>(_mm_movelh_ps(_mm_cvtpd_ps(reinterpret_cast<__m128d>(v.lo)),
                                 _mm_cvtpd_ps(reinterpret_cast<__m128d>(v.hi))));
}

inline I32 gather(const std::int32_t* table, U32 index) {
    return I32{table[index[0]], table[index[1]], table[index[2]], table[index[3]]};
}

inline I32 column_offsets(int half) { return I32{0, 2, 4, 6} + half; }

// ---- words in 32-bit lanes, and what else ADM and motion want -----------------------------------

inline I16 abs16(I16 v) { return as<I16>(_mm_abs_epi16(raw(v))); }
inline I16 mulhi(I16 a, I16 b) { return as<I16>(_mm_mulhi_epi16(raw(a), raw(b))); }
inline I16 mul_round15(I16 a, I16 b) { return as<I16>(_mm_mulhrs_epi16(raw(a), raw(b))); }

inline I32 truncate(F32 v) { return as<I32>(_mm_cvttps_epi32(reinterpret_cast<__m128>(v))); }

template <class V>
inline V odd_down(V v) {
    return as<V>(_mm_movehdup_ps(reinterpret_cast<__m128>(v)));
}

inline I16 natural_order(I16 v) { return v; }

struct Count {
    explicit Count(int n) : bits(_mm_cvtsi32_si128(n)) {}
    __m128i bits;
};
inline I32 shift_right(I32 v, Count n) { return as<I32>(_mm_sra_epi32(raw(v), n.bits)); }
inline U64 shift_right(U64 v, Count n) { return as<U64>(_mm_srl_epi64(raw(v), n.bits)); }
// There is no arithmetic shift of 64 bits: move the range above zero, shift, and move it back.
inline I64 shift_right(I64 v, Count n) {
    const U64 lowest = splat<U64>(std::uint64_t{1} << 63);
    return as<I64>(shift_right(as<U64>(v) ^ lowest, n) - shift_right(lowest, n));
}

// Two lanes of fused() in double precision, where the product is exact; not yet rounded to single.
inline __m128d fused_half(__m128 a, __m128 b, __m128 c) {
    return _mm_add_pd(_mm_mul_pd(_mm_cvtps_pd(a), _mm_cvtps_pd(b)), _mm_cvtps_pd(c));
}

// Rounding twice is wrong only where the first result lies halfway between two single ones, which is rare.
// Subnormal results would need more care, but don't occur.
inline F32 fused(F32 a, F32 b, F32 c) {
    const __m128 x = reinterpret_cast<__m128>(a), y = reinterpret_cast<__m128>(b), z = reinterpret_cast<__m128>(c);
    const __m128d lo = fused_half(x, y, z);
    const __m128d hi = fused_half(_mm_movehl_ps(x, x), _mm_movehl_ps(y, y), _mm_movehl_ps(z, z));
    const __m128i below = _mm_set1_epi64x(0x1fffffff), half = _mm_set1_epi64x(0x10000000);
    const __m128i ties = _mm_or_si128(_mm_cmpeq_epi64(_mm_and_si128(_mm_castpd_si128(lo), below), half),
                                      _mm_cmpeq_epi64(_mm_and_si128(_mm_castpd_si128(hi), below), half));
    if (__builtin_expect(_mm_testz_si128(ties, ties), 1))
        return as<F32>(_mm_movelh_ps(_mm_cvtpd_ps(lo), _mm_cvtpd_ps(hi)));
    F32 exact;
    for (int i = 0; i < kLanes32; ++i) exact[i] = std::fma(a[i], b[i], c[i]);
    return exact;
}

}  // namespace acuity::ACUITY_ISA

#include "few_lanes.h"
#include "x86_pairs.h"
#include "x86_words.h"
