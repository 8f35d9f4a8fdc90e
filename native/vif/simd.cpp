// VIF with registers: the same integers as plain.cpp, a strip of columns at a time.
//
// Samples and their products are filtered vertically, then horizontally, and the statistics are taken
// while the filtered rows are hot. Products and sums wider than 16 bits travel as two words, upper and
// lower, where the multiplier takes words: filters are linear and their taps sum to 65536, so a
// filtered 32-bit value v = 65536 h + l, rounded down by 16 bits, is exactly
// filter(h) + (filter(l) + 32768 >> 16), and no 64-bit arithmetic is needed.
#include "simd/filter.h"
#include "vif/halve_simd.h"
#include "vif/log2.h"
#include "vif/table.h"

namespace acuity::ACUITY_ISA::vif {

// Four rows after the vertical filter: means, and second moments xx, yy, xy.
struct VifRow {
    alignas(kAlign) std::uint16_t mean[2][kSpan];
    SumRow<kSpan> moment[3];
};

// Variances of reference and distorted picture and their covariance, in Q16; columns in any order.
struct SigmaRow {
    alignas(kAlign) std::int32_t ref[kSpan], dis[kSpan], both[kSpan];
};

struct VifScratch {
    alignas(kAlign) RingSlot ring[kRing];
    VifRow rows[kQuad];
    SigmaRow sigmas;
};

// ---- vertical ---------------------------------------------------------------------------------

// Products need both rows of a pair, so planes are made for two rows at once. Bytes: samples and
// 16-bit products, five planes. Words: samples, and products as lower and upper words, eight planes.
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
        const U16 r0 = load_samples(ra, x, x1), r1 = load_samples(rb, x, x1);
        const U16 d0 = load_samples(da, x, x1), d1 = load_samples(db, x, x1);
        if constexpr (sizeof(T) == 1) {
            store_pair(slot[0] + at, r0, r1);
            store_pair(slot[1] + at, d0, d1);
            store_pair(slot[2] + at, (r0 * r0) ^ kBias, (r1 * r1) ^ kBias);
            store_pair(slot[3] + at, (d0 * d0) ^ kBias, (d1 * d1) ^ kBias);
            store_pair(slot[4] + at, (r0 * d0) ^ kBias, (r1 * d1) ^ kBias);
        } else {
            store_pair(slot[0] + at, r0 ^ kBias, r1 ^ kBias);
            store_pair(slot[1] + at, d0 ^ kBias, d1 ^ kBias);
            store_pair(slot[2] + at, mulhi(r0, r0) ^ kBias, mulhi(r1, r1) ^ kBias);
            store_pair(slot[3] + at, (r0 * r0) ^ kBias, (r1 * r1) ^ kBias);
            store_pair(slot[4] + at, mulhi(d0, d0) ^ kBias, mulhi(d1, d1) ^ kBias);
            store_pair(slot[5] + at, (d0 * d0) ^ kBias, (d1 * d1) ^ kBias);
            store_pair(slot[6] + at, mulhi(r0, d0) ^ kBias, mulhi(r1, d1) ^ kBias);
            store_pair(slot[7] + at, (r0 * d0) ^ kBias, (r1 * d1) ^ kBias);
        }
    }
}

// 65536 A + B, rounded down by `shift` bits (1..16), where A and B lack kDotOffset.
inline U32 join_shifted(U32 a, U32 b, int shift) {
    const U32 lower = b + (kDotOffset + (1u << (shift - 1)));
    return ((a + kDotOffset) << (16 - shift)) + (lower >> shift);
}

