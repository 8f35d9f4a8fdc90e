// NEON (AArch64). Contracts are those of avx512.h, except that words multiply unsigned, so nothing
// is biased, and a Wide holds its lanes in natural order.
#pragma once

#include <arm_neon.h>

#define ACUITY_REGISTER_BYTES 16
#include "types.h"

namespace acuity::ACUITY_ISA {

constexpr std::uint16_t kBias = 0;
constexpr std::uint32_t kDotOffset = 0;

inline bool any(I32 mask) { return vmaxvq_u32(reinterpret_cast<uint32x4_t>(mask)) != 0; }
inline int count(I32 mask) { return -vaddvq_s32(reinterpret_cast<int32x4_t>(mask)); }

inline U16 widen_u8(const std::uint8_t* p) { return as<U16>(vmovl_u8(vld1_u8(p))); }

inline U16 mulhi(U16 a, U16 b) {
    const uint16x8_t x = reinterpret_cast<uint16x8_t>(a), y = reinterpret_cast<uint16x8_t>(b);
    return as<U16>(vuzp2q_u16(vreinterpretq_u16_u32(vmull_u16(vget_low_u16(x), vget_low_u16(y))),
                              vreinterpretq_u16_u32(vmull_high_u16(x, y))));
}

// ---- filters ----

struct RowPair {
    U16 first, second;
};
inline RowPair pair_rows(U16 a, U16 b) { return {a, b}; }

template <int F>
inline void add_product(Wide& acc, uint16x8_t v) {
    if constexpr (F != 0) {
        acc.a = as<U32>(vmlal_n_u16(reinterpret_cast<uint32x4_t>(acc.a), vget_low_u16(v), F));
        acc.b = as<U32>(vmlal_high_n_u16(reinterpret_cast<uint32x4_t>(acc.b), v, F));
    }
}

template <int FA, int FB>
inline void dot_rows(Wide& acc, RowPair rows) {
    add_product<FA>(acc, reinterpret_cast<uint16x8_t>(rows.first));
    add_product<FB>(acc, reinterpret_cast<uint16x8_t>(rows.second));
}

template <const auto& Taps>
constexpr int tap_value(int t) {
    constexpr int k = sizeof(Taps) / sizeof(Taps[0]);
    return t >= 0 && t < k ? Taps[t] : 0;
}

// Adds to out[q] for q = 0, Step, … below Rows; part(p, h) is row h of pair p.
template <const auto& Taps, class Reach, int Rows, int Step, class Part>
[[gnu::always_inline]] inline void dot_columns(Part&& part, Wide* out) {
    Wide acc[Rows / Step];
    for (int r = 0; r < Rows / Step; ++r) acc[r] = out[r * Step];
    unroll<Reach::pairs>([&](auto p) __attribute__((always_inline)) {
        const RowPair rows{part(p, 0), part(p, 1)};
        unroll<Rows / Step>([&](auto r) __attribute__((always_inline)) {
            constexpr int q = r * Step;
            dot_rows<tap_value<Taps>(Reach::tap(2 * p, q)), tap_value<Taps>(Reach::tap(2 * p + 1, q))>(acc[r], rows);
        });
    });
    for (int r = 0; r < Rows / Step; ++r) out[r * Step] = acc[r];
}

template <const auto& Taps>
inline Wide dot_row(const std::uint16_t* p) {
    Wide acc{};
    unroll<sizeof(Taps) / sizeof(Taps[0])>(
        [&](auto t) { add_product<tap_value<Taps>(t)>(acc, vld1q_u16(p + t)); });
    return acc;
}

template <const auto& Taps>
inline U32 dot_row_even(const std::uint16_t* p) {
    uint32x4_t acc = vdupq_n_u32(0);
    unroll<(sizeof(Taps) / sizeof(Taps[0]) + 1) / 2>([&](auto t) {
        const uint16x4x2_t v = vld2_u16(p + 2 * t);
        acc = vmlal_n_u16(acc, v.val[0], tap_value<Taps>(2 * t));
        if constexpr (tap_value<Taps>(2 * t + 1) != 0) {
            acc = vmlal_n_u16(acc, v.val[1], tap_value<Taps>(2 * t + 1));
        }
    });
    return as<U32>(acc);
}

inline U16 narrow(U32 a, U32 b) {
    return as<U16>(vuzp1q_u16(reinterpret_cast<uint16x8_t>(a), reinterpret_cast<uint16x8_t>(b)));
}

inline U16 words_from(Wide sums, int shift) { return narrow(sums.a >> shift, sums.b >> shift); }

// Numbers below 2^32 as doubles: 2^52 + v has v in its last bits, and the difference is exact. Unlike conversions, these
// instructions run on either pipe.
inline float64x2x2_t exact_doubles(uint32x4_t v) {
    const uint32x4_t upper = vdupq_n_u32(0x43300000u);
    const float64x2_t none = vdupq_n_f64(0x1p52);
    return {vsubq_f64(vreinterpretq_f64_u32(vzip1q_u32(v, upper)), none),
            vsubq_f64(vreinterpretq_f64_u32(vzip2q_u32(v, upper)), none)};
}

// A row of 32-bit sums as the horizontal filter wants it: doubles, whose multiply-add has twice the
// throughput of the integer one.
template <int Span>
struct SumRow {
    alignas(64) double value[Span];

