// VIF with registers: the same integers as plain.cpp, a strip of columns at a time.
//
// Samples and their products are filtered vertically, then horizontally, and the statistics are taken
// while the filtered rows are hot. Products and sums wider than 16 bits travel as two words, upper and
// lower, where the multiplier takes words: filters are linear and their taps sum to 65536, so a
// filtered 32-bit value v = 65536 h + l, rounded down by 16 bits, is exactly
// filter(h) + (filter(l) + 32768 >> 16), and no 64-bit arithmetic is needed.
#include "simd/filter.h"
#include "vif/halve_simd.h"
#include "vif/information_simd.h"
#include "vif/table.h"
#if defined(ACUITY_ISA_NEON)
#include "vif/rows_neon.h"
#endif

namespace acuity::ACUITY_ISA::vif {

// A row after the vertical filter: means, and second moments xx, yy, xy.
struct VifRow {
    alignas(kAlign) std::uint16_t mean[2][kSpan];
    SumRow<kSpan> moment[3];
};

struct VifScratch {
#if defined(ACUITY_ISA_NEON)
    StripRing ring;
#else
    alignas(kAlign) RingSlot ring[kRing];
#endif
    VifRow rows[kRows];
    SigmaRow sigmas;
};

// ---- vertical ---------------------------------------------------------------------------------

#if !defined(ACUITY_ISA_NEON)

// Bytes are kept as samples, and multiplied when they are filtered: that takes less time than to load products, of
// which a near cache has no room for as many rows. Of words, products are kept as well, as lower and upper words.
template <class T>
inline void make_pair(const VifLevel& level, int first_row, int x0, int x1,
                      std::uint16_t (*slot)[2 * kSpan]) {
    const int ya = mirror(first_row, level.ref.height), yb = mirror(first_row + 1, level.ref.height);
    const T* ra = static_cast<const T*>(row_of(level.ref, ya));
    const T* rb = static_cast<const T*>(row_of(level.ref, yb));
    const T* da = static_cast<const T*>(row_of(level.dis, ya));
    const T* db = static_cast<const T*>(row_of(level.dis, yb));
    // A strip's piece of a row is too short for the processor to notice that the next row follows.
    const int next = first_row + 3 < level.ref.height && first_row >= 0 ? 2 : 0;
    const std::ptrdiff_t ref_next = next * level.ref.stride, dis_next = next * level.dis.stride;
    for (int x = x0, at = 0; x < x1; x += kLanes16, at += 2 * kLanes16) {
        prefetch(ra + x, ref_next);
        prefetch(rb + x, ref_next);
        prefetch(da + x, dis_next);
        prefetch(db + x, dis_next);
        const RowPair r = pair_rows(load_samples(ra, x, x1), load_samples(rb, x, x1));
        const RowPair d = pair_rows(load_samples(da, x, x1), load_samples(db, x, x1));
        if constexpr (sizeof(T) == 1) {
            store_pair(slot[0] + at, r, 0);
            store_pair(slot[1] + at, d, 0);
        } else {
            store_pair(slot[0] + at, r, kBias);
            store_pair(slot[1] + at, d, kBias);
            store_pair(slot[2] + at, {mulhi(r.first, r.first), mulhi(r.second, r.second)}, kBias);
            store_pair(slot[3] + at, {r.first * r.first, r.second * r.second}, kBias);
            store_pair(slot[4] + at, {mulhi(d.first, d.first), mulhi(d.second, d.second)}, kBias);
            store_pair(slot[5] + at, {d.first * d.first, d.second * d.second}, kBias);
            store_pair(slot[6] + at, {mulhi(r.first, d.first), mulhi(r.second, d.second)}, kBias);
            store_pair(slot[7] + at, {r.first * d.first, r.second * d.second}, kBias);
        }
    }
}

// Second moment m (xx, yy, xy) of a block, rounded down by `shift` bits; still without kDotOffset.
template <class T, const auto& Taps>
[[gnu::always_inline]] inline void dot_moment(const BlockPairs& pairs, int m, int at, int shift, Wide (&sum)[kRows]) {
    if constexpr (sizeof(T) == 1) {
        const auto product = [&](int p, int part) {
            return (pairs.part(p, m == 1, at, part) * pairs.part(p, m != 0, at, part)) ^ kBias;
        };
        fill(sum, 0);
        dot_columns<Taps, Reach<sizeof(Taps) / sizeof(Taps[0])>, kRows, 1>(product, sum);
    } else {
        // 65536 upper + lower. The lower sum, below 2^32 with what rounds it, begins the upper one where that needs no
        // shift; else the offset that is to be missing goes up with it.
        Wide lower[kRows];
        fill(lower, kDotOffset + (1u << (shift - 1)));
        dot_block<Taps, 1>(pairs, 3 + 2 * m, at, lower);
        for (Wide& v : lower) v = {v.a >> shift, v.b >> shift};
        if (shift == 16) {
            std::memcpy(sum, lower, sizeof lower);
            return dot_block<Taps, 1>(pairs, 2 + 2 * m, at, sum);
        }
        fill(sum, kDotOffset >> (16 - shift));
        dot_block<Taps, 1>(pairs, 2 + 2 * m, at, sum);
        for (int q = 0; q < kRows; ++q)
            sum[q] = {(sum[q].a << (16 - shift)) + lower[q].a, (sum[q].b << (16 - shift)) + lower[q].b};
    }
}

template <class T, const auto& Taps>
inline void filter_rows(const BlockPairs& pairs, int columns, int shift_mu, int shift_sq, int row_at, VifRow* rows) {
    // What rounds the means, what signed samples lack, and what biases the words that come out.
    const std::uint32_t offset_mu =
        (1u << (shift_mu - 1)) + (sizeof(T) == 1 ? 0 : kDotOffset) - (std::uint32_t{kBias} << shift_mu);
    for (int x = 0; x < columns; x += kLanes16) {
        Wide sum[kRows];
        for (int p = 0; p < 2; ++p) {
            fill(sum, offset_mu);
            dot_block<Taps, 1>(pairs, p, 2 * x, sum);
            for (int q = 0; q < kRows; ++q) store(rows[q].mean[p] + row_at + x, words_from(sum[q], shift_mu));
        }
        for (int m = 0; m < 3; ++m) {
            dot_moment<T, Taps>(pairs, m, 2 * x, shift_sq, sum);
            for (int q = 0; q < kRows; ++q) rows[q].moment[m].store(row_at + x, sum[q]);
        }
    }
}

// The rows of a strip, made as they are needed, in pairs.
template <class T, const auto& Taps>
class StripRows {
    using R = Reach<sizeof(Taps) / sizeof(Taps[0])>;