// Second moment m (xx, yy, xy) of a quad; still without kDotOffset.
template <class T, const auto& Taps>
[[gnu::always_inline]] inline void dot_moment(const QuadPairs& pairs, int m, int at, int shift, Wide* sum) {
    if constexpr (sizeof(T) == 1) {
        dot_quad<Taps, 1>(pairs, 2 + m, at, sum);
    } else {
        Wide low[kQuad];
        dot_quad<Taps, 1>(pairs, 2 + 2 * m, at, sum);
        dot_quad<Taps, 1>(pairs, 3 + 2 * m, at, low);
        for (int q = 0; q < kQuad; ++q) {
            sum[q].a = join_shifted(sum[q].a, low[q].a, shift) - kDotOffset;
            sum[q].b = join_shifted(sum[q].b, low[q].b, shift) - kDotOffset;
        }
    }
}

template <class T, const auto& Taps>
inline void filter_quad(const QuadPairs& pairs, int columns, int shift_mu, int shift_sq, int row_at,
                        VifRow* rows) {
    const std::uint32_t offset_mu = (sizeof(T) == 1 ? 0 : kDotOffset) + (1u << (shift_mu - 1));
    for (int x = 0; x < columns; x += kLanes16) {
        Wide sum[kQuad];
        for (int p = 0; p < 2; ++p) {
            dot_quad<Taps, 1>(pairs, p, 2 * x, sum);
            for (int q = 0; q < kQuad; ++q) {
                store(rows[q].mean[p] + row_at + x, narrow((sum[q].a + offset_mu) >> shift_mu,
                                                           (sum[q].b + offset_mu) >> shift_mu) ^ kBias);
            }
        }
        for (int m = 0; m < 3; ++m) {
            dot_moment<T, Taps>(pairs, m, 2 * x, shift_sq, sum);
            for (int q = 0; q < kQuad; ++q) rows[q].moment[m].store(row_at + x, sum[q]);
        }
    }
}

// ---- statistics -------------------------------------------------------------------------------

// log2 of lanes 2^16 <= x < 2^31, in 1/2048.
inline I32 log2_q11(U32 x) {
    const TopBits top = top16(x);
    const I32 entry = gather(log2_steps.entry, (top.bits >> 3) & 4095u);
    return ((entry + as<I32>(top.bits & 7u)) >> 3) + as<I32>(top.shift << 11);
}

// Sums in registers; 32-bit lanes are emptied before they can overflow.
struct VifLanes {
    I32 num_log[kMaxGains] = {};
    I32 den_log = {};
    I64 num_flat = {};
    std::int64_t den_flat = 0;

    void flush(int n_gains, VifSums& out) {
        for (int k = 0; k < n_gains; ++k) {
            out.num_log[k] += sum_lanes(num_log[k]);
            num_log[k] = I32{};
        }
        out.den_log += sum_lanes(den_log);
        den_log = I32{};
    }
};

// The information of one register of pixels.
[[gnu::always_inline]] inline void add_pixels(I32 s1, I32 s2, I32 s12, const double* gains, int n_gains,
                                              VifLanes& out) {
    const I32 textured = s1 >= kVifNoise;
    const I32 flat = ~textured;
    if (any(flat)) {
        out.num_flat += widen_sum(flat & s2);
        out.den_flat += count(flat);
    }
    if (!any(textured)) return;
    out.den_log += textured & (log2_q11(as<U32>(s1 + kVifNoise)) - 17 * 2048);

    const I32 related = textured & (s12 > 0) & (s2 > 0);
    if (!any(related)) return;
    const F64x2 f1 = to_f64(s1), f2 = to_f64(s2), f12 = to_f64(s12);
    const F64x2 g{f12.lo / (f1.lo + kVifEpsilon), f12.hi / (f1.hi + kVifEpsilon)};
    const I32 rest = vmax(to_i32({f2.lo - g.lo * f12.lo, f2.hi - g.hi * f12.hi}), I32{}) + kVifNoise;
    const I32 log_rest = log2_q11(as<U32>(rest));
    const auto numerator = [&](F64 lo, F64 hi) {
        const I32 gained = to_i32({lo * lo * f1.lo, hi * hi * f1.hi});
        return related & (log2_q11(as<U32>(gained + rest)) - log_rest);
    };
    // Most gains are below their limit: then all limits share one answer.
    const I32 unlimited = numerator(g.lo, g.hi);
    for (int k = 0; k < n_gains; ++k) {
        if (any_above(g, gains[k])) {
            const F64 limit = splat<F64>(gains[k]);
            out.num_log[k] += numerator(vmin(g.lo, limit), vmin(g.hi, limit));
        } else {
            out.num_log[k] += unlimited;
        }
    }
}

