// The information each place carries, from its variances.
#pragma once

#include "simd/filter.h"
#if !defined(ACUITY_ISA_NEON)
#include "vif/log2_simd.h"
#endif
#include "vif/table.h"

namespace acuity::ACUITY_ISA::vif {

// Variances of reference and distorted picture and their covariance, in Q16; columns in any order.
struct SigmaRow {
    alignas(kAlign) std::int32_t ref[kSpan], dis[kSpan], both[kSpan];
};

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

#if defined(ACUITY_ISA_NEON)
}  // namespace acuity::ACUITY_ISA::vif
#include "vif/information_neon.h"
namespace acuity::ACUITY_ISA::vif {
#else

// What a register of places has logarithms of; without texture, total is the noise, and without relation, so are the
// others, which then add nothing.
template <int Gains>
struct Powers {
    I32 total, rest, signal[Gains];

    void add_to(VifLanes& out) const {
        out.den_log += log2_q11(as<U32>(total)) - (17 * 2048 + kLogBias);
        const I32 log_rest = log2_q11(as<U32>(rest));
        for (int k = 0; k < Gains; ++k) out.num_log[k] += log2_q11(as<U32>(signal[k])) - log_rest;
    }
};

// Logarithms are taken of the register before, while this one's divisions are under way.
template <int Gains>
inline void add_row(const SigmaRow& row, int columns, const double* gains, VifLanes& sums) {
    VifLanes out = sums;
    Powers<Gains> before;
    bool due = false;
    for (int x = 0; x < columns; x += kLanes32) {
        const I32 s1 = load<I32>(row.ref + x), s2 = load<I32>(row.dis + x), s12 = load<I32>(row.both + x);
        const Lanes32 textured = greater(s1, splat<I32>(kVifNoise - 1));
        if (!all(textured)) {
            const I32 flat = s1 < kVifNoise;
            out.num_flat += widen_sum(flat & s2);
            out.den_flat += count(flat);
            if (!any(textured)) continue;
        }
        const Lanes32 related = textured & greater(s12, I32{}) & greater(s2, I32{});
        const F64x2 f1 = load_f64(row.ref + x), f2 = load_f64(row.dis + x), f12 = load_f64(row.both + x);
        const F64x2 g{f12.lo / (f1.lo + kVifEpsilon), f12.hi / (f1.hi + kVifEpsilon)};
        if (due) before.add_to(out);
        due = true;
        before.total = keep(textured, s1) + kVifNoise;
        before.rest = above_zero({f2.lo - g.lo * f12.lo, f2.hi - g.hi * f12.hi}) + kVifNoise;
        for (int k = 0; k < Gains; ++k) {
            const F64 limit = splat<F64>(gains[k]), lo = vmin(g.lo, limit), hi = vmin(g.hi, limit);
            before.signal[k] = keep(related, above_zero({lo * lo * f1.lo, hi * hi * f1.hi})) + before.rest;
        }
    }
    if (due) before.add_to(out);
    sums = out;
}

#endif

inline void add_row(const SigmaRow& row, int columns, const double* gains, int n_gains, VifLanes& out) {
    switch (n_gains) {
        case 1: return add_row<1>(row, columns, gains, out);
        case 2: return add_row<2>(row, columns, gains, out);
        case 3: return add_row<3>(row, columns, gains, out);
        default: return add_row<4>(row, columns, gains, out);
    }
}

}  // namespace acuity::ACUITY_ISA::vif
