// Filters for the x86 sets, as dot products of pairs of signed words.
#pragma once

namespace acuity::ACUITY_ISA {

// Makes the compiler have a value in a register here, and nowhere earlier: left alone, it adds up in an order for which
// there are too few of them, or keeps constants and what it reads in memory for each use.
template <class V>
inline void in_register(V& v) {
#if defined(__AVX512F__)
    __asm__ volatile("" : "+v"(v));
#else
    __asm__ volatile("" : "+x"(v));
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

// Two rows side by side, as the vertical filters want them: pairs of the even columns, and of the odd ones.
struct RowPair {
    U16 first, second;
};
inline RowPair pair_rows(U16 a, U16 b) {
    return {blend_words(as<U32>(a), as<U32>(b) << 16), blend_words(as<U32>(a) >> 16, as<U32>(b))};
}

// 16 bits of each sum of a Wide, from bit `shift` on (0..16), as words in natural order.
inline U16 words_from(Wide sums, int shift) { return blend_words(sums.a >> shift, sums.b << (16 - shift)); }

// The tap at place t of a filter; none beyond its end.
template <const auto& Taps>
constexpr int tap_value(int t) {
    constexpr int k = sizeof(Taps) / sizeof(Taps[0]);
    return t >= 0 && t < k ? Taps[t] : 0;
}

// Filters a block of rows vertically, adding to out[q] for q = 0, Step, … below Rows; part(p, h) is half h of pair p.
template <const auto& Taps, class Reach, int Rows, int Step, class Part>
[[gnu::always_inline]] inline void dot_columns(Part&& part, Wide* out) {
    unroll<2>([&](auto h) __attribute__((always_inline)) {
        U32 acc[Rows / Step];
        for (int r = 0; r < Rows / Step; ++r) acc[r] = h == 0 ? out[r * Step].a : out[r * Step].b;
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

// Filters rows at every column, p[n] at the first tap, adding even columns to `a` and odd ones to `b`.
// A pair of columns meets taps t and t + 1 of the even column and taps t - 1 and t of the odd one after it, so each
// register of pairs serves both; and each register of taps serves all rows.
template <const auto& Taps, int N>
[[gnu::always_inline]] inline void dot_rows_across(const std::uint16_t* const (&p)[N], Wide (&acc)[N]) {
    unroll<sizeof(Taps) / sizeof(Taps[0]) / 2 + 1>([&](auto t) __attribute__((always_inline)) {
        constexpr int before = tap_value<Taps>(2 * t - 1), even = tap_value<Taps>(2 * t);
        constexpr int odd = tap_value<Taps>(2 * t + 1);
        I16 first = tap_pair<even, odd>(), second = tap_pair<before, even>();
        in_register(first);
        in_register(second);
        for (int n = 0; n < N; ++n) {
            I16 pairs = load<I16>(p[n] + 2 * t);
            in_register(pairs);
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

    // Sums that still lack kDotOffset: their upper words are biased already.
    void store(int at, Wide sums) {
        ACUITY_ISA::store(upper + at, words_from(sums, 16));
        ACUITY_ISA::store(lower + at, words_from(sums, 0) ^ kBias);
    }

    void mirror(int at, int half, bool left, bool right, int columns) {
        mirror_edges(upper + at, half, left, right, columns);
        mirror_edges(lower + at, half, left, right, columns);
    }
};

// Filters two rows of means and three of sums from the first tap at `at`; sums are rounded down by 16 bits and lack
// kDotOffset still. What the lower words add is where the upper ones begin.
template <const auto& Taps, int Span>
[[gnu::always_inline]] inline void filter_across(const std::uint16_t (&means)[2][Span], const SumRow<Span> (&sums)[3],
                                                 int at, Wide* mean, Wide* sum) {
    const auto wide = [](std::uint32_t v) { return Wide{splat<U32>(v), splat<U32>(v)}; };
    constexpr std::uint32_t round = kDotOffset + 32768;
    const std::uint16_t* lower[4] = {means[0] + at, sums[0].lower + at, sums[1].lower + at, sums[2].lower + at};
    const std::uint16_t* upper[4] = {means[1] + at, sums[0].upper + at, sums[1].upper + at, sums[2].upper + at};
    Wide low[4] = {wide(kDotOffset), wide(round), wide(round), wide(round)}, high[4] = {wide(kDotOffset)};
    dot_rows_across<Taps>(lower, low);
    for (int m = 1; m < 4; ++m) high[m] = {low[m].a >> 16, low[m].b >> 16};
    dot_rows_across<Taps>(upper, high);
    mean[0] = low[0];
    mean[1] = high[0];
    for (int m = 0; m < 3; ++m) sum[m] = high[m + 1];
}

// (a*b + 2^31) >> 32 of unsigned lanes, without kDotOffset, which is the same as with it.
inline U32 mul_round32(U32 a, U32 b) {
    constexpr std::uint64_t round = std::uint64_t{kDotOffset} << 32 | 0x80000000u;
    return join_high(mul_even(a, b) + round, mul_odd(a, b) + round);
}

}  // namespace acuity::ACUITY_ISA
