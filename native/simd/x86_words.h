// What the x86 sets share of the filters of signed words.
#pragma once

namespace acuity::ACUITY_ISA {

// acc + FA*a + FB*b, where a Wide's halves go to narrow_signed.
template <int FA, int FB>
inline void add_rows(Wide& acc, I16 a, I16 b) {
    acc.a = dot_taps<FA, FB>(acc.a, zip_lo(a, b));
    acc.b = dot_taps<FA, FB>(acc.b, zip_hi(a, b));
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
