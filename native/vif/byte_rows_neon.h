// VIF's vertical filter by dot products of bytes (ARMv8.2's UDOT): sixteen products an instruction, on both vector
// pipes, where products of words take four, on one.
//
// Products and taps are split into bytes. A byte's plane holds four rows side by side, so that a lane of 32 bits has what
// one column adds to a sum; sums of bytes of equal weight share an accumulator. Each is below 2 * 17 * 255 * 255 < 2^22,
// so none overflows, and weights are joined exactly.
#pragma once

#include "simd/filter.h"
#include "vif/table.h"

namespace acuity::ACUITY_ISA::vif {

constexpr int kGroup = 4;      // rows side by side
constexpr int kGroupRing = 8;  // groups kept; a power of two, at least those that a block of rows needs
constexpr int kPlanes = 8;     // two samples, and two bytes of three products

using GroupSlot = std::uint8_t[kPlanes][kGroup * kSpan];

// How a filter of K taps meets the groups of rows that four output rows need; the first of them starts at or above the
// first tap of the first row.
template <const auto& Taps>
struct GroupReach {
    static constexpr int k = sizeof(Taps) / sizeof(Taps[0]), half = k / 2;
    static constexpr int above = (half + kGroup - 1) / kGroup * kGroup;
    static constexpr int groups = (above - half + kGroup - 1 + k + kGroup - 1) / kGroup;
    static constexpr int block = groups + kRows / kGroup - 1;  // groups that a block of rows needs
    static constexpr int words = 2 * kGroup * groups, registers = (words + 3) / 4;

    // Byte `b` of the taps that output row q has for the rows of group g: a word.
    static constexpr std::uint32_t word(int b, int q, int g) {
        std::uint32_t bytes = 0;
        for (int r = 0; r < kGroup; ++r) {
            const int t = g * kGroup + r - (above - half + q);
            const std::uint32_t tap = t >= 0 && t < k ? Taps[t] : 0;
            bytes |= (tap >> (8 * b) & 255u) << (8 * r);
        }
        return bytes;
    }
    static constexpr int at(int b, int q, int g) { return (b * kGroup + q) * groups + g; }
    struct Words {
        alignas(16) std::uint32_t word[4 * registers] = {};
    };
    static constexpr Words make() {
        Words w;
        for (int b = 0; b < 2; ++b)
            for (int q = 0; q < kGroup; ++q)
                for (int g = 0; g < groups; ++g) w.word[at(b, q, g)] = word(b, q, g);
        return w;
    }
    static constexpr Words table = make();

