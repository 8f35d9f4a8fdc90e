// Filters of signed words for the x86 sets.
#pragma once

namespace acuity::ACUITY_ISA {

// Two rows of signed words side by side: room for 2 * kLanes16 words.
inline void store_signed_pair(std::int16_t* slot, I16 a, I16 b) {
    store(slot, zip_lo(a, b));
    store(slot + kLanes16, zip_hi(a, b));
}

struct SignedPair {
    I16 lo, hi;

    SignedPair(I16 a, I16 b) : lo(zip_lo(a, b)), hi(zip_hi(a, b)) {}
    explicit SignedPair(const std::int16_t* slot) : lo(load<I16>(slot)), hi(load<I16>(slot + kLanes16)) {}
};

// acc + FA*a + FB*b for rows (a, b); narrow_signed puts a Wide's halves back in natural order.
template <int FA, int FB>
inline void add_pair(Wide& acc, SignedPair rows) {
    acc.a = dot_taps<FA, FB>(acc.a, rows.lo);
    acc.b = dot_taps<FA, FB>(acc.b, rows.hi);
}

// acc + a filter of five taps at every column, p at the first tap: even columns in `a`, odd ones in `b`.
template <const auto& Taps>
inline Wide dot_signed(std::uint32_t acc, const std::int16_t* p) {
    static_assert(sizeof(Taps) / sizeof(Taps[0]) == 5);
    const I16 first = load<I16>(p), second = load<I16>(p + 2), third = load<I16>(p + 4);
    const U32 a = dot_taps<Taps[0], Taps[1]>(splat<U32>(acc), first), b = dot_taps<0, Taps[0]>(splat<U32>(acc), first);
    return {dot_taps<Taps[4], 0>(dot_taps<Taps[2], Taps[3]>(a, second), third),
            dot_taps<Taps[3], Taps[4]>(dot_taps<Taps[1], Taps[2]>(b, second), third)};
}

// acc + the filter at even columns, p at the first tap: kLanes32 sums in natural order.
template <const auto& Taps>
inline U32 dot_even(U32 acc, const std::int16_t* p) {
    unroll<(sizeof(Taps) / sizeof(Taps[0]) + 1) / 2>([&](auto t) {
        acc = dot_taps<tap_value<Taps>(2 * t), tap_value<Taps>(2 * t + 1)>(acc, load<I16>(p + 2 * t));
    });
    return acc;
}

// Upper and lower words of two registers of 32-bit lanes, all in natural order.
inline I16 upper_words(U32 a, U32 b) {
    return natural_order(narrow_signed(as<I32>(a) >> 16, as<I32>(b) >> 16));
}
inline I16 lower_words(U32 a, U32 b) {
    return natural_order(as<I16>(narrow(a & 0xffffu, b & 0xffffu)));
}

}  // namespace acuity::ACUITY_ISA
