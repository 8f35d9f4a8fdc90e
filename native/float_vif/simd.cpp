// VIF with registers, the same sums as plain.cpp: four rows at a time are filtered down, then across, and
// become the statistic's terms at once. Each output adds up its taps in their order, as the plain code does.
#include <algorithm>

#include "float_vif/simd_resample.h"
#include "float_vif/table.h"
#include "simd/float_rows.h"

namespace acuity::ACUITY_ISA {

namespace float_vif {

constexpr int kBlock = 4;    // rows filtered together
constexpr int kStretch = 16;  // registers of a row that are filtered before the statistic looks at them
constexpr int kMoments = 5;  // ref, dis, ref*ref, dis*dis, ref*dis

// ---- scratch ------------------------------------------------------------------------------------

// Rows with room for a window's half before and after them.
struct Memory {
    float *ref_ring, *dis_ring;
    float* columns[kMoments][kBlock];  // filtered down
    float* terms[1 + kMaxGains][kBlock];
    float* split[2];  // every second value of a row
    float* taps;      // the window between zeros
    std::size_t bytes;

    static int kept_rows(int taps) { return taps + 2 * kBlock; }

    Memory(void* block, int width, int taps) {
        Carver carver(block);
        const std::size_t pad = (static_cast<std::size_t>(taps) / 2 + kLanes32) / kLanes32 * kLanes32;
        const std::size_t room = row_room(width) + 2 * pad;
        const auto row = [&] {
            auto* p = static_cast<float*>(carver.bytes(room * sizeof(float)));
            return p == nullptr ? nullptr : p + pad;
        };
        ref_ring = static_cast<float*>(carver.bytes(FloatRows::bytes(width, kept_rows(taps))));
        dis_ring = static_cast<float*>(carver.bytes(FloatRows::bytes(width, kept_rows(taps))));
        for (auto& moment : columns)
            for (float*& p : moment) p = row();
        for (auto& term : terms)
            for (float*& p : term) p = row();
        for (float*& p : split) p = row();
        this->taps = static_cast<float*>(carver.bytes(sizeof(float) * static_cast<std::size_t>(taps + 2 * kBlock)));
        bytes = carver.used();
    }
};

inline void mirror_row(float* row, int half, int width) { mirror_edges(row, half, true, true, width); }

// The rows a block's windows reach, from its first row's first tap on.
struct Window {
    const float *ref[kFloatVifTaps + kBlock - 1], *dis[kFloatVifTaps + kBlock - 1];

    Window(FloatRows& ref_rows, FloatRows& dis_rows, int first, int taps, int height) {
        const int half = taps / 2;
        for (int k = 0; k < taps + kBlock - 1; ++k) {
            const int y = reflect(std::min(first - half + k, height - 1 + half), height);
            ref[k] = ref_rows.at(y);
            dis[k] = dis_rows.at(y);
        }
    }
};

// ---- down ---------------------------------------------------------------------------------------

// Filters kBlock rows of all moments. A window of a usual size knows its taps; others stand between kBlock - 1
// zeros on either side, so that rows which a window doesn't reach may be offered to it: 0 adds nothing to a sum.
template <int Fixed>
inline void filter_down(const Window& w, const float* taps, int count, int width, const Memory& m) {
    for (int x = 0; x < width; x += kLanes32) {
        F32 sums[kMoments][kBlock] = {};
        const auto add_row = [&](int k, auto&& wanted) __attribute__((always_inline)) {
            const F32 r = load<F32>(w.ref[k] + x), d = load<F32>(w.dis[k] + x);
            const F32 moments[kMoments] = {r, d, r * r, d * d, r * d};
            unroll<kBlock>([&](auto q) __attribute__((always_inline)) {
                if (!wanted(q)) return;
                const F32 tap = splat<F32>(taps[k - q]);
                unroll<kMoments>([&](auto i) __attribute__((always_inline)) { sums[i][q] += tap * moments[i]; });
            });
        };
        if constexpr (Fixed != 0) {
            unroll<Fixed + kBlock - 1>([&](auto k) __attribute__((always_inline)) {
                add_row(k, [&](auto q) __attribute__((always_inline)) { return k >= q && k - q < Fixed; });
            });
        } else {
            for (int k = 0; k < count + kBlock - 1; ++k)
                add_row(k, [](auto) __attribute__((always_inline)) { return true; });
        }
        unroll<kMoments>([&](auto i) __attribute__((always_inline)) {
            unroll<kBlock>([&](auto q) __attribute__((always_inline)) { store(m.columns[i][q] + x, sums[i][q]); });
        });
    }
}

// ---- the statistic ------------------------------------------------------------------------------

// log2, off by a few units of the last place in just the reference's way. v is at least 1, or not a number.
inline F32 log2_of(F32 v) {
    constexpr float kPolynomial[] = {-0.012671635276421f, 0.064841182402670f, -0.157048836463065f, 0.257167726303123f,
                                     -0.353800560300520f, 0.480131410397451f, -0.721314327952201f, 1.442694803896991f};
    const I32 bits = as<I32>(v);
    const F32 fraction = as<F32>((bits & 0x007FFFFF) | 0x3F800000) - 1.0f;
    F32 sum = splat<F32>(kPolynomial[0]);
    unroll<7>([&](auto i) __attribute__((always_inline)) { sum = sum * fraction + kPolynomial[i + 1]; });
    return to_f32(((bits & 0x7F800000) >> 23) - 127) + sum * fraction;
}

// log2(1 + a / b), the quotient in double precision.
inline F32 log2_ratio(F32 a, F64x2 b) {
    const F64x2 wide = to_f64(a);
    return log2_of(to_f32(F64x2{1.0 + wide.lo / b.lo, 1.0 + wide.hi / b.hi}));
}

struct Statistic {
    const FloatVifNoise& noise;
    const float* gains;
    int n_gains;
    F64 variance;

