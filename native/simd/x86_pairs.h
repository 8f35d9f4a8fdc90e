// Filters for the x86 sets, as dot products of pairs of signed words.
#pragma once

namespace acuity::ACUITY_ISA {

// Makes the compiler have a value in a register here: left alone, it adds up in an order for which there are too few of
// them, or loads a constant for each use.
template <class V>
inline void in_register(V& v) {
#if defined(__AVX512F__)
    __asm__("" : "+v"(v));
#else
    __asm__("" : "+x"(v));
#endif
}

template <int FA, int FB>
inline I16 tap_pair() {
    constexpr std::uint32_t both = static_cast<std::uint16_t>(FA) |
                                   (static_cast<std::uint32_t>(static_cast<std::uint16_t>(FB)) << 16);
    return as<I16>(splat<U32>(both));
}

// acc + FA*a + FB*b for pairs (a, b). A tap above 32767 reads as negative to the multiplier, 65536
// too small: adding the sample to the upper half makes up for it.
template <int FA, int FB>
inline U32 dot_taps(U32 acc, I16 pairs, I16 taps = tap_pair<FA, FB>()) {
    if constexpr (FA == 0 && FB == 0) return acc;
    acc = dot2(acc, pairs, taps);
    if constexpr (FA > 32767) acc += as<U32>(pairs) << 16;
    if constexpr (FB > 32767) acc += as<U32>(pairs) & 0xffff0000u;
    return acc;
}

// Two rows side by side, as the vertical filters want them: room for 2 * kLanes16 words.
inline void store_pair(std::uint16_t* slot, U16 a, U16 b) {
    store(slot, zip_lo(as<I16>(a), as<I16>(b)));
    store(slot + kLanes16, zip_hi(as<I16>(a), as<I16>(b)));
}

// Upper and lower words of 32-bit sums that still lack kDotOffset, biased, in natural order.
inline void split_biased(Wide sum, U16& hi, U16& lo) {
    hi = as<U16>(narrow_signed(as<I32>(sum.a) >> 16, as<I32>(sum.b) >> 16));
    lo = narrow(sum.a & 0xffffu, sum.b & 0xffffu) ^ kBias;
}

// The tap at place t of a filter; none beyond its end.
template <const auto& Taps>
constexpr int tap_value(int t) {
    constexpr int k = sizeof(Taps) / sizeof(Taps[0]);
    return t >= 0 && t < k ? Taps[t] : 0;
}

// Filters a block of rows vertically: out[q] for q = 0, Step, … below Rows; part(p, h) is half h of pair p.
template <const auto& Taps, class Reach, int Rows, int Step, class Part>
[[gnu::always_inline]] inline void dot_columns(Part&& part, Wide* out) {
    unroll<2>([&](auto h) __attribute__((always_inline)) {
        U32 acc[Rows / Step] = {};
        unroll<Reach::pairs>([&](auto p) __attribute__((always_inline)) {
            const I16 rows = as<I16>(part(p, h));
            unroll<Rows / Step>([&](auto r) __attribute__((always_inline)) {
                constexpr int q = r * Step;
                constexpr int first = Reach::tap(2 * p, q);
                acc[r] = dot_taps<tap_value<Taps>(first), tap_value<Taps>(first + 1)>(acc[r], rows);
                in_register(acc[r]);
            });
        });
        for (int r = 0; r < Rows / Step; ++r) (h == 0 ? out[r * Step].a : out[r * Step].b) = acc[r];
    });
}

// Filter a row at even columns only: kLanes32 sums from 2 * kLanes32 columns, p at the first tap.
template <const auto& Taps>
inline U32 dot_row_even(const std::uint16_t* p) {
    U32 acc{};
    const PairWindow window(p);
    unroll<(sizeof(Taps) / sizeof(Taps[0]) + 1) / 2>([&](auto t) {
        acc = dot_taps<tap_value<Taps>(2 * t), tap_value<Taps>(2 * t + 1)>(acc, window.template at<t>());
    });
    return acc + kDotOffset;
}

// Filter rows at every column, p[n] at the first tap: even columns come out in `a`, odd ones in `b`, plus start[n].
// A pair of columns meets taps t and t + 1 of the even column and taps t - 1 and t of the odd one after it, so each
// register of pairs serves both; and each register of taps serves all rows.
template <const auto& Taps, int N>
[[gnu::always_inline]] inline void dot_rows_across(const std::uint16_t* const* p, const std::uint32_t* start,
                                                   Wide* acc) {
    for (int n = 0; n < N; ++n) acc[n] = {splat<U32>(start[n]), splat<U32>(start[n])};
    unroll<sizeof(Taps) / sizeof(Taps[0]) / 2 + 1>([&](auto t) __attribute__((always_inline)) {
        constexpr int before = tap_value<Taps>(2 * t - 1), even = tap_value<Taps>(2 * t);
        constexpr int odd = tap_value<Taps>(2 * t + 1);
        I16 first = tap_pair<even, odd>(), second = tap_pair<before, even>();
        in_register(first);
        in_register(second);
        for (int n = 0; n < N; ++n) {
            const I16 pairs = load<I16>(p[n] + 2 * t);
            acc[n].a = dot_taps<even, odd>(acc[n].a, pairs, first);
            acc[n].b = dot_taps<before, even>(acc[n].b, pairs, second);
            in_register(acc[n].a);
            in_register(acc[n].b);
        }
    });
}

// A row of 32-bit sums as the horizontal filter wants it: upper and lower words, each in its own row.
template <int Span>
struct SumRow {
    alignas(64) std::uint16_t upper[Span];
    alignas(64) std::uint16_t lower[Span];

