// AVX2 (x86-64-v3; with AVX-VNNI where the file is compiled for it). Contracts are those of avx512.h.
#pragma once

#include <immintrin.h>

#define ACUITY_REGISTER_BYTES 32
#include "types.h"

namespace acuity::ACUITY_ISA {

constexpr std::uint16_t kBias = 0x8000;
constexpr std::uint32_t kDotOffset = 0x80000000u;

inline __m256i raw(auto v) { return reinterpret_cast<__m256i>(v); }

inline bool any(I32 mask) { return !_mm256_testz_si256(raw(mask), raw(mask)); }
inline int count(I32 mask) {
    return __builtin_popcount(_mm256_movemask_ps(reinterpret_cast<__m256>(mask)));
}

inline U16 widen_u8(const std::uint8_t* p) {
    return as<U16>(_mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}

inline U16 mulhi(U16 a, U16 b) { return as<U16>(_mm256_mulhi_epu16(raw(a), raw(b))); }

inline U32 dot2(U32 acc, I16 a, I16 c) {
#ifdef __AVXVNNI__
    return as<U32>(_mm256_dpwssd_avx_epi32(raw(acc), raw(a), raw(c)));
#else
    return acc + as<U32>(_mm256_madd_epi16(raw(a), raw(c)));
#endif
}

inline I16 zip_lo(I16 a, I16 b) { return as<I16>(_mm256_unpacklo_epi16(raw(a), raw(b))); }
inline I16 zip_hi(I16 a, I16 b) { return as<I16>(_mm256_unpackhi_epi16(raw(a), raw(b))); }

inline U16 blend_words(U32 low, U32 high) { return as<U16>(_mm256_blend_epi16(raw(low), raw(high), 0xAA)); }
inline U16 narrow(U32 a, U32 b) { return as<U16>(_mm256_packus_epi32(raw(a), raw(b))); }
inline I16 narrow_signed(I32 a, I32 b) { return as<I16>(_mm256_packs_epi32(raw(a), raw(b))); }

inline void store_low16(std::uint16_t* out, U32 v) {
    const __m256i packed = _mm256_packus_epi32(raw(v & 0xffffu), _mm256_setzero_si256());
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08)));
}

inline U64 mul_even(U32 a, U32 b) { return as<U64>(_mm256_mul_epu32(raw(a), raw(b))); }
inline U64 mul_odd(U32 a, U32 b) {
    return as<U64>(_mm256_mul_epu32(_mm256_srli_epi64(raw(a), 32), _mm256_srli_epi64(raw(b), 32)));
}
inline I64 mul_even(I32 a, I32 b) { return as<I64>(_mm256_mul_epi32(raw(a), raw(b))); }

inline U32 join_high(U64 even, U64 odd) {
    return as<U32>(_mm256_blend_epi32(_mm256_srli_epi64(raw(even), 32), raw(odd), 0xAA));
}

inline I32 abs32(I32 v) { return as<I32>(_mm256_abs_epi32(raw(v))); }

inline I64 widen_sum(I32 v) {
    return as<I64>(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(raw(v)))) +
           as<I64>(_mm256_cvtepi32_epi64(_mm256_extracti128_si256(raw(v), 1)));
}

inline F64x2 to_f64(I32 v) {
    return {as<F64>(_mm256_cvtepi32_pd(_mm256_castsi256_si128(raw(v)))),
            as<F64>(_mm256_cvtepi32_pd(_mm256_extracti128_si256(raw(v), 1)))};
}

inline F64x2 load_f64(const std::int32_t* p) {
    return {as<F64>(_mm256_cvtepi32_pd(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))),
            as<F64>(_mm256_cvtepi32_pd(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + kLanes64))))};
}

inline F64x2 to_f64(F32 v) {
    const __m256 f = reinterpret_cast<__m256>(v);
    return {as<F64>(_mm256_cvtps_pd(_mm256_castps256_ps128(f))),
            as<F64>(_mm256_cvtps_pd(_mm256_extractf128_ps(f, 1)))};
}