    void operator()(const F32 (&filtered)[kMoments], int x, float* const* num, float* den) const {
        constexpr float kEpsilon = 1.0e-10f;
        const F32 zero{}, mu1 = filtered[0], mu2 = filtered[1];
        F32 ref = vmax(filtered[2] - mu1 * mu1, zero);
        const F32 dis = vmax(filtered[3] - mu2 * mu2, zero);
        const F32 both = filtered[4] - mu1 * mu2;
        F32 gain = both / (ref + kEpsilon);
        F32 rest = dis - gain * both;
        const I32 no_ref = ref < kEpsilon, no_dis = dis < kEpsilon;
        gain = no_ref | no_dis ? zero : gain;
        rest = no_dis ? zero : (no_ref ? dis : rest);
        ref = no_ref ? zero : ref;
        rest = gain < zero ? dis : rest;
        gain = vmax(gain, zero);
        rest = vmax(rest, splat<F32>(kEpsilon));

        const I32 flat = ref < noise.flat_below;
        const F32 flat_num = 1.0f - dis * noise.flat_slope;
        const F64x2 wide = to_f64(rest);
        const F64x2 noisy = {wide.lo + variance, wide.hi + variance};
        for (int i = 0; i < n_gains; ++i) {
            const F32 limited = vmin(gain, splat<F32>(gains[i]));
            const F32 log = log2_ratio(limited * limited * ref, noisy);
            store(num[i] + x, flat ? flat_num : (both < zero ? zero : log));
        }
        // A product by an exact inverse rounds as the quotient does.
        const F32 log = noise.inverse != 0.0f ? log2_of(1.0f + ref * noise.inverse)
                                              : log2_ratio(ref, F64x2{variance, variance});
        store(den + x, flat ? splat<F32>(1.0f) : log);
    }
};

// Filters a row of all moments across and stores the statistic's terms. Terms are made of a stretch of filtered
// values at a time: their long chains of operations overlap only where nothing else stands between them.
template <int Fixed>
inline void filter_across(const float* const (&columns)[kMoments], const float* taps, int count, int width,
                          const Statistic& statistic, float* const* num, float* den) {
    const int n = Fixed != 0 ? Fixed : count, half = n / 2;
    F32 filtered[kStretch][kMoments];
    for (int start = 0; start < width; start += kStretch * kLanes32) {
        const int vectors = std::min(kStretch, (width - start + kLanes32 - 1) / kLanes32);
        for (int v = 0; v < vectors; ++v) {
            const int x = start + v * kLanes32 - half;
            F32 sums[kMoments] = {};
            for (int k = 0; k < n; ++k) {
                const F32 tap = splat<F32>(taps[k]);
                unroll<kMoments>([&](auto i) __attribute__((always_inline)) {
                    sums[i] += tap * load<F32>(columns[i] + x + k);
                });
            }
            unroll<kMoments>([&](auto i) __attribute__((always_inline)) { filtered[v][i] = sums[i]; });
        }
        for (int v = 0; v < vectors; ++v) statistic(filtered[v], start + v * kLanes32, num, den);
    }
}

// ---- the next scale -----------------------------------------------------------------------------

// Filters a row down and across and keeps every second value. `rows` are those the window reaches.
inline void halve_row(const float* const* rows, const float* taps, int count, int width, const Memory& m, float* out) {
    const int half = count / 2;
    float* column = m.columns[0][0];
    for (int x = 0; x < width; x += kLanes32) {
        F32 sum{};
        for (int k = 0; k < count; ++k) sum += splat<F32>(taps[k]) * load<F32>(rows[k] + x);
        store(column + x, sum);
    }
    mirror_row(column, half, width);
    const int reach = (half + 2) / 2;
    for (int i = -reach; 2 * i < width + half; i += kLanes32) {
        const F32 a = load<F32>(column + 2 * i), b = load<F32>(column + 2 * i + kLanes32);
        store(m.split[0] + i, even_of(a, b));
        store(m.split[1] + i, odd_of(a, b));
    }
    for (int x = 0; x < width / 2; x += kLanes32) {
        F32 sum{};
        for (int k = 0; k < count; ++k) {
            const int from = k - half;
            sum += splat<F32>(taps[k]) * load<F32>(m.split[from & 1] + x + (from >> 1));
        }
        store(out + x, sum);
    }
}

inline void halve_block(const FloatVifScale& s, const Window& w, int first, const Memory& m) {
    for (int y = first; y < first + kBlock && y / 2 < s.ref.height / 2; y += 2) {
        const int skip = s.taps / 2 - s.low_pass_taps / 2 + y - first;
        const std::ptrdiff_t at = s.low_stride * (y / 2);
        halve_row(w.ref + skip, s.low_pass, s.low_pass_taps, s.ref.width, m, s.ref_low + at);
        halve_row(w.dis + skip, s.low_pass, s.low_pass_taps, s.ref.width, m, s.dis_low + at);
    }
}

// ---- one scale ----------------------------------------------------------------------------------

// Terms of a block's rows, summed: num by gain limit, then den.
template <int Fixed>
inline void sum_block(const FloatVifScale& s, const Window& w, int rows, const Statistic& statistic, const Memory& m,
                      FloatVifSums& out) {
    const int width = s.ref.width, half = s.taps / 2;
    filter_down<Fixed>(w, m.taps + kBlock - 1, s.taps, width, m);
    for (int q = 0; q < rows; ++q) {
        const float* columns[kMoments];
        float* num[kMaxGains];
        for (int i = 0; i < kMoments; ++i) {
            mirror_row(m.columns[i][q], half, width);
            columns[i] = m.columns[i][q];
        }
        for (int i = 0; i < statistic.n_gains; ++i) num[i] = m.terms[1 + i][q];
        filter_across<Fixed>(columns, s.window, s.taps, width, statistic, num, m.terms[0][q]);
    }
    for (int i = 0; i < statistic.n_gains; ++i) {
        // Eight sums at once keep the adders busy; the denominator's count the first time.
        const float* both[2 * kBlock];
        for (int q = 0; q < kBlock; ++q) {
            both[q] = m.terms[1 + i][q < rows ? q : 0];
            both[kBlock + q] = m.terms[0][q < rows ? q : 0];
        }
        float sums[2 * kBlock];
        sum_rows(both, 0, width, sums);
        for (int q = 0; q < rows; ++q) {
            out.num[i] += sums[q];
            if (i == 0) out.den += sums[kBlock + q];
        }
    }
}

void scale(const FloatVifScale& s, const FloatVifNoise& noise, const float* gains, int n_gains, void* scratch,
           FloatVifSums& out) {
    const Memory m(scratch, s.ref.width, s.taps);
    std::fill_n(m.taps, s.taps + 2 * (kBlock - 1), 0.0f);
    std::copy_n(s.window, s.taps, m.taps + kBlock - 1);
    FloatRows ref(s.ref, m.ref_ring, Memory::kept_rows(s.taps)), dis(s.dis, m.dis_ring, Memory::kept_rows(s.taps));
    const Statistic statistic{noise, gains, n_gains, splat<F64>(noise.variance)};
    const auto sum = s.taps == 17 ? sum_block<17> : s.taps == 9 ? sum_block<9> : s.taps == 5 ? sum_block<5>
                     : s.taps == 3 ? sum_block<3> : sum_block<0>;
    out = {};
    for (int y = 0; y < s.ref.height; y += kBlock) {
        const Window w(ref, dis, y, s.taps, s.ref.height);
        if (s.statistic) sum(s, w, std::min(kBlock, s.ref.height - y), statistic, m, out);
        if (s.low_pass_taps != 0) halve_block(s, w, y, m);
    }
}

std::size_t scratch_bytes(int width, int, int taps) { return Memory(nullptr, width, taps).bytes; }

}  // namespace float_vif

extern const FloatVifKernels float_vif_kernels;
const FloatVifKernels float_vif_kernels = {
    .scratch_bytes = float_vif::scratch_bytes,
    .scale = float_vif::scale,
    .resample_bytes = float_vif::resample_bytes,
    .resample = float_vif::resample,
};

}  // namespace acuity::ACUITY_ISA
