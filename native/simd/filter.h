// Filtering a picture in strips: rows enter in pairs, eight filtered rows come out at a time.
//
// A strip is narrow enough for everything it touches to stay in the near caches. Each pair of rows is
// interleaved once for the pair multiplier and kept in a ring until the vertical filter has passed;
// filtering a block of rows together loads each pair once for eight rows.
#pragma once

#include "core/kernels.h"
#include "simd/isa.h"

namespace acuity::ACUITY_ISA {

constexpr int kStrip = 512;             // output columns of a strip
constexpr int kPad = 32 + 8;            // samples left of column 0 of a filtered row
constexpr int kSpan = kStrip + 96;      // samples of a row buffer: pad, strip, halo, slack
constexpr int kRows = 8;                // rows filtered together, a block
constexpr int kRing = 16;               // row pairs kept; a power of two, at least twelve
constexpr int kRingPlanes = 8;

// Two rows of the picture, every plane interleaved for the pair multiplier.
using RingSlot = std::uint16_t[kRingPlanes][2 * kSpan];

inline int mirror(int i, int n) {
    if (n == 1) return 0;
    while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
    return i;
}

// kLanes16 samples from column x; the row must not be read beyond `end`.
template <class T>
inline U16 load_samples(const T* row, int x, int end) {
    T part[kLanes16] = {};
    const T* p = row + x;
    if (end - x < kLanes16) {
        std::memcpy(part, p, (end - x) * sizeof(T));
        p = part;
    }
    if constexpr (sizeof(T) == 1) {
        return widen_u8(p);
    } else {
        return load<U16>(p);
    }
}

// Two registers of pairs; room for 2 * kLanes16 words.
inline void store_pair(std::uint16_t* slot, RowPair rows, std::uint16_t bias) {
    store(slot, rows.first ^ bias);
    store(slot + kLanes16, rows.second ^ bias);
}

// The same beginning for all sums of a block.
inline void fill(Wide (&sums)[kRows], std::uint32_t v) {
    for (Wide& sum : sums) sum = {splat<U32>(v), splat<U32>(v)};
}

// Prefetches memory that will be read soon.
inline void prefetch(const void* p, std::ptrdiff_t bytes) {
    __builtin_prefetch(static_cast<const char*>(p) + bytes);
}

inline const void* row_of(const Plane& plane, int y) {
    return static_cast<const char*>(plane.data) + y * plane.stride;
}

// How a filter of K taps meets the pairs below it. The first pair starts on an even row at or above
// the first tap of the block's first row.
template <int K>
struct Reach {
    static constexpr int half = K / 2;
    static constexpr int above = (half + 1) / 2 * 2;                       // rows above the block
    static constexpr int pairs = (above + kRows - 1 + half + 2) / 2;       // pairs a block needs
    // The tap that row `row` of the first pair's numbering meets for output row q of the block.
    static constexpr int tap(int row, int q) { return row - above - q + half; }
};

// The pairs a block of rows needs, first to last.
struct BlockPairs {
    const RingSlot* slot[12];

    BlockPairs(const RingSlot* ring, int first, int pairs) {
        for (int p = 0; p < pairs; ++p) slot[p] = ring + ((first + p) & (kRing - 1));
    }

    // One of the two registers in which a pair has kLanes16 columns of a plane.
    U16 part(int p, int plane, int at, int part) const {
        return load<U16>((*slot[p])[plane] + at + part * kLanes16);
    }
};

// Filters one register of columns of a plane, adding to rows 0, Step, … of the block.
template <const auto& Taps, int Step>
[[gnu::always_inline]] inline void dot_block(const BlockPairs& pairs, int plane, int at, Wide* out) {
    dot_columns<Taps, Reach<sizeof(Taps) / sizeof(Taps[0])>, kRows, Step>(
        [&](int p, int part) { return pairs.part(p, plane, at, part); }, out);
}

}  // namespace acuity::ACUITY_ISA