// The horizontal filter over one vertically filtered row. Lanes after the last column become 0.
template <const auto& Taps>
inline void find_sigmas(const VifRow& row, int columns, SigmaRow& out) {
    constexpr int half = sizeof(Taps) / sizeof(Taps[0]) / 2;
    for (int x = 0; x < columns; x += kLanes16) {
        const int at = kPad - half + x;
        const Wide mu1 = dot_row<Taps>(row.mean[0] + at), mu2 = dot_row<Taps>(row.mean[1] + at);
        const Wide xx = row.moment[0].template filter<Taps>(at);
        const Wide yy = row.moment[1].template filter<Taps>(at);
        const Wide xy = row.moment[2].template filter<Taps>(at);
        const auto keep = [&](int part, U32 m1, U32 m2, U32 xx, U32 yy, U32 xy) {
            const I32 valid = column_offsets(part) < columns - x;
            const int to = x + part * kLanes32;
            store(out.ref + to, valid & as<I32>(xx - mul_round32(m1, m1)));
            store(out.dis + to, valid & vmax(as<I32>(yy - mul_round32(m2, m2)), I32{}));
            store(out.both + to, valid & as<I32>(xy - mul_round32(m1, m2)));
        };
        keep(0, mu1.a, mu2.a, xx.a, yy.a, xy.a);
        keep(1, mu1.b, mu2.b, xx.b, yy.b, xy.b);
    }
}

// The statistics of a row. A pass of its own: divisions and look-ups take long, but many can be under
// way at once as long as nothing else comes between them.
inline void add_row(const SigmaRow& row, int columns, const double* gains, int n_gains, VifLanes& out) {
    for (int x = 0; x < columns; x += kLanes32) {
        add_pixels(load<I32>(row.ref + x), load<I32>(row.dis + x), load<I32>(row.both + x), gains, n_gains, out);
    }
}

// ---- the whole scale --------------------------------------------------------------------------

template <class T, const auto& Taps>
inline void vif_strip(const VifLevel& level, int x0, int x1, const double* gains, int n_gains,
                      VifScratch& s, VifSums& out) {
    using R = Reach<sizeof(Taps) / sizeof(Taps[0])>;
    const int width = level.ref.width, height = level.ref.height;
    const int c0 = x0 > 0 ? x0 - R::half : 0, c1 = x1 + R::half < width ? x1 + R::half : width;
    const int shift_mu = level.scale == 0 ? level.ref.depth : 16;
    const int shift_sq = level.scale == 0 ? 2 * (level.ref.depth - 8) : 16;
    const int padded = (x1 - x0 + kLanes16 - 1) / kLanes16 * kLanes16;
    VifLanes lanes;
    int made = -R::above / 2;  // pairs made so far, numbered by row / 2
    for (int y = 0; y < height; y += kQuad) {
        const int first = (y - R::above) / 2;
        for (; made < first + R::pairs; ++made) {
            make_pair<T>(level, 2 * made, c0, c1, s.ring[made & (kRing - 1)]);
        }
        filter_quad<T, Taps>(QuadPairs(s.ring, first, R::pairs), c1 - c0, shift_mu, shift_sq,
                             kPad + c0 - x0, s.rows);
        for (int q = 0; q < kQuad && y + q < height; ++q) {
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
const VifKernels vif_kernels = {.scratch_bytes = vif::scratch_bytes, .statistic = vif::statistic, .decimate = vif::decimate};

}  // namespace acuity::ACUITY_ISA
