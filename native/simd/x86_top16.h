// Leading bits without a count-leading-zeros instruction.
#pragma once

namespace acuity::ACUITY_ISA {

// A float keeps the 24 leading bits, exponent in front. Above 2^24 the bits below those would be
// rounded off, perhaps upwards, so they are cleared first; 16 are all we want.
inline TopBits top16(U32 v) {
    const U32 kept = v & (as<I32>(v) > 0xffffff ? splat<U32>(~0x7fu) : splat<U32>(~0u));
    const U32 f = as<U32>(to_f32(as<I32>(kept)));
    return {((f >> 8) & 0x7fffu) | 0x8000u, (f >> 23) - (127 + 15)};
}

// Bits up to the leading one of v < 2^31; 0 for 0. Clearing the bit below the leading one keeps the
// conversion from rounding up to the next power of two.
inline U32 bit_length(U32 v) {
    const I32 exponent = as<I32>(to_f32(as<I32>(v & ~(v >> 1)))) >> 23;
    return as<U32>(vmax(exponent - 126, I32{}));
}

}  // namespace acuity::ACUITY_ISA
