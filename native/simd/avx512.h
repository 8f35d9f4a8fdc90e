// AVX-512 (x86-64-v4; with VNNI where the file is compiled for it).
#pragma once

#include <immintrin.h>

#define ACUITY_REGISTER_BYTES 64
#include "types.h"

namespace acuity::ACUITY_ISA {

// The multiplier of pairs takes signed words, so unsigned ones are stored minus 32768. A filter whose
// taps sum to 65536 then comes out 2^31 too small, whatever the samples.
constexpr std::uint16_t kBias = 0x8000;
constexpr std::uint32_t kDotOffset = 0x80000000u;

inline __m512i raw(auto v) { return reinterpret_cast<__m512i>(v); }

inline bool any(I32 mask) { return _mm512_test_epi32_mask(raw(mask), raw(mask)) != 0; }
inline int count(I32 mask) {
    return __builtin_popcount(_mm512_movepi32_mask(raw(mask)));
}

// The lanes of 32 bits a comparison holds for.
using Lanes32 = __mmask16;
inline Lanes32 greater(I32 a, I32 b) { return _mm512_cmpgt_epi32_mask(raw(a), raw(b)); }
inline I32 keep(Lanes32 on, I32 v) { return as<I32>(_mm512_maskz_mov_epi32(on, raw(v))); }
inline bool any(Lanes32 on) { return on != 0; }
inline bool all(Lanes32 on) { return on == 0xffff; }

inline U16 widen_u8(const std::uint8_t* p) {
    return as<U16>(_mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
}

inline U16 mulhi(U16 a, U16 b) { return as<U16>(_mm512_mulhi_epu16(raw(a), raw(b))); }

// acc + a.even*c.even + a.odd*c.odd of signed words, in every 32-bit lane.
inline U32 dot2(U32 acc, I16 a, I16 c) {
#ifdef __AVX512VNNI__
    return as<U32>(_mm512_dpwssd_epi32(raw(acc), raw(a), raw(c)));
#else
    return acc + as<U32>(_mm512_madd_epi16(raw(a), raw(c)));
#endif
}

// Interleave two rows so that dot2 sees (a, b) pairs.
inline I16 zip_lo(I16 a, I16 b) { return as<I16>(_mm512_unpacklo_epi16(raw(a), raw(b))); }
inline I16 zip_hi(I16 a, I16 b) { return as<I16>(_mm512_unpackhi_epi16(raw(a), raw(b))); }

// Undo zip's order: 32-bit lanes (values 0..65535, or -32768..32767) to words in natural order.
inline U16 narrow(U32 a, U32 b) { return as<U16>(_mm512_packus_epi32(raw(a), raw(b))); }
inline I16 narrow_signed(I32 a, I32 b) { return as<I16>(_mm512_packs_epi32(raw(a), raw(b))); }

// Lower words of the lanes of `low`, upper ones of `high`.
inline U16 blend_words(U32 low, U32 high) { return as<U16>(_mm512_mask_blend_epi16(0xAAAAAAAA, raw(low), raw(high))); }

// Low words of 32-bit lanes in natural order.
inline void store_low16(std::uint16_t* out, U32 v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtepi32_epi16(raw(v)));
}

// 64-bit products of the even and of the odd 32-bit lanes.
inline U64 mul_even(U32 a, U32 b) { return as<U64>(_mm512_mul_epu32(raw(a), raw(b))); }
inline U64 mul_odd(U32 a, U32 b) {
    return as<U64>(_mm512_mul_epu32(_mm512_srli_epi64(raw(a), 32), _mm512_srli_epi64(raw(b), 32)));
}
inline I64 mul_even(I32 a, I32 b) { return as<I64>(_mm512_mul_epi32(raw(a), raw(b))); }

// Upper halves of the lanes of `odd` and of `even`, each lane back in its place.
inline U32 join_high(U64 even, U64 odd) {
    return as<U32>(_mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(raw(even), 32), raw(odd)));
}

inline I32 abs32(I32 v) { return as<I32>(_mm512_abs_epi32(raw(v))); }

// The sums of the even/odd-lane 64-bit view of 32-bit lanes: widen and add into 64 bits.
inline I64 widen_sum(I32 v) {
    const __m512i even = _mm512_srai_epi64(_mm512_slli_epi64(raw(v), 32), 32);
    return as<I64>(_mm512_add_epi64(even, _mm512_srai_epi64(raw(v), 32)));
}

