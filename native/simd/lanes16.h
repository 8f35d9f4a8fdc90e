// Comparisons of unsigned words, to select lanes, and to go from one lane that is set to the next.
#pragma once

#include <bit>

#include "simd/isa.h"

namespace acuity::ACUITY_ISA {

// `Lanes` says which lanes a comparison holds for. `lane_bits` has one bit for each of them, kBitsPerLane
// apart, the first lane lowest; `keep` clears the others.
#if defined(ACUITY_ISA_AVX512)
using Lanes = __mmask32;
using LaneBits = std::uint32_t;
constexpr int kBitsPerLane = 1;
inline Lanes equal(U16 a, U16 b) { return _mm512_cmpeq_epi16_mask(raw(a), raw(b)); }
inline Lanes less(U16 a, U16 b) { return _mm512_cmplt_epu16_mask(raw(a), raw(b)); }
inline U16 select(Lanes on, U16 a, U16 b) { return as<U16>(_mm512_mask_blend_epi16(on, raw(b), raw(a))); }
inline U16 keep(Lanes on, U16 v) { return as<U16>(_mm512_maskz_mov_epi16(on, raw(v))); }
inline LaneBits lane_bits(Lanes on) { return on; }
inline U32 widen_low(U16 v) { return as<U32>(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(raw(v)))); }
inline U32 widen_high(U16 v) { return as<U32>(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(raw(v), 1))); }
#else
using Lanes = I16;
inline Lanes equal(U16 a, U16 b) { return a == b; }
inline Lanes less(U16 a, U16 b) { return a < b; }
inline U16 select(Lanes on, U16 a, U16 b) { return on ? a : b; }
inline U16 keep(Lanes on, U16 v) { return v & as<U16>(on); }
#endif

#if defined(ACUITY_ISA_AVX2)
using LaneBits = std::uint32_t;
constexpr int kBitsPerLane = 2;
inline LaneBits lane_bits(Lanes on) { return static_cast<LaneBits>(_mm256_movemask_epi8(raw(on))) & 0x55555555u; }
inline U32 widen_low(U16 v) { return as<U32>(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(raw(v)))); }
inline U32 widen_high(U16 v) { return as<U32>(_mm256_cvtepu16_epi32(_mm256_extracti128_si256(raw(v), 1))); }
#elif defined(ACUITY_ISA_SSE4)
using LaneBits = std::uint32_t;
constexpr int kBitsPerLane = 2;
inline LaneBits lane_bits(Lanes on) { return static_cast<LaneBits>(_mm_movemask_epi8(raw(on))) & 0x5555u; }
inline U32 widen_low(U16 v) { return as<U32>(_mm_cvtepu16_epi32(raw(v))); }
inline U32 widen_high(U16 v) { return as<U32>(_mm_unpackhi_epi16(raw(v), _mm_setzero_si128())); }
#elif defined(ACUITY_ISA_NEON)
using LaneBits = std::uint64_t;
constexpr int kBitsPerLane = 8;
inline LaneBits lane_bits(Lanes on) {
    const uint8x8_t narrow = vmovn_u16(reinterpret_cast<uint16x8_t>(on));
    return vget_lane_u64(vreinterpret_u64_u8(narrow), 0) & 0x0101010101010101u;
}
inline U32 widen_low(U16 v) { return as<U32>(vmovl_u16(vget_low_u16(reinterpret_cast<uint16x8_t>(v)))); }
inline U32 widen_high(U16 v) { return as<U32>(vmovl_high_u16(reinterpret_cast<uint16x8_t>(v))); }
#endif

inline int first_lane(LaneBits bits) { return std::countr_zero(bits) / kBitsPerLane; }

// Appends the number of each lane that is set, counted from `start`, and says how many. Room for two registers
// more is wanted: writing more than is there costs less than guessing how many there are.
inline int append_lanes(std::int32_t* out, LaneBits bits, int start) {
#if defined(ACUITY_ISA_AVX512)
    const __m512i numbers = _mm512_add_epi32(
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), _mm512_set1_epi32(start));
    const auto low = static_cast<__mmask16>(bits), high = static_cast<__mmask16>(bits >> 16);
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(low, numbers));
    out += std::popcount(low);
    const __m512i upper = _mm512_add_epi32(numbers, _mm512_set1_epi32(16));
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(high, upper));
    return std::popcount(bits);
#else
    const int count = std::popcount(bits);
    for (int i = 0; i < count; i += 4)
        for (int j = 0; j < 4; ++j, bits &= bits - 1) out[i + j] = start + first_lane(bits);
    return count;
#endif
}

}  // namespace acuity::ACUITY_ISA