    void store(int at, Wide sums) {
        store(at, sums.a);
        store(at + 4, sums.b);
    }
    void store(int at, U32 sums) { vst1q_f64_x2(value + at, exact_doubles(reinterpret_cast<uint32x4_t>(sums))); }

    void mirror(int at, int half, bool left, bool right, int columns) {
        mirror_edges(value + at, half, left, right, columns);
    }
};

// A symmetric filter's taps, those up to the middle, as words and as doubles in registers' lanes.
template <const auto& Taps>
struct LaneTaps {
    static constexpr int k = sizeof(Taps) / sizeof(Taps[0]);
    uint16x8_t words[2];
    float64x2_t doubles[(k / 2 + 2) / 2];

    [[gnu::always_inline]] LaneTaps() {
        alignas(16) static constexpr std::uint16_t w[16] = {
            tap_value<Taps>(0), tap_value<Taps>(1), tap_value<Taps>(2), tap_value<Taps>(3), tap_value<Taps>(4),
            tap_value<Taps>(5), tap_value<Taps>(6), tap_value<Taps>(7), tap_value<Taps>(8)};
        alignas(16) static constexpr double d[10] = {
            tap_value<Taps>(0), tap_value<Taps>(1), tap_value<Taps>(2), tap_value<Taps>(3), tap_value<Taps>(4),
            tap_value<Taps>(5), tap_value<Taps>(6), tap_value<Taps>(7), tap_value<Taps>(8)};
        for (int i = 0; i < 2; ++i) words[i] = vld1q_u16(w + 8 * i);
        for (int i = 0; i < (k / 2 + 2) / 2; ++i) doubles[i] = vld1q_f64(d + 2 * i);
    }
    static constexpr int lane(int t) { return t <= k / 2 ? t : k - 1 - t; }
};

// A row of sums filtered at eight columns, rounded down by 16 bits; and beside it a row of means, because they are for
// one multiplier alone, and doubles for both. A sum in doubles starts with 2^52, so its last bits are the whole number:
// 65536 times less than 2^32, and a half, is below 2^48.
template <const auto& Taps, bool Means>
[[gnu::always_inline]] inline void filter_beside(const LaneTaps<Taps>& taps, const std::uint16_t* means,
                                                 const double* sums, Wide& mean, Wide& sum) {
    constexpr double start = 0x1p52 + 32768;
    float64x2_t acc[4] = {vdupq_n_f64(start), vdupq_n_f64(start), vdupq_n_f64(start), vdupq_n_f64(start)};
    uint32x4_t low = vdupq_n_u32(0), high = vdupq_n_u32(0);
    unroll<LaneTaps<Taps>::k>([&](auto t) __attribute__((always_inline)) {
        constexpr int lane = LaneTaps<Taps>::lane(t);
        for (int i = 0; i < 4; ++i)
            acc[i] = vfmaq_laneq_f64(acc[i], vld1q_f64(sums + t + 2 * i), taps.doubles[lane / 2], lane % 2);
        if constexpr (Means) {
            const uint16x8_t v = vld1q_u16(means + t);
            low = vmlal_laneq_u16(low, vget_low_u16(v), taps.words[lane / 8], lane % 8);
            high = vmlal_high_laneq_u16(high, v, taps.words[lane / 8], lane % 8);
        }
    });
    const auto whole = [](float64x2_t a, float64x2_t b) {
        return as<U32>(vshrn_high_n_u64(vshrn_n_u64(vreinterpretq_u64_f64(a), 16), vreinterpretq_u64_f64(b), 16));
    };
    if (Means) mean = {as<U32>(low), as<U32>(high)};
    sum = {whole(acc[0], acc[1]), whole(acc[2], acc[3])};
}

template <const auto& Taps, int Span>
[[gnu::always_inline]] inline void filter_across(const std::uint16_t (&means)[2][Span], const SumRow<Span> (&sums)[3],
                                                 int at, Wide* mean, Wide* sum) {
    const LaneTaps<Taps> taps;
    filter_beside<Taps, true>(taps, means[0] + at, sums[0].value + at, mean[0], sum[0]);
    filter_beside<Taps, true>(taps, means[1] + at, sums[1].value + at, mean[1], sum[1]);
    filter_beside<Taps, false>(taps, nullptr, sums[2].value + at, mean[0], sum[2]);
}

inline void store_low16(std::uint16_t* out, U32 v) {
    vst1_u16(out, vmovn_u32(reinterpret_cast<uint32x4_t>(v)));
}

inline I32 column_offsets(int half) { return I32{0, 1, 2, 3} + 4 * half; }

// ---- arithmetic ----

inline uint32x2_t even_lanes(U32 v) { return vmovn_u64(reinterpret_cast<uint64x2_t>(v)); }
inline int32x2_t even_lanes(I32 v) { return vmovn_s64(reinterpret_cast<int64x2_t>(v)); }

inline U64 mul_even(U32 a, U32 b) { return as<U64>(vmull_u32(even_lanes(a), even_lanes(b))); }
inline I64 mul_even(I32 a, I32 b) { return as<I64>(vmull_s32(even_lanes(a), even_lanes(b))); }

inline U32 join_high(U64 even, U64 odd) {
    return as<U32>(vtrn2q_u32(reinterpret_cast<uint32x4_t>(even), reinterpret_cast<uint32x4_t>(odd)));
}

inline U32 mul_round32(U32 a, U32 b) {
    const uint32x4_t x = reinterpret_cast<uint32x4_t>(a), y = reinterpret_cast<uint32x4_t>(b);
    return as<U32>(vrshrn_high_n_u64(vrshrn_n_u64(vmull_u32(vget_low_u32(x), vget_low_u32(y)), 32),
                                     vmull_high_u32(x, y), 32));
}

inline I32 abs32(I32 v) { return as<I32>(vabsq_s32(reinterpret_cast<int32x4_t>(v))); }

inline I64 widen_sum(I32 v) { return as<I64>(vpaddlq_s32(reinterpret_cast<int32x4_t>(v))); }

inline F64x2 to_f64(I32 v) {
    const int32x4_t x = reinterpret_cast<int32x4_t>(v);
    return {as<F64>(vcvtq_f64_s64(vmovl_s32(vget_low_s32(x)))),
            as<F64>(vcvtq_f64_s64(vmovl_high_s32(x)))};
}

inline F64x2 load_f64(const std::int32_t* p) { return to_f64(load<I32>(p)); }

inline F64x2 to_f64(F32 v) {
    const float32x4_t f = reinterpret_cast<float32x4_t>(v);
    return {as<F64>(vcvt_f64_f32(vget_low_f32(f))), as<F64>(vcvt_high_f64_f32(f))};
}

inline I32 to_i32(F64x2 v) {
    const int64x2_t lo = vcvtq_s64_f64(reinterpret_cast<float64x2_t>(v.lo));
    const int64x2_t hi = vcvtq_s64_f64(reinterpret_cast<float64x2_t>(v.hi));
    return as<I32>(vuzp1q_s32(vreinterpretq_s32_s64(lo), vreinterpretq_s32_s64(hi)));
}

inline I32 narrow_mask(I64 lo, I64 hi) {
    return as<I32>(vuzp1q_s32(reinterpret_cast<int32x4_t>(lo), reinterpret_cast<int32x4_t>(hi)));
}

inline F64 as_single(F64 v) {
    return as<F64>(vcvt_f64_f32(vcvt_f32_f64(reinterpret_cast<float64x2_t>(v))));
}
inline F32 square_root(F32 v) { return as<F32>(vsqrtq_f32(reinterpret_cast<float32x4_t>(v))); }
inline F64 square_root(F64 v) { return as<F64>(vsqrtq_f64(reinterpret_cast<float64x2_t>(v))); }

inline F32 to_f32(I32 v) { return as<F32>(vcvtq_f32_s32(reinterpret_cast<int32x4_t>(v))); }
inline F32 to_f32(F64x2 v) {
    return as<F32>(vcvt_high_f32_f64(vcvt_f32_f64(reinterpret_cast<float64x2_t>(v.lo)),
                                     reinterpret_cast<float64x2_t>(v.hi)));
}

inline TopBits top16(U32 v) {
    const U32 shift = 16 - as<U32>(vclzq_u32(reinterpret_cast<uint32x4_t>(v)));
    return {v >> shift, shift};
}

inline I32 gather(const std::int32_t* table, U32 index) {
    return I32{table[index[0]], table[index[1]], table[index[2]], table[index[3]]};
}

// ---- words in 32-bit lanes, and what else ADM and motion want ----

inline int16x8_t words(I16 v) { return reinterpret_cast<int16x8_t>(v); }

inline I16 narrow_signed(I32 a, I32 b) {
    return as<I16>(vqmovn_high_s32(vqmovn_s32(reinterpret_cast<int32x4_t>(a)), reinterpret_cast<int32x4_t>(b)));
}

inline I16 abs16(I16 v) { return as<I16>(vabsq_s16(words(v))); }
inline I16 mulhi(I16 a, I16 b) {
    return as<I16>(vuzp2q_s16(vreinterpretq_s16_s32(vmull_s16(vget_low_s16(words(a)), vget_low_s16(words(b)))),
                              vreinterpretq_s16_s32(vmull_high_s16(words(a), words(b)))));
}
inline I16 mul_round15(I16 a, I16 b) { return as<I16>(vqrdmulhq_s16(words(a), words(b))); }

inline U32 dot2(U32 acc, I16 a, I16 c) {
    const int32x4_t lo = vmull_s16(vget_low_s16(words(a)), vget_low_s16(words(c)));
    return acc + as<U32>(vpaddq_s32(lo, vmull_high_s16(words(a), words(c))));
}

template <int FA, int FB>
inline I16 tap_pair() {
    return I16{FA, FB, FA, FB, FA, FB, FA, FB};
}

inline void store_signed_pair(std::int16_t* slot, I16 a, I16 b) {
    store(slot, a);
    store(slot + kLanes16, b);
}

struct SignedPair {
    int16x8_t a, b;