inline F64x2 to_f64(I32 v) {
    return {as<F64>(_mm512_cvtepi32_pd(_mm512_castsi512_si256(raw(v)))),
            as<F64>(_mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(raw(v), 1)))};
}

// The same from memory, which costs less than from a register.
inline F64x2 load_f64(const std::int32_t* p) {
    return {as<F64>(_mm512_cvtepi32_pd(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))),
            as<F64>(_mm512_cvtepi32_pd(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + kLanes64))))};
}

inline F64x2 to_f64(F32 v) {
    const __m512 f = reinterpret_cast<__m512>(v);
    return {as<F64>(_mm512_cvtps_pd(_mm512_castps512_ps256(f))),
            as<F64>(_mm512_cvtps_pd(_mm512_extractf32x8_ps(f, 1)))};
}

// Towards zero; every lane must fit.
inline I32 to_i32(F64x2 v) {
    const __m256i lo = _mm512_cvttpd_epi32(reinterpret_cast<__m512d>(v.lo));
    const __m256i hi = _mm512_cvttpd_epi32(reinterpret_cast<__m512d>(v.hi));
    return as<I32>(_mm512_inserti64x4(_mm512_castsi256_si512(lo), hi, 1));
}

// Towards zero, lanes below 2^31; 0 for what is negative. The bits of a sum with 2^52 end in the whole number.
inline I32 above_zero(F64x2 v) {
    const __m512d zero = _mm512_setzero_pd(), one = _mm512_set1_pd(0x1p52);
    const auto whole = [=](F64 x) {
        return _mm512_castpd_si512(_mm512_add_round_pd(_mm512_max_pd(reinterpret_cast<__m512d>(x), zero), one,
                                                       _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
    };
    return even_of(as<I32>(whole(v.lo)), as<I32>(whole(v.hi)));
}

// Lanes of a comparison of doubles as lanes of 32 bits.
inline I32 narrow_mask(I64 lo, I64 hi) {
    const __mmask16 m = static_cast<__mmask16>(_mm512_movepi64_mask(raw(lo)) |
                                               (_mm512_movepi64_mask(raw(hi)) << 8));
    return as<I32>(_mm512_movm_epi32(m));
}

// Rounded to single precision.
inline F64 as_single(F64 v) {
    return as<F64>(_mm512_cvtps_pd(_mm512_cvtpd_ps(reinterpret_cast<__m512d>(v))));
}
inline F32 square_root(F32 v) { return as<F32>(_mm512_sqrt_ps(reinterpret_cast<__m512>(v))); }
inline F64 square_root(F64 v) { return as<F64>(_mm512_sqrt_pd(reinterpret_cast<__m512d>(v))); }

inline F32 to_f32(I32 v) { return as<F32>(_mm512_cvtepi32_ps(raw(v))); }
inline F32 to_f32(F64x2 v) {
    return as<F32>(_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(reinterpret_cast<__m512d>(v.lo))),
                                      _mm512_cvtpd_ps(reinterpret_cast<__m512d>(v.hi)), 1));
}

// The 16 leading bits of lanes 2^16 <= v < 2^31, and how far they were shifted down.
inline TopBits top16(U32 v) {
    const U32 shift = 16 - as<U32>(_mm512_lzcnt_epi32(raw(v)));
    return {v >> shift, shift};
}

