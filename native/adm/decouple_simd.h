// Decoupling of ADM with registers: how much of the reference is left in the distorted picture.
//
// Coefficients are taken along the sign of the reference: `size` is |ref|, `along` is dis where it has
// ref's sign and 0 where it hasn't. The share of ref that is left, along / size, is kept within 0 and 1.
#pragma once

#include "adm/table.h"
#include "simd/isa.h"

namespace acuity::ACUITY_ISA::adm {

// v where mask is 0, -v where it is -1.
template <class V>
inline V flip(V v, V mask) {
    return (v ^ mask) - mask;
}

// a where mask is -1, b where it is 0. Bit by bit, because some compilers fail on `mask ? vmin(…) : b`.
template <class M, class V>
inline V select(M mask, V a, V b) {
    return b ^ ((a ^ b) & as<V>(mask));
}

// ---- direction --------------------------------------------------------------------------------

// Whether gradients point the same way, from their product and their squares. Single precision decides,
// unless the limit is closer than all its roundings may amount to, one part in Error: there
// `exact(yes, lanes)` puts right the lanes in doubt.
template <int Error, class Exact>
inline I32 parallel(F32 dot, F32 ref, F32 dis, float cos_squared, Exact&& exact) {
    const F32 square = dot * as<F32>(as<I32>(dot) & 0x7fffffff), product = ref * dis;
    const F32 surely = product * (cos_squared * (1 + 1.0f / Error));
    const F32 maybe = product * (cos_squared * (1 - 1.0f / Error));
    bool unsure;
    I32 yes = at_least(square, surely, maybe, unsure);
    if (unsure) [[unlikely]] exact(yes, (square >= maybe) ^ yes);
    return yes;
}

// ---- gain -------------------------------------------------------------------------------------

// A gain limit. Whole ones, the usual case, multiply as integers; a product that would overflow is
// above any coefficient and is cut off.
struct Gain {
    double value;
    bool whole;
    std::uint16_t times, most16;
    std::uint32_t most32;

    bool one() const { return whole && times == 1; }

    void set(double gain) {
        value = gain;
        whole = gain >= 1 && gain <= 1024 && gain == static_cast<int>(gain);
        times = whole ? static_cast<std::uint16_t>(gain) : 1;
        most16 = static_cast<std::uint16_t>(65535 / times);
        most32 = 0xffffffffu / times;
    }
};

// min(size * gain, most), rounded down.
template <bool Whole>
inline U32 gained(U32 size, U32 most, const Gain& gain) {
    if constexpr (Whole) return vmin(vmin(size, splat<U32>(gain.most32)) * gain.times, most);
    const F64x2 s = to_f64(as<I32>(size)), m = to_f64(as<I32>(most));
    return as<U32>(to_i32({vmin(s.lo * gain.value, m.lo), vmin(s.hi * gain.value, m.hi)}));
}

// ---- cubes ------------------------------------------------------------------------------------

// Sum of all lanes; it wraps on extreme input, as the reference's does.
inline std::uint64_t sum_of(U64 v) {
    std::uint64_t lanes[kLanes64], sum = 0;
    store(lanes, v);
    for (std::uint64_t lane : lanes) sum += lane;
    return sum;
}

// How cubes are shifted into their sums: squares by a constant, cubes by the band's width. Few sets shift 64 bits with
// sign, so cubes are moved above zero with what rounds them, and `raised` is by how much each is too large then.
struct CubeShift {
    Count count{0};
    U64 add{};
    std::uint64_t raised = 0;
    CubeShift() = default;
    CubeShift(int shift, std::int64_t rounding)
        : count(shift), add(splat<U64>(static_cast<std::uint64_t>(rounding) + kLowest)), raised(kLowest >> shift) {}