    SignedPair(I16 first, I16 second) : a(words(first)), b(words(second)) {}
    explicit SignedPair(const std::int16_t* slot) : a(vld1q_s16(slot)), b(vld1q_s16(slot + kLanes16)) {}
};

template <int F>
inline void add_signed(Wide& acc, int16x8_t v) {
    if constexpr (F != 0) {
        acc.a = as<U32>(vmlal_n_s16(reinterpret_cast<int32x4_t>(acc.a), vget_low_s16(v), F));
        acc.b = as<U32>(vmlal_high_n_s16(reinterpret_cast<int32x4_t>(acc.b), v, F));
    }
}

template <int FA, int FB>
inline void add_pair(Wide& acc, SignedPair rows) {
    add_signed<FA>(acc, rows.a);
    add_signed<FB>(acc, rows.b);
}

template <const auto& Taps>
inline Wide dot_signed(std::uint32_t acc, const std::int16_t* p) {
    Wide sum{splat<U32>(acc), splat<U32>(acc)};
    unroll<sizeof(Taps) / sizeof(Taps[0])>([&](auto t) { add_signed<Taps[t]>(sum, vld1q_s16(p + t)); });
    return sum;
}

template <const auto& Taps>
inline U32 dot_even(U32 acc, const std::int16_t* p) {
    int32x4_t sum = reinterpret_cast<int32x4_t>(acc);
    unroll<(sizeof(Taps) / sizeof(Taps[0]) + 1) / 2>([&](auto t) {
        const int16x4x2_t v = vld2_s16(p + 2 * t);
        sum = vmlal_n_s16(sum, v.val[0], tap_value<Taps>(2 * t));
        sum = vmlal_n_s16(sum, v.val[1], tap_value<Taps>(2 * t + 1));
    });
    return as<U32>(sum);
}

inline I16 upper_words(U32 a, U32 b) {
    return as<I16>(vuzp2q_s16(reinterpret_cast<int16x8_t>(a), reinterpret_cast<int16x8_t>(b)));
}
inline I16 lower_words(U32 a, U32 b) {
    return as<I16>(vuzp1q_s16(reinterpret_cast<int16x8_t>(a), reinterpret_cast<int16x8_t>(b)));
}

inline I32 truncate(F32 v) { return as<I32>(vcvtq_s32_f32(reinterpret_cast<float32x4_t>(v))); }

template <class V>
inline V odd_down(V v) {
    const uint32x4_t x = reinterpret_cast<uint32x4_t>(v);
    return as<V>(vtrn2q_u32(x, x));
}

inline U32 bit_length(U32 v) { return 32 - as<U32>(vclzq_u32(reinterpret_cast<uint32x4_t>(v))); }

// A negative count shifts right.
struct Count {
    explicit Count(int n) : n32(vdupq_n_s32(-n)), n64(vdupq_n_s64(-n)) {}
    int32x4_t n32;
    int64x2_t n64;
};
inline I32 shift_right(I32 v, Count n) { return as<I32>(vshlq_s32(reinterpret_cast<int32x4_t>(v), n.n32)); }
inline I64 shift_right(I64 v, Count n) { return as<I64>(vshlq_s64(reinterpret_cast<int64x2_t>(v), n.n64)); }
inline U64 shift_right(U64 v, Count n) { return as<U64>(vshlq_u64(reinterpret_cast<uint64x2_t>(v), n.n64)); }

inline F32 fused(F32 a, F32 b, F32 c) {
    return as<F32>(vfmaq_f32(reinterpret_cast<float32x4_t>(c), reinterpret_cast<float32x4_t>(a),
                             reinterpret_cast<float32x4_t>(b)));
}

}  // namespace acuity::ACUITY_ISA

#include "few_lanes.h"
