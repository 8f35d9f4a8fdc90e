// A comparison of 16-bit lanes as bits of a number, to go from one lane that is set to the next.
#pragma once

#include "simd/isa.h"

namespace acuity::ACUITY_ISA {

// One bit for each lane that is set, kBitsPerLane apart, the first lane lowest.
#if defined(ACUITY_ISA_AVX512)
constexpr int kBitsPerLane = 1;
using LaneBits = std::uint32_t;
inline LaneBits lane_bits(I16 mask) { return _mm512_movepi16_mask(raw(mask)); }
#elif defined(ACUITY_ISA_AVX2)
constexpr int kBitsPerLane = 2;
using LaneBits = std::uint32_t;
inline LaneBits lane_bits(I16 mask) { return static_cast<LaneBits>(_mm256_movemask_epi8(raw(mask))) & 0x55555555u; }
#elif defined(ACUITY_ISA_SSE4)
constexpr int kBitsPerLane = 2;
using LaneBits = std::uint32_t;
inline LaneBits lane_bits(I16 mask) { return static_cast<LaneBits>(_mm_movemask_epi8(raw(mask))) & 0x5555u; }
#else
constexpr int kBitsPerLane = 8;
using LaneBits = std::uint64_t;
inline LaneBits lane_bits(I16 mask) {
    const uint8x8_t narrow = vmovn_u16(reinterpret_cast<uint16x8_t>(mask));
    return vget_lane_u64(vreinterpret_u64_u8(narrow), 0) & 0x0101010101010101u;
}
#endif

inline int first_lane(LaneBits bits) { return __builtin_ctzll(bits) / kBitsPerLane; }

}  // namespace acuity::ACUITY_ISA