    // Sums that still lack kDotOffset.
    void store(int at, Wide sums) {
        U16 hi, lo;
        split_biased(sums, hi, lo);
        ACUITY_ISA::store(upper + at, hi);
        ACUITY_ISA::store(lower + at, lo);
    }

    void mirror(int at, int half, bool left, bool right, int columns) {
        mirror_edges(upper + at, half, left, right, columns);
        mirror_edges(lower + at, half, left, right, columns);
    }
};

// Filters two rows of means and three of sums from the first tap at `at`; sums are rounded down by 16 bits.
template <const auto& Taps, int Span>
[[gnu::always_inline]] inline void filter_across(const std::uint16_t (&means)[2][Span], const SumRow<Span> (&sums)[3],
                                                 int at, Wide* mean, Wide* sum) {
    constexpr std::uint32_t round = kDotOffset + 32768;
    const std::uint16_t* rows[8] = {means[0] + at, means[1] + at};
    constexpr std::uint32_t whole = kDotOffset;
    constexpr std::uint32_t start[8] = {whole, whole, whole, round, whole, round, whole, round};
    for (int m = 0; m < 3; ++m) {
        rows[2 + 2 * m] = sums[m].upper + at;
        rows[3 + 2 * m] = sums[m].lower + at;
    }
    Wide acc[8];
    constexpr int together = kBytes == 64 ? 8 : 4;  // as many as there are registers for
    for (int n = 0; n < 8; n += together) dot_rows_across<Taps, together>(rows + n, start + n, acc + n);
    for (int p = 0; p < 2; ++p) mean[p] = acc[p];
    for (int m = 0; m < 3; ++m) {
        const Wide hi = acc[2 + 2 * m], lo = acc[3 + 2 * m];
        sum[m] = {hi.a + (lo.a >> 16), hi.b + (lo.b >> 16)};
    }
}

// (a*b + 2^31) >> 32 of unsigned lanes.
inline U32 mul_round32(U32 a, U32 b) {
    return join_high(mul_even(a, b) + 0x80000000u, mul_odd(a, b) + 0x80000000u);
}

}  // namespace acuity::ACUITY_ISA
