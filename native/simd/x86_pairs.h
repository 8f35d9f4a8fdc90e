// Filters for the x86 sets, as dot products of pairs of signed words.
#pragma once

namespace acuity::ACUITY_ISA {

template <int FA, int FB>
inline I16 tap_pair() {
    constexpr std::uint32_t both = static_cast<std::uint16_t>(FA) |
                                   (static_cast<std::uint32_t>(static_cast<std::uint16_t>(FB)) << 16);
    return as<I16>(splat<U32>(both));
}

// acc + FA*a + FB*b for pairs (a, b). A tap above 32767 reads as negative to the multiplier, 65536
// too small: adding the sample to the upper half makes up for it.
template <int FA, int FB>
inline U32 dot_taps(U32 acc, I16 pairs) {
    if constexpr (FA == 0 && FB == 0) return acc;
    acc = dot2(acc, pairs, tap_pair<FA, FB>());
    if constexpr (FA > 32767) acc += as<U32>(pairs) << 16;
    if constexpr (FB > 32767) acc += as<U32>(pairs) & 0xffff0000u;
    return acc;
}

// Two rows side by side, as the vertical filters want them: room for 2 * kLanes16 words.
inline void store_pair(std::uint16_t* slot, U16 a, U16 b) {
    store(slot, zip_lo(as<I16>(a), as<I16>(b)));
    store(slot + kLanes16, zip_hi(as<I16>(a), as<I16>(b)));
}

struct RowPair {
    I16 lo, hi;
};

inline RowPair load_pair(const std::uint16_t* slot) {
    return {load<I16>(slot), load<I16>(slot + kLanes16)};
}

template <int FA, int FB>
inline void dot_rows(Wide& acc, RowPair rows) {
    acc.a = dot_taps<FA, FB>(acc.a, rows.lo);
    acc.b = dot_taps<FA, FB>(acc.b, rows.hi);
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

// Filter a row at every column: even ones come out in `a`, odd ones in `b`. A pair of columns meets taps t and t + 1
// of the even column and taps t - 1 and t of the odd one after it, so each register of pairs serves both.
template <const auto& Taps>
inline Wide dot_row(const std::uint16_t* p) {
    Wide acc{};
    const PairWindow window(p);
    unroll<sizeof(Taps) / sizeof(Taps[0]) / 2 + 1>([&](auto t) __attribute__((always_inline)) {
        const I16 pairs = window.template at<t>();
        acc.a = dot_taps<tap_value<Taps>(2 * t), tap_value<Taps>(2 * t + 1)>(acc.a, pairs);
        acc.b = dot_taps<tap_value<Taps>(2 * t - 1), tap_value<Taps>(2 * t)>(acc.b, pairs);
    });
    return {acc.a + kDotOffset, acc.b + kDotOffset};
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

    // The filter from its first tap at `at`, rounded down by 16 bits.
    template <const auto& Taps>
    Wide filter(int at) const {
        const Wide hi = dot_row<Taps>(upper + at), lo = dot_row<Taps>(lower + at);
        return {hi.a + ((lo.a + 32768u) >> 16), hi.b + ((lo.b + 32768u) >> 16)};
    }
};

// (a*b + 2^31) >> 32 of unsigned lanes.
inline U32 mul_round32(U32 a, U32 b) {
    return join_high(mul_even(a, b) + 0x80000000u, mul_odd(a, b) + 0x80000000u);
}

}  // namespace acuity::ACUITY_ISA