    uint32x4_t lanes[registers];
    [[gnu::always_inline]] GroupReach() {
        for (int i = 0; i < registers; ++i) lanes[i] = vld1q_u32(table.word + 4 * i);
    }
};

// ---- from pictures to planes of bytes ---------------------------------------------------------

// Sixteen columns of a row from column x; the row must not be read beyond `end`.
inline uint8x16_t load_columns(const std::uint8_t* row, int x, int end) {
    if (end - x >= 16) return vld1q_u8(row + x);
    std::uint8_t part[16] = {};
    std::memcpy(part, row + x, end - x);
    return vld1q_u8(part);
}

// Four rows side by side: room for 64 bytes.
inline void store_group(std::uint8_t* to, const uint8x16_t (&row)[kGroup]) {
    const uint8x16x2_t even = vzipq_u8(row[0], row[2]), odd = vzipq_u8(row[1], row[3]);
    for (int h = 0; h < 2; ++h) {
        vst1q_u8(to + 32 * h, vzip1q_u8(even.val[h], odd.val[h]));
        vst1q_u8(to + 32 * h + 16, vzip2q_u8(even.val[h], odd.val[h]));
    }
}

inline void make_group(const VifLevel& level, int first_row, int x0, int x1, GroupSlot& slot) {
    const std::uint8_t *ref[kGroup], *dis[kGroup];
    for (int r = 0; r < kGroup; ++r) {
        const int y = mirror(first_row + r, level.ref.height);
        ref[r] = static_cast<const std::uint8_t*>(row_of(level.ref, y));
        dis[r] = static_cast<const std::uint8_t*>(row_of(level.dis, y));
    }
    // A strip's piece of a row is too short for the processor to notice that the next rows follow.
    const int next = first_row + 2 * kGroup <= level.ref.height && first_row >= 0 ? kGroup : 0;
    for (int x = x0, at = 0; x < x1; x += 16, at += 16 * kGroup) {
        uint8x16_t a[kGroup], b[kGroup];
        for (int r = 0; r < kGroup; ++r) {
            prefetch(ref[r] + x, next * level.ref.stride);
            prefetch(dis[r] + x, next * level.dis.stride);
            a[r] = load_columns(ref[r], x, x1);
            b[r] = load_columns(dis[r], x, x1);
        }
        const auto multiply = [&](const uint8x16_t (&p)[kGroup], const uint8x16_t (&q)[kGroup], int plane) {
            uint8x16_t low[kGroup], high[kGroup];
            for (int r = 0; r < kGroup; ++r) {
                const uint8x16_t first = vreinterpretq_u8_u16(vmull_u8(vget_low_u8(p[r]), vget_low_u8(q[r])));
                const uint8x16_t second = vreinterpretq_u8_u16(vmull_high_u8(p[r], q[r]));
                low[r] = vuzp1q_u8(first, second);
                high[r] = vuzp2q_u8(first, second);
            }
            store_group(slot[plane] + at, low);
            store_group(slot[plane + 1] + at, high);
        };
        store_group(slot[0] + at, a);
        store_group(slot[1] + at, b);
        multiply(a, a, 2);
        multiply(b, b, 4);
        multiply(a, b, 6);
    }
}

// ---- vertical ---------------------------------------------------------------------------------

// Sums of four columns for four output rows, byte by byte; [i] weighs 256^i.
template <const auto& Taps, int Bytes>
[[gnu::always_inline]] inline void dot_groups(const GroupReach<Taps>& taps, const GroupSlot* const* slot, int plane,
                                              int at, uint32x4_t (&sum)[kGroup][Bytes + 1]) {
    using R = GroupReach<Taps>;
    unroll<R::groups>([&](auto g) __attribute__((always_inline)) {
        unroll<Bytes>([&](auto b) __attribute__((always_inline)) {
            const uint8x16_t v = vld1q_u8((*slot[g])[plane + b] + kGroup * at);
            unroll<kGroup>([&](auto q) __attribute__((always_inline)) {
                unroll<2>([&](auto t) __attribute__((always_inline)) {
                    if constexpr (R::word(t, q, g) != 0) {
                        constexpr int lane = R::at(t, q, g);
                        sum[q][b + t] = vdotq_laneq_u32(sum[q][b + t], v, vreinterpretq_u8_u32(taps.lanes[lane / 4]),
                                                        lane % 4);
                    }
                });
            });
        });
    });
}

// The groups of rows of a strip, made as they are needed. Means are rounded by 8 bits, and sums of products are whole.
template <const auto& Taps>
class GroupRows {
    using R = GroupReach<Taps>;

  public:
    GroupRows(const VifLevel& level, int c0, int c1, void* ring)
        : level_(level), c0_(c0), c1_(c1), ring_(static_cast<GroupSlot*>(ring)) {}

    // Eight filtered rows from row y on, a multiple of eight.
    template <class Row>
    void filter(int y, int, int, int row_at, Row* rows) {
        const int first_group = (y - R::above) / kGroup;
        for (; made_ < first_group + R::block; ++made_)
            make_group(level_, kGroup * made_, c0_, c1_, ring_[made_ & (kGroupRing - 1)]);
        const GroupSlot* slot[R::block];
        for (int g = 0; g < R::block; ++g) slot[g] = ring_ + ((first_group + g) & (kGroupRing - 1));
        const R taps;
        for (int x = 0; x < c1_ - c0_; x += 4) {
            for (int first = 0; first < kRows; first += kGroup) {
                const GroupSlot* const* from = slot + first / kGroup;
                for (int p = 0; p < 2; ++p) {
                    uint32x4_t sum[kGroup][2] = {};
                    for (auto& s : sum) s[0] = vdupq_n_u32(128);
                    dot_groups<Taps, 1>(taps, from, p, x, sum);
                    for (int q = 0; q < kGroup; ++q)
                        vst1_u16(rows[first + q].mean[p] + row_at + x, vmovn_u32(vsraq_n_u32(sum[q][1], sum[q][0], 8)));
                }
                for (int m = 0; m < 3; ++m) {
                    uint32x4_t sum[kGroup][3] = {};
                    dot_groups<Taps, 2>(taps, from, 2 + 2 * m, x, sum);
                    for (int q = 0; q < kGroup; ++q) {
                        const uint32x4_t upper = vaddq_u32(sum[q][1], vshlq_n_u32(sum[q][2], 8));
                        rows[first + q].moment[m].store(row_at + x, as<U32>(vaddq_u32(sum[q][0], vshlq_n_u32(upper, 8))));
                    }
                }
            }
        }
    }

  private:
    const VifLevel& level_;
    int c0_, c1_;
    GroupSlot* ring_;
    int made_ = -R::above / kGroup;
};

}  // namespace acuity::ACUITY_ISA::vif