// Floats whose 16 leading bits are those of lanes 2^16 <= v < 2^31.
inline F32 leading16(U32 v) {
    return as<F32>(_mm512_cvt_roundepi32_ps(raw(v), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
}

// Entries of a table that is one register; bits of the index beyond it don't count.
inline F32 lookup(F32 table, U32 index) {
    return as<F32>(_mm512_permutexvar_ps(raw(index), reinterpret_cast<__m512>(table)));
}

inline I32 gather(const std::int32_t* table, U32 index) {
    return as<I32>(_mm512_i32gather_epi32(raw(index), table, 4));
}

// Which column, counted from the first, each lane of a row dot product belongs to.
inline I32 column_offsets(int half) {
    return as<I32>(_mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)) +
           half;
}

// The register of pairs that starts T pairs after p. A whole-line load that is not aligned costs two,
// a shift of two registers competes with the multipliers: alternating keeps both below their limit.
struct PairWindow {
    explicit PairWindow(const std::uint16_t* p)
        : p_(p), first_(load<I16>(p)), next_(load<I16>(p + kLanes16)) {}
    template <int T>
    I16 at() const {
        if constexpr (T % 2 == 0) {
            return load<I16>(p_ + 2 * T);
        } else {
            return as<I16>(_mm512_alignr_epi32(raw(next_), raw(first_), T));
        }
    }

  private:
    const std::uint16_t* p_;
    I16 first_, next_;
};

// ---- words in 32-bit lanes, and what else ADM and motion want -----------------------------------

inline I16 abs16(I16 v) { return as<I16>(_mm512_abs_epi16(raw(v))); }  // -32768 stays
inline I16 mulhi(I16 a, I16 b) { return as<I16>(_mm512_mulhi_epi16(raw(a), raw(b))); }
// (a*b + 2^14) >> 15.
inline I16 mul_round15(I16 a, I16 b) { return as<I16>(_mm512_mulhrs_epi16(raw(a), raw(b))); }

// 1 / v, off by less than one part in 2^21; anything for 0.
inline F32 inverse(F32 v) {
    const __m512 x = reinterpret_cast<__m512>(v), r = _mm512_rcp14_ps(x);
    return as<F32>(_mm512_fmadd_ps(r, _mm512_fnmadd_ps(x, r, _mm512_set1_ps(1)), r));
}

// Towards zero; a lane that doesn't fit becomes anything.
inline I32 truncate(F32 v) { return as<I32>(_mm512_cvttps_epi32(reinterpret_cast<__m512>(v))); }

// Where v >= surely; `unsure` if any lane of v lies between `maybe` and `surely`.
inline I32 at_least(F32 v, F32 surely, F32 maybe, bool& unsure) {
    const __m512 x = reinterpret_cast<__m512>(v);
    const __mmask16 yes = _mm512_cmp_ps_mask(x, reinterpret_cast<__m512>(surely), _CMP_GE_OQ);
    unsure = yes != _mm512_cmp_ps_mask(x, reinterpret_cast<__m512>(maybe), _CMP_GE_OQ);
    return as<I32>(_mm512_movm_epi32(yes));
}

// Appends the lanes that aren't 0 (an instruction set may append all) and says how many. Room for a
// whole register is wanted.
inline int append_nonzero(std::int32_t* out, I32 v) {
    const __mmask16 on = _mm512_test_epi32_mask(raw(v), raw(v));
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(on, raw(v)));
    return __builtin_popcount(on);
}

// Odd 32-bit lanes moved to the even places; the odd places hold anything.
template <class V>
inline V odd_down(V v) {
    return as<V>(_mm512_movehdup_ps(reinterpret_cast<__m512>(v)));
}

// Bits up to the leading one; 0 for 0.
inline U32 bit_length(U32 v) { return 32 - as<U32>(_mm512_lzcnt_epi32(raw(v))); }

// Each lane by its own count, 0..31.
inline U32 shift_left(U32 v, U32 n) { return v << n; }
inline U32 shift_right(U32 v, U32 n) { return v >> n; }

// All lanes by one count that is known late.
struct Count {
    explicit Count(int n) : n64(splat<U64>(n)), n32(splat<U32>(n)) {}
    U64 n64;
    U32 n32;
};
inline I32 shift_right(I32 v, Count n) { return v >> as<I32>(n.n32); }
inline I64 shift_right(I64 v, Count n) { return v >> as<I64>(n.n64); }
inline U64 shift_right(U64 v, Count n) { return v >> n.n64; }

// a * b + c, rounded once.
inline F32 fused(F32 a, F32 b, F32 c) {
    return as<F32>(_mm512_fmadd_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b),
                                   reinterpret_cast<__m512>(c)));
}

// Undo narrow's order where its operands were in natural order.
inline I16 natural_order(I16 v) {
    return as<I16>(__builtin_shufflevector(as<I64>(v), as<I64>(v), 0, 2, 4, 6, 1, 3, 5, 7));
}

}  // namespace acuity::ACUITY_ISA

#include "x86_pairs.h"
#include "x86_words.h"
