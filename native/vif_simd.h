// VIF with registers: the same integers as plain_vif.cpp, a strip of columns at a time.
//
// A strip is narrow enough for everything it touches to stay in the near caches. Rows enter it in
// pairs: each pair's samples and products are made once, interleaved for the pair multiplier, and
// kept in a ring until the vertical filter has passed. Four filtered rows come out at a time, so
// that each pair is loaded once for four rows; then the horizontal filter and the statistics run
// over them while they are hot.
//
// Products and sums wider than 16 bits travel as two words, upper and lower. Since filters are
// linear and their taps sum to 65536, a filtered 32-bit value v = 65536 h + l, rounded down by 16
// bits, is exactly filter(h) + (filter(l) + 32768 >> 16): no 64-bit arithmetic is needed.
#pragma once

#include "kernels.h"

namespace acuity::ACUITY_ISA {

inline constexpr std::uint16_t kVif0[] = {489,  935,  1640, 2640, 3896, 5274, 6547, 7455, 7784,
                                          7455, 6547, 5274, 3896, 2640, 1640, 935,  489};
inline constexpr std::uint16_t kVif1[] = {1244, 3663, 7925, 12590, 14692, 12590, 7925, 3663, 1244};
inline constexpr std::uint16_t kVif2[] = {3571, 16004, 26386, 16004, 3571};
inline constexpr std::uint16_t kVif3[] = {10904, 43728, 10904};

constexpr int kStrip = 512;                // output columns of a strip
constexpr int kPad = 32 + 8;               // words left of column 0 of a filtered row
constexpr int kSpan = kStrip + 96;         // words of a row buffer: pad, strip, halo, slack
constexpr int kQuad = 4;                   // rows filtered together
constexpr int kRing = 16;                  // row pairs kept; a power of two, at least ten
constexpr int kPlanes = 8;                 // mu1 mu2 and upper, lower words of xx yy xy
constexpr std::int32_t kSigmaNsq = 2 << 16;

// Two rows of the picture, every plane interleaved for the pair multiplier.
using RingSlot = std::uint16_t[kPlanes][2 * kSpan];

struct VifScratch {
    alignas(kAlign) RingSlot ring[kRing];
    alignas(kAlign) std::uint16_t rows[kQuad][kPlanes][kSpan];
};

inline int mirror(int i, int n) {
    if (n == 1) return 0;
    while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
    return i;
}

// kLanes16 samples from column x; beyond `end` the row is not ours to read.
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

inline const void* row_of(const Plane& plane, int y) {
    return static_cast<const char*>(plane.data) + y * plane.stride;
}

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
    for (int x = x0, at = 0; x < x1; x += kLanes16, at += 2 * kLanes16) {
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

// How a filter of K taps meets the pairs below it. The first pair starts on an even row at or above
// the first tap of the quad's first row.
template <int K>
struct Reach {
    static constexpr int half = K / 2;
    static constexpr int above = (half + 1) / 2 * 2;                       // rows above the quad
    static constexpr int pairs = (above + kQuad - 1 + half + 2) / 2;       // pairs a quad needs
    // The tap that row `row` of the first pair's numbering meets for output row q of the quad.
    static constexpr int tap(int row, int q) { return row - above - q + half; }
};

// The pairs a quad of rows needs, first to last.
struct QuadPairs {
    const RingSlot* slot[10];

    QuadPairs(const RingSlot* ring, int first, int pairs) {
        for (int p = 0; p < pairs; ++p) slot[p] = ring + ((first + p) & (kRing - 1));
    }
};

// Filter one register of columns of a plane for rows 0, Step, … of the quad.
template <const auto& Taps, int Step>
[[gnu::always_inline]] inline void dot_quad(const QuadPairs& pairs, int plane, int at, Wide* out) {
    using R = Reach<sizeof(Taps) / sizeof(Taps[0])>;
    Wide acc[kQuad] = {};
    unroll<R::pairs>([&](auto p) __attribute__((always_inline)) {
        const RowPair rows = load_pair((*pairs.slot[p])[plane] + at);
        unroll<kQuad / Step>([&](auto row) __attribute__((always_inline)) {
            constexpr int q = row * Step;
            dot_rows<tap_value<Taps>(R::tap(2 * p, q)), tap_value<Taps>(R::tap(2 * p + 1, q))>(acc[q], rows);
        });
    });
    for (int q = 0; q < kQuad; q += Step) out[q] = acc[q];
}

// 65536 A + B, rounded down by `shift` bits (1..16), where A and B lack kDotOffset.
inline U32 join_shifted(U32 a, U32 b, int shift) {
    const U32 lower = b + (kDotOffset + (1u << (shift - 1)));
    return ((a + kDotOffset) << (16 - shift)) + (lower >> shift);
}

inline void store_split(std::uint16_t* hi, std::uint16_t* lo, Wide sum_without_offset) {
    U16 h, l;
    split_biased(sum_without_offset, h, l);
    store(hi, h);
    store(lo, l);
}

template <class T, const auto& Taps>
inline void filter_quad(const QuadPairs& pairs, int columns, int shift_mu, int shift_sq, int row_at,
                        std::uint16_t (*rows)[kPlanes][kSpan]) {
    const std::uint32_t offset_mu = (sizeof(T) == 1 ? 0 : kDotOffset) + (1u << (shift_mu - 1));
    for (int x = 0; x < columns; x += kLanes16) {
        Wide sum[kQuad], low[kQuad];
        for (int plane = 0; plane < 2; ++plane) {
            dot_quad<Taps, 1>(pairs, plane, 2 * x, sum);
            for (int q = 0; q < kQuad; ++q) {
                store(rows[q][plane] + row_at + x, narrow((sum[q].a + offset_mu) >> shift_mu,
                                                          (sum[q].b + offset_mu) >> shift_mu) ^ kBias);
            }
        }
        for (int plane = 2; plane < kPlanes; plane += 2) {
            if constexpr (sizeof(T) == 1) {
                dot_quad<Taps, 1>(pairs, plane / 2 + 1, 2 * x, sum);
            } else {
                dot_quad<Taps, 1>(pairs, plane, 2 * x, sum);
                dot_quad<Taps, 1>(pairs, plane + 1, 2 * x, low);
                for (int q = 0; q < kQuad; ++q) {
                    sum[q].a = join_shifted(sum[q].a, low[q].a, shift_sq) - kDotOffset;
                    sum[q].b = join_shifted(sum[q].b, low[q].b, shift_sq) - kDotOffset;
                }
            }
            for (int q = 0; q < kQuad; ++q) {
                store_split(rows[q][plane] + row_at + x, rows[q][plane + 1] + row_at + x, sum[q]);
            }
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

struct Moments {
    U32 mu1, mu2, xx, yy, xy;
};

// The information of one register of pixels. `valid` lanes count.
template <bool Partial>
[[gnu::always_inline]] inline void add_pixels(const Moments& m, I32 valid, const double* gains, int n_gains, VifLanes& out) {
    const I32 s1 = as<I32>(m.xx - mul_round32(m.mu1, m.mu1));
    const I32 s2 = vmax(as<I32>(m.yy - mul_round32(m.mu2, m.mu2)), I32{});
    const I32 s12 = as<I32>(m.xy - mul_round32(m.mu1, m.mu2));

    I32 textured = s1 >= kSigmaNsq;
    I32 flat = ~textured;
    if constexpr (Partial) {
        textured &= valid;
        flat &= valid;
    }
    if (any(flat)) {
        out.num_flat += widen_sum(flat & s2);
        out.den_flat += count(flat);
    }
    if (!any(textured)) return;
    out.den_log += textured & (log2_q11(as<U32>(s1 + kSigmaNsq)) - 17 * 2048);

    const I32 related = textured & (s12 > 0) & (s2 > 0);
    if (!any(related)) return;
    const F64x2 f1 = to_f64(s1), f2 = to_f64(s2), f12 = to_f64(s12);
    const double eps = 65536 * 1.0e-10;
    const F64x2 g{f12.lo / (f1.lo + eps), f12.hi / (f1.hi + eps)};
    const I32 rest = vmax(to_i32({f2.lo - g.lo * f12.lo, f2.hi - g.hi * f12.hi}), I32{}) + kSigmaNsq;
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

// The horizontal filter over one vertically filtered row, and the statistics of its columns.
template <const auto& Taps>
inline void add_row(const std::uint16_t (*row)[kSpan], int columns, const double* gains, int n_gains,
                    VifLanes& out) {
    constexpr int k = sizeof(Taps) / sizeof(Taps[0]);
    for (int x = 0; x < columns; x += kLanes16) {
        Wide f[kPlanes];
        for (int p = 0; p < kPlanes; ++p) f[p] = dot_row<Taps>(row[p] + kPad - k / 2 + x);
        const auto moments = [&](auto half) {
            return Moments{half(f[0]), half(f[1]), half(f[2]) + ((half(f[3]) + 32768u) >> 16),
                           half(f[4]) + ((half(f[5]) + 32768u) >> 16),
                           half(f[6]) + ((half(f[7]) + 32768u) >> 16)};
        };
        const Moments a = moments([](const Wide& w) { return w.a; });
        const Moments b = moments([](const Wide& w) { return w.b; });
        if (columns - x >= kLanes16) {
            add_pixels<false>(a, I32{}, gains, n_gains, out);
            add_pixels<false>(b, I32{}, gains, n_gains, out);
        } else {
            add_pixels<true>(a, column_offsets(0) < columns - x, gains, n_gains, out);
            add_pixels<true>(b, column_offsets(1) < columns - x, gains, n_gains, out);
        }
    }
}

// ---- the whole scale --------------------------------------------------------------------------

// Reflect `half` columns over the picture's own edges; inside the picture the halo is already there.
inline void mirror_edges(std::uint16_t (*row)[kSpan], int half, bool left, bool right, int columns) {
    for (int p = 0; p < kPlanes; ++p) {
        std::uint16_t* v = row[p] + kPad;
        for (int f = 1; f <= half; ++f) {
            if (left) v[-f] = v[f];
            if (right) v[columns - 1 + f] = v[columns - 1 - f];
        }
    }
}

template <class T, const auto& Taps>
inline void vif_strip(const VifLevel& level, int x0, int x1, const double* gains, int n_gains,
                      VifScratch& s, VifSums& out) {
    using R = Reach<sizeof(Taps) / sizeof(Taps[0])>;
    const int width = level.ref.width, height = level.ref.height;
    const int c0 = x0 > 0 ? x0 - R::half : 0, c1 = x1 + R::half < width ? x1 + R::half : width;
    const int shift_mu = level.scale == 0 ? level.ref.depth : 16;
    const int shift_sq = level.scale == 0 ? 2 * (level.ref.depth - 8) : 16;
    VifLanes lanes;
    int made = -R::above / 2;  // pairs made so far, numbered by row / 2
    for (int y = 0; y < height; y += kQuad) {
        const int first = (y - R::above) / 2;
        for (; made < first + R::pairs; ++made) {
            make_pair<T>(level, 2 * made, c0, c1, s.ring[made & (kRing - 1)]);
        }
        filter_quad<T, Taps>(QuadPairs(s.ring, first, R::pairs), c1 - c0, shift_mu, shift_sq, kPad + c0 - x0, s.rows);
        for (int q = 0; q < kQuad && y + q < height; ++q) {
            mirror_edges(s.rows[q], R::half, x0 == 0, x1 == width, x1 - x0);
            add_row<Taps>(s.rows[q], x1 - x0, gains, n_gains, lanes);
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

inline void vif_statistic(const VifLevel& level, const double* gains, int n_gains, void* scratch,
                          VifSums& out) {
    using U8T = std::uint8_t;
    using U16T = std::uint16_t;
    switch (level.scale) {
        case 0:
            if (level.ref.depth == 8) return vif_level<U8T, kVif0>(level, gains, n_gains, scratch, out);
            return vif_level<U16T, kVif0>(level, gains, n_gains, scratch, out);
        case 1: return vif_level<U16T, kVif1>(level, gains, n_gains, scratch, out);
        case 2: return vif_level<U16T, kVif2>(level, gains, n_gains, scratch, out);
        default: return vif_level<U16T, kVif3>(level, gains, n_gains, scratch, out);
    }
}

// ---- halving ----------------------------------------------------------------------------------

template <class T>
inline void make_sample_pair(const Plane& in, int first_row, int x0, int x1, std::uint16_t* slot) {
    const T* a = static_cast<const T*>(row_of(in, mirror(first_row, in.height)));
    const T* b = static_cast<const T*>(row_of(in, mirror(first_row + 1, in.height)));
    const std::uint16_t bias = sizeof(T) == 1 ? 0 : kBias;
    for (int x = x0; x < x1; x += kLanes16, slot += 2 * kLanes16) {
        store_pair(slot, load_samples(a, x, x1) ^ bias, load_samples(b, x, x1) ^ bias);
    }
}

template <class T, const auto& Taps>
inline void halve_strip(const Plane& in, int shift, int x0, int x1, VifScratch& s,
                        std::uint16_t* out, std::ptrdiff_t out_stride) {
    constexpr int k = sizeof(Taps) / sizeof(Taps[0]);
    using R = Reach<k>;
    const int c0 = x0 > 0 ? x0 - R::half : 0;
    const int c1 = x1 + R::half < in.width ? x1 + R::half : in.width;
    const std::uint32_t offset = (sizeof(T) == 1 ? 0 : kDotOffset) + (1u << (shift - 1));
    int made = -R::above / 2;
    for (int y = 0; y + 1 < in.height; y += kQuad) {
        const int first = (y - R::above) / 2;
        for (; made < first + R::pairs; ++made) {
            make_sample_pair<T>(in, 2 * made, c0, c1, s.ring[made & (kRing - 1)][0]);
        }
        const QuadPairs pairs(s.ring, first, R::pairs);
        for (int x = 0; x < c1 - c0; x += kLanes16) {
            Wide sum[kQuad];
            dot_quad<Taps, 2>(pairs, 0, 2 * x, sum);
            for (int q = 0; q < kQuad; q += 2) {
                store(s.rows[q][0] + kPad + c0 - x0 + x,
                      narrow((sum[q].a + offset) >> shift, (sum[q].b + offset) >> shift) ^ kBias);
            }
        }
        for (int q = 0; q < kQuad && y + q + 1 < in.height; q += 2) {
            std::uint16_t* row = s.rows[q][0];
            mirror_edges(s.rows[q], R::half, x0 == 0, x1 == in.width, x1 - x0);
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
    auto& s = *static_cast<VifScratch*>(scratch);
    for (int x = 0; x < in.width; x += kStrip) {
        const int end = x + kStrip < in.width ? x + kStrip : in.width;
        halve_strip<T, Taps>(in, shift, x, end, s, out, out_stride);
    }
}

inline void vif_decimate(const Plane& in, int scale, void* scratch, std::uint16_t* out,
                         std::ptrdiff_t out_stride) {
    const int shift = scale == 0 ? in.depth : 16;
    switch (scale) {
        case 0:
            if (in.depth == 8) return halve<std::uint8_t, kVif1>(in, shift, scratch, out, out_stride);
            return halve<std::uint16_t, kVif1>(in, shift, scratch, out, out_stride);
        case 1: return halve<std::uint16_t, kVif2>(in, shift, scratch, out, out_stride);
        default: return halve<std::uint16_t, kVif3>(in, shift, scratch, out, out_stride);
    }
}

}  // namespace acuity::ACUITY_ISA