  public:
    StripRows(const VifLevel& level, int c0, int c1, RingSlot (*ring)[kRing])
        : level_(level), c0_(c0), c1_(c1), ring_(*ring) {}

    // Eight filtered rows from row y on, a multiple of eight.
    void filter(int y, int shift_mu, int shift_sq, int row_at, VifRow* rows) {
        const int first = (y - R::above) / 2;
        for (; made_ < first + R::pairs; ++made_)
            make_pair<T>(level_, 2 * made_, c0_, c1_, ring_[made_ & (kRing - 1)]);
        filter_rows<T, Taps>(BlockPairs(ring_, first, R::pairs), c1_ - c0_, shift_mu, shift_sq, row_at, rows);
    }

  private:
    const VifLevel& level_;
    int c0_, c1_;
    RingSlot* ring_;
    int made_ = -R::above / 2;  // pairs made so far, numbered by row / 2
};

#endif

// ---- statistics -------------------------------------------------------------------------------

// The horizontal filter over one vertically filtered row. Lanes after the last column become 0.
template <const auto& Taps>
inline void find_sigmas(const VifRow& row, int columns, SigmaRow& out) {
    constexpr int half = sizeof(Taps) / sizeof(Taps[0]) / 2;
    for (int x = 0; x < columns; x += kLanes16) {
        const int at = kPad - half + x;
        Wide mu[2], sum[3];
        filter_across<Taps>(row.mean, row.moment, at, mu, sum);
        const auto keep = [&](int part, U32 m1, U32 m2, U32 xx, U32 yy, U32 xy) {
            I32 ref = as<I32>(xx - mul_round32(m1, m1)), both = as<I32>(xy - mul_round32(m1, m2));
            I32 dis = vmax(as<I32>(yy - mul_round32(m2, m2)), I32{});
            if (columns - x < kLanes16) {
                const I32 valid = column_offsets(part) < columns - x;
                ref &= valid, dis &= valid, both &= valid;
            }
            const int to = x + part * kLanes32;
            store(out.ref + to, ref);
            store(out.dis + to, dis);
            store(out.both + to, both);
        };
        keep(0, mu[0].a, mu[1].a, sum[0].a, sum[1].a, sum[2].a);
        keep(1, mu[0].b, mu[1].b, sum[0].b, sum[1].b, sum[2].b);
    }
}

// ---- the whole scale --------------------------------------------------------------------------

template <class T, const auto& Taps>
inline void vif_strip(const VifLevel& level, int x0, int x1, const double* gains, int n_gains,
                      VifScratch& s, VifSums& out) {
    using R = Reach<sizeof(Taps) / sizeof(Taps[0])>;
    const int width = level.ref.width, height = level.ref.height;
    const int c0 = x0 > 0 ? x0 - R::half : 0, c1 = x1 + R::half < width ? x1 + R::half : width;
    constexpr bool bytes = sizeof(T) == 1, words = sizeof(Taps) == sizeof(kVifFilter0);  // of the video's own
    const int shift_mu = bytes ? 8 : words ? level.ref.depth : 16;
    const int shift_sq = bytes ? 0 : words ? 2 * (level.ref.depth - 8) : 16;
    const int padded = (x1 - x0 + kLanes16 - 1) / kLanes16 * kLanes16;
    VifLanes lanes;
    StripRows<T, Taps> source(level, c0, c1, &s.ring);
    for (int y = 0; y < height; y += kRows) {
        source.filter(y, shift_mu, shift_sq, kPad + c0 - x0, s.rows);
        for (int q = 0; q < kRows && y + q < height; ++q) {
            const bool left = x0 == 0, right = c1 == width;  // the next strip may be narrower than the halo
            for (auto& mean : s.rows[q].mean) mirror_edges(mean + kPad, R::half, left, right, c1 - x0);
            for (auto& m : s.rows[q].moment) m.mirror(kPad, R::half, left, right, c1 - x0);
            find_sigmas<Taps>(s.rows[q], x1 - x0, s.sigmas);
            add_row(s.sigmas, padded, gains, n_gains, lanes);
            lanes.den_flat -= padded - (x1 - x0);  // lanes after the last column look flat
        }
        lanes.flush(n_gains, out);
    }
    out.num_flat += sum_lanes(lanes.num_flat);
    out.den_flat += lanes.den_flat;
}

template <class T, const auto& Taps>
inline void vif_level(const VifLevel& level, const double* gains, int n_gains, void* scratch,
                      VifSums& out) {
    auto& s = *static_cast<VifScratch*>(scratch);
    out = {};
    for (int x = 0; x < level.ref.width; x += kStrip) {
        const int end = x + kStrip < level.ref.width ? x + kStrip : level.ref.width;
        vif_strip<T, Taps>(level, x, end, gains, n_gains, s, out);
    }
}

inline void statistic(const VifLevel& level, const double* gains, int n_gains, void* scratch,
                          VifSums& out) {
    using U8T = std::uint8_t;
    using U16T = std::uint16_t;
    switch (level.scale) {
        case 0:
            if (level.ref.depth == 8) return vif_level<U8T, kVifFilter0>(level, gains, n_gains, scratch, out);
            return vif_level<U16T, kVifFilter0>(level, gains, n_gains, scratch, out);
        case 1: return vif_level<U16T, kVifFilter1>(level, gains, n_gains, scratch, out);
        case 2: return vif_level<U16T, kVifFilter2>(level, gains, n_gains, scratch, out);
        default: return vif_level<U16T, kVifFilter3>(level, gains, n_gains, scratch, out);
    }
}

inline std::size_t scratch_bytes(int, int) {
    return sizeof(VifScratch) > sizeof(HalveScratch) ? sizeof(VifScratch) : sizeof(HalveScratch);
}

}  // namespace acuity::ACUITY_ISA::vif

namespace acuity::ACUITY_ISA {

extern const VifKernels vif_kernels;
const VifKernels vif_kernels = {.scratch_bytes = vif::scratch_bytes,
                                .statistic = vif::statistic,
                                .decimate = vif::decimate,
                                .logarithms = vif::logarithms};

}  // namespace acuity::ACUITY_ISA
