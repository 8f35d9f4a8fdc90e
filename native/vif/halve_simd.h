// Halving a picture for VIF's next scale: low-pass, then every other row and column. Only the rows and
// columns that are kept are filtered.
#pragma once

#include "simd/filter.h"
#include "vif/table.h"

namespace acuity::ACUITY_ISA::vif {

struct HalveScratch {
    alignas(kAlign) RingSlot ring[kRing];
    alignas(kAlign) std::uint16_t rows[kRows][kSpan];
};

template <class T>
inline void make_sample_pair(const Plane& in, int first_row, int x0, int x1, std::uint16_t* slot) {
    const T* a = static_cast<const T*>(row_of(in, mirror(first_row, in.height)));
    const T* b = static_cast<const T*>(row_of(in, mirror(first_row + 1, in.height)));
    for (int x = x0; x < x1; x += kLanes16, slot += 2 * kLanes16) {
        store_pair(slot, pair_rows(load_samples(a, x, x1), load_samples(b, x, x1)), sizeof(T) == 1 ? 0 : kBias);
    }
}

template <class T, const auto& Taps>
inline void halve_strip(const Plane& in, int shift, int x0, int x1, HalveScratch& s,
                        std::uint16_t* out, std::ptrdiff_t out_stride) {
    constexpr int k = sizeof(Taps) / sizeof(Taps[0]);
    using R = Reach<k>;
    const int c0 = x0 > 0 ? x0 - R::half : 0;
    const int c1 = x1 + R::half < in.width ? x1 + R::half : in.width;
    const std::uint32_t offset =
        (1u << (shift - 1)) + (sizeof(T) == 1 ? 0 : kDotOffset) - (std::uint32_t{kBias} << shift);
    int made = -R::above / 2;
    for (int y = 0; y + 1 < in.height; y += kRows) {
        const int first = (y - R::above) / 2;
        for (; made < first + R::pairs; ++made) {
            make_sample_pair<T>(in, 2 * made, c0, c1, s.ring[made & (kRing - 1)][0]);
        }
        const BlockPairs pairs(s.ring, first, R::pairs);
        for (int x = 0; x < c1 - c0; x += kLanes16) {
            Wide sum[kRows];
            fill(sum, offset);
            dot_block<Taps, 2>(pairs, 0, 2 * x, sum);
            for (int q = 0; q < kRows; q += 2) store(s.rows[q] + kPad + c0 - x0 + x, words_from(sum[q], shift));
        }
        for (int q = 0; q < kRows && y + q + 1 < in.height; q += 2) {
            std::uint16_t* row = s.rows[q];
            mirror_edges(row + kPad, R::half, x0 == 0, c1 == in.width, c1 - x0);
            auto* dst = reinterpret_cast<std::uint16_t*>(reinterpret_cast<char*>(out) +
                                                         (y + q) / 2 * out_stride) + x0 / 2;
            const int n = (x1 - x0) / 2;
            for (int x = 0; x < n; x += kLanes32) {
                const U32 v = (dot_row_even<Taps>(row + kPad - R::half + 2 * x) + 32768u) >> 16;
                if (n - x >= kLanes32) {
                    store_low16(dst + x, v);
                } else {
                    std::uint16_t part[kLanes32];
                    store_low16(part, v);
                    std::memcpy(dst + x, part, (n - x) * sizeof part[0]);
                }
            }
        }
    }
}

template <class T, const auto& Taps>
inline void halve(const Plane& in, int shift, void* scratch, std::uint16_t* out,
                  std::ptrdiff_t out_stride) {
    auto& s = *static_cast<HalveScratch*>(scratch);
    for (int x = 0; x < in.width; x += kStrip) {
        const int end = x + kStrip < in.width ? x + kStrip : in.width;
        halve_strip<T, Taps>(in, shift, x, end, s, out, out_stride);
    }
}

inline void decimate(const Plane& in, int scale, void* scratch, std::uint16_t* out,
                         std::ptrdiff_t out_stride) {
    const int shift = scale == 0 ? in.depth : 16;
    switch (scale) {
        case 0:
            if (in.depth == 8) return halve<std::uint8_t, kVifFilter1>(in, shift, scratch, out, out_stride);
            return halve<std::uint16_t, kVifFilter1>(in, shift, scratch, out, out_stride);
        case 1: return halve<std::uint16_t, kVifFilter2>(in, shift, scratch, out, out_stride);
        default: return halve<std::uint16_t, kVifFilter3>(in, shift, scratch, out, out_stride);
    }
}

}  // namespace acuity::ACUITY_ISA::vif
