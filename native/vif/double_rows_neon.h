// VIF's vertical filter in double precision, for NEON: its multiply-add runs on both vector pipes, that of words on one,
// and a product of words needs two of these.
//
// Products are below 2^32 and taps sum to 2^16, so all sums are whole numbers below 2^48: exact, and so they are when
// taps are divided by the power of two by which a sum is rounded down.
#pragma once

#include "simd/filter.h"
#include "vif/table.h"

namespace acuity::ACUITY_ISA::vif {

constexpr int kTogether = 4;  // columns, and rows, filtered together

// The latest rows of a strip, those of four columns side by side.
template <int Rows>
struct RowRing {
    alignas(kAlign) double product[3][kSpan / kTogether][Rows][kTogether];
    alignas(kAlign) std::uint16_t sample[2][kSpan / kTogether][Rows][kTogether];
};

// Two rows, of which the first is even: they fill whole lines of the cache.
template <class T, int Rows>
inline void make_row_pair(const VifLevel& level, int first_row, int x0, int x1, RowRing<Rows>& ring) {
    const T *ref[2], *dis[2];
    for (int h = 0; h < 2; ++h) {
        const int y = mirror(first_row + h, level.ref.height);
        ref[h] = static_cast<const T*>(row_of(level.ref, y));
        dis[h] = static_cast<const T*>(row_of(level.dis, y));
    }
    // A strip's piece of a row is too short for the processor to notice that the next row follows.
    const int next = first_row + 3 < level.ref.height && first_row >= 0 ? 2 : 0;
    for (int x = x0, at = 0; x < x1; x += kLanes16, at += kLanes16 / kTogether) {
        for (int h = 0; h < 2; ++h) {
            prefetch(ref[h] + x, next * level.ref.stride);
            prefetch(dis[h] + x, next * level.dis.stride);
            const int row = (first_row + h) & (Rows - 1);
            const auto r = reinterpret_cast<uint16x8_t>(load_samples(ref[h], x, x1));
            const auto d = reinterpret_cast<uint16x8_t>(load_samples(dis[h], x, x1));
            const auto multiply = [&](int m, uint16x8_t a, uint16x8_t b) __attribute__((always_inline)) {
                vst1q_f64_x2(ring.product[m][at][row], exact_doubles(vmull_u16(vget_low_u16(a), vget_low_u16(b))));
                vst1q_f64_x2(ring.product[m][at + 1][row], exact_doubles(vmull_high_u16(a, b)));
            };
            vst1_u16(ring.sample[0][at][row], vget_low_u16(r));
            vst1_u16(ring.sample[0][at + 1][row], vget_high_u16(r));
            vst1_u16(ring.sample[1][at][row], vget_low_u16(d));
            vst1_u16(ring.sample[1][at + 1][row], vget_high_u16(d));
            multiply(0, r, r);
            multiply(1, d, d);
            multiply(2, r, d);
        }
    }
}

// Products of four columns for four output rows, and beside them samples, whose multiplier is one of the pipes alone;
// row[] says where the rows are that the first of them needs, and those after.
template <const auto& Taps, bool Samples>
[[gnu::always_inline]] inline void dot_doubles(const LaneTaps<Taps>& taps, double start, const int* row,
                                               const double (*product)[kTogether],
                                               const std::uint16_t (*sample)[kTogether],
                                               float64x2_t (&sum)[kTogether][2], uint32x4_t (&mean)[kTogether]) {
    using L = LaneTaps<Taps>;
    for (int q = 0; q < kTogether; ++q) {
        sum[q][0] = sum[q][1] = vdupq_n_f64(start);
        mean[q] = vdupq_n_u32(0);
    }
    unroll<L::k + kTogether - 1>([&](auto r) __attribute__((always_inline)) {
        const double* p = product[row[r]];
        const float64x2_t a = vld1q_f64(p), b = vld1q_f64(p + 2);
        const uint16x4_t v = Samples ? vld1_u16(sample[row[r]]) : vdup_n_u16(0);
        unroll<kTogether>([&](auto q) __attribute__((always_inline)) {
            if constexpr (r - q >= 0 && r - q < L::k) {
                constexpr int lane = L::lane(r - q);
                sum[q][0] = vfmaq_laneq_f64(sum[q][0], a, taps.doubles[lane / 2], lane % 2);
                sum[q][1] = vfmaq_laneq_f64(sum[q][1], b, taps.doubles[lane / 2], lane % 2);
                if constexpr (Samples) mean[q] = vmlal_laneq_u16(mean[q], v, taps.words[lane / 8], lane % 8);
            }
        });
    });
}

// The rows of a strip, made as they are needed.
template <class T, const auto& Taps>
class DoubleRows {
    static constexpr int kTaps = sizeof(Taps) / sizeof(Taps[0]), kHalf = kTaps / 2;
    static constexpr int kAbove = (kHalf + 1) / 2 * 2, kKept = kHalf > 4 ? 32 : 16;
    static_assert(kKept >= kAbove + kRows + kHalf);

  public:
    using Ring = RowRing<kKept>;

    DoubleRows(const VifLevel& level, int c0, int c1, void* ring)
        : level_(level), c0_(c0), c1_(c1), ring_(*static_cast<Ring*>(ring)) {}

    // Eight filtered rows from row y on, a multiple of eight.
    template <class Row>
    void filter(int y, int shift_mu, int shift_sq, int row_at, Row* rows) {
        for (; made_ < y + kRows + kHalf; made_ += 2) make_row_pair<T>(level_, made_, c0_, c1_, ring_);
        LaneTaps<Taps> taps;
        for (auto& tap : taps.doubles) tap = vmulq_n_f64(tap, 1.0 / (1 << shift_sq));
        const double half = shift_sq > 0 ? 0.5 : 0.0;
        for (int first = 0; first < kRows; first += kTogether) {
            int row[kTaps + kTogether - 1];
            for (int r = 0; r < kTaps + kTogether - 1; ++r) row[r] = (y + first - kHalf + r) & (kKept - 1);
            for (int x = 0; x < c1_ - c0_; x += kTogether) {
                const int at = x / kTogether;
                float64x2_t sum[kTogether][2];
                uint32x4_t mean[kTogether];
                for (int m = 0; m < 3; ++m) {
                    if (m < 2) {
                        dot_doubles<Taps, true>(taps, half, row, ring_.product[m][at], ring_.sample[m][at], sum, mean);
                    } else {
                        dot_doubles<Taps, false>(taps, half, row, ring_.product[m][at], nullptr, sum, mean);
                    }
                    for (int q = 0; q < kTogether; ++q) {
                        double* to = rows[first + q].moment[m].value + row_at + x;
                        vst1q_f64(to, vrndmq_f64(sum[q][0]));
                        vst1q_f64(to + 2, vrndmq_f64(sum[q][1]));
                        if (m == 2) continue;
                        vst1_u16(rows[first + q].mean[m] + row_at + x,
                                 vmovn_u32(vrshlq_u32(mean[q], vdupq_n_s32(-shift_mu))));
                    }
                }
            }
        }
    }

  private:
    const VifLevel& level_;
    int c0_, c1_;
    Ring& ring_;
    int made_ = -kAbove;
};

}  // namespace acuity::ACUITY_ISA::vif
