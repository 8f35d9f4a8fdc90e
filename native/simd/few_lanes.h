// Functions for instruction sets without masks and compression: SSE4, AVX2 and NEON.
#pragma once

namespace acuity::ACUITY_ISA {

using Lanes32 = I32;
inline Lanes32 greater(I32 a, I32 b) { return a > b; }
inline I32 keep(Lanes32 on, I32 v) { return on & v; }
inline bool all(Lanes32 on) { return !any(~on); }

inline I32 above_zero(F64x2 v) { return vmax(to_i32(v), I32{}); }

inline F32 inverse(F32 v) { return 1.0f / v; }

inline I32 at_least(F32 v, F32 surely, F32 maybe, bool& unsure) {
    const I32 yes = v >= surely;
    unsure = any(yes ^ (v >= maybe));
    return yes;
}

inline int append_nonzero(std::int32_t* out, I32 v) {
    store(out, v);
    return any(v) ? kLanes32 : 0;
}

inline U32 shift_left(U32 v, U32 n) { return v << n; }
inline U32 shift_right(U32 v, U32 n) { return v >> n; }

#if defined(__x86_64__)

// ---- leading bits without a count-leading-zeros instruction -----------------------------------

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

// ---- overlapping registers of a row, straight from memory -------------------------------------

// The register of pairs that starts T pairs after p.
struct PairWindow {
    explicit PairWindow(const std::uint16_t* p) : p_(p) {}
    template <int T>
    I16 at() const {
        return load<I16>(p_ + 2 * T);
    }

  private:
    const std::uint16_t* p_;
};

#endif

}  // namespace acuity::ACUITY_ISA