inline I32 to_i32(F64x2 v) {
    return as<I32>(_mm256_set_m128i(_mm256_cvttpd_epi32(reinterpret_cast<__m256d>(v.hi)),
                                    _mm256_cvttpd_epi32(reinterpret_cast<__m256d>(v.lo))));
}

inline I32 narrow_mask(I64 lo, I64 hi) {
    const __m256 even_words = _mm256_shuffle_ps(reinterpret_cast<__m256>(lo),
                                                reinterpret_cast<__m256>(hi), 0x88);
    return as<I32>(_mm256_permute4x64_epi64(reinterpret_cast<__m256i>(even_words), 0xD8));
}

inline F64 as_single(F64 v) {
    return as<F64>(_mm256_cvtps_pd(_mm256_cvtpd_ps(reinterpret_cast<__m256d>(v))));
}
inline F32 square_root(F32 v) { return as<F32>(_mm256_sqrt_ps(reinterpret_cast<__m256>(v))); }
inline F64 square_root(F64 v) { return as<F64>(_mm256_sqrt_pd(reinterpret_cast<__m256d>(v))); }

inline F32 to_f32(I32 v) { return as<F32>(_mm256_cvtepi32_ps(raw(v))); }
inline F32 to_f32(F64x2 v) {
    return as<F32>(_mm256_set_m128(_mm256_cvtpd_ps(reinterpret_cast<__m256d>(v.hi)),
                                   _mm256_cvtpd_ps(reinterpret_cast<__m256d>(v.lo))));
}

// A bit below the 16 leading ones is cleared, so that rounding to a float doesn't carry into them.
inline F32 leading16(U32 v) { return to_f32(as<I32>(v & ~(v >> 17))); }

inline F32 lookup(F32 table, U32 index) {
    return as<F32>(_mm256_permutevar8x32_ps(reinterpret_cast<__m256>(table), raw(index)));
}

inline I32 gather(const std::int32_t* table, U32 index) {
    return as<I32>(_mm256_i32gather_epi32(table, raw(index), 4));
}

inline I32 column_offsets(int half) {
    return as<I32>(_mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14)) + half;
}

// ---- words in 32-bit lanes, and what else ADM and motion want -----------------------------------

inline I16 abs16(I16 v) { return as<I16>(_mm256_abs_epi16(raw(v))); }
inline I16 mulhi(I16 a, I16 b) { return as<I16>(_mm256_mulhi_epi16(raw(a), raw(b))); }
inline I16 mul_round15(I16 a, I16 b) { return as<I16>(_mm256_mulhrs_epi16(raw(a), raw(b))); }

inline I32 truncate(F32 v) { return as<I32>(_mm256_cvttps_epi32(reinterpret_cast<__m256>(v))); }

template <class V>
inline V odd_down(V v) {
    return as<V>(_mm256_movehdup_ps(reinterpret_cast<__m256>(v)));
}

inline I16 natural_order(I16 v) { return as<I16>(_mm256_permute4x64_epi64(raw(v), 0xD8)); }

struct Count {
    explicit Count(int n) : bits(_mm_cvtsi32_si128(n)) {}
    __m128i bits;
};
inline I32 shift_right(I32 v, Count n) { return as<I32>(_mm256_sra_epi32(raw(v), n.bits)); }
inline U64 shift_right(U64 v, Count n) { return as<U64>(_mm256_srl_epi64(raw(v), n.bits)); }
// There is no arithmetic shift of 64 bits: move the range above zero, shift, and move it back.
inline I64 shift_right(I64 v, Count n) {
    const U64 lowest = splat<U64>(std::uint64_t{1} << 63);
    return as<I64>(shift_right(as<U64>(v) ^ lowest, n) - shift_right(lowest, n));
}

inline F32 fused(F32 a, F32 b, F32 c) {
    return as<F32>(_mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b),
                                   reinterpret_cast<__m256>(c)));
}

}  // namespace acuity::ACUITY_ISA

#include "few_lanes.h"
#include "x86_pairs.h"
#include "x86_words.h"