  private:
    static constexpr std::uint64_t kLowest = std::uint64_t{1} << 63;
};

// Sum over pairs of lanes of the rounded cubes of v >= 0, each raised. The square wraps in 32 bits, with sign, so that
// a cube lies within 2^62 of zero.
template <int Square>
inline U64 cubes(I32 v, const CubeShift& shift) {
    constexpr std::int64_t add = std::int64_t{1} << (Square - 1);
    const I32 odd = odd_down(v);
    const I32 even_square = as<I32>(as<U64>(mul_even(v, v) + add) >> Square);
    const I32 odd_square = as<I32>(as<U64>(mul_even(odd, odd) + add) >> Square);
    return shift_right(as<U64>(mul_even(even_square, v)) + shift.add, shift.count) +
           shift_right(as<U64>(mul_even(odd_square, odd)) + shift.add, shift.count);
}

// ---- scale 0: two words in each 32-bit lane ---------------------------------------------------

inline U32 first_of(U16 v) { return as<U32>(v) & 0xffffu; }
inline U32 second_of(U16 v) { return as<U32>(v) >> 16; }

// The first words of a, the second of b.
template <class V>
inline V mix(V a, V b) {
    return as<V>((as<U32>(a) & 0xffffu) | (as<U32>(b) & 0xffff0000u));
}

template <bool Whole>
inline U16 gained(U16 size, U16 most, const Gain& gain) {
    if constexpr (Whole) return vmin(vmin(size, splat<U16>(gain.most16)) * gain.times, most);
    const U32 first = gained<false>(first_of(size), first_of(most), gain);
    const U32 second = gained<false>(second_of(size), second_of(most), gain);
    return as<U16>(first | (second << 16));
}

// |share * ref| rounded, where share is along / size in 15 bits. For sizes up to 2^14 that is just
// min(along, size):
//
// The share is floor(x - e + 1/2) with x = 2^15 along / size, where e < along / 2^15 is what rounding the
// reciprocal down costs. So share * size > 2^15 along - (size / 2^15 + 1/2) size, which rounds to at
// least `along` as long as the last term is at most 2^14; and for sizes below 2^15 it never rounds to more, because
// share * size is at most 2^15 along + size / 2.
inline void find_left(const U16* size, const U16* along, const I16* sign, U16* left) {
    for (int r = 0; r < 3; ++r) left[r] = vmin(along[r], size[r]);
    if (!any(as<I32>((size[0] | size[1] | size[2]) & 0xc000))) [[likely]] return;
    std::uint16_t s[3][kLanes16], a[3][kLanes16], l[3][kLanes16];
    std::int16_t negative[3][kLanes16];
    for (int r = 0; r < 3; ++r) {
        store(s[r], size[r]);
        store(a[r], along[r]);
        store(l[r], left[r]);
        store(negative[r], sign[r]);
        for (int i = 0; i < kLanes16; ++i) {
            if (s[r][i] <= 16384 || a[r][i] > s[r][i]) continue;
            const std::uint32_t share = ((1u << 30) / s[r][i] * a[r][i] + 16384) >> 15;
            l[r][i] = static_cast<std::uint16_t>((share * s[r][i] + 16384 + negative[r][i]) >> 15);
        }
        left[r] = load<U16>(l[r]);
    }
}

// ---- scales 1 to 3: 32-bit lanes --------------------------------------------------------------

// 2^30 / m rounded down, for m from 1600 to 32768, and no more than one part in 2^19 too small below.
inline U32 reciprocal(U32 m) {
    const U32 quotient = as<U32>(truncate(inverse(to_f32(as<I32>(m))) * 0x1.ffffep29f));
    return quotient - as<U32>((1u << 30) - quotient * m >= m);
}

// The same by the 15 leading bits of size. Where it has no more than 14, a share that is one part in
// 2^19 off still comes to min(along, size).
inline U32 left_of(U32 size, U32 along, I32 sign) {
    const U32 shift = as<U32>(vmax(as<I32>(bit_length(size)) - 15, I32{}));
    const U32 unit = shift_left(splat<U32>(1), shift);
    const U32 inverse = reciprocal(shift_right(size + (unit >> 1), shift));
    const U32 kept = vmin(along, size + (size >> 4) + 1);  // beyond, the share is 1
    const U32 product =
        inverse * shift_right(kept, shift) + shift_right(inverse * (kept & (unit - 1)), shift) + 16384u;
    const U32 share = vmin(product >> 15, splat<U32>(32768));
    return share * (size >> 15) + ((share * (size & 32767u) + 16384u + as<U32>(sign)) >> 15);
}

inline void find_left(const U32* size, const U32* along, const I32* sign, U32* left) {
    for (int b = 0; b < 3; ++b) left[b] = left_of(size[b], along[b], sign[b]);
}

}  // namespace acuity::ACUITY_ISA::adm
