// The information each place carries, and logarithms, for NEON: the same integers as information_simd.h.
//
// A logarithm needs its leading bits and a look-up. Vectors have no gather, and a polynomial takes two dozen
// instructions of the two vector pipes; loads and sums of single numbers run beside them.
#pragma once

#include "vif/log2.h"

namespace acuity::ACUITY_ISA::vif {

// The 16 leading bits of each lane 2^16 <= x < 2^31, one word after another, and how far each was shifted up to bit 31.
struct Leading {
    std::uint64_t words;
    int32x4_t up;

    [[gnu::always_inline]] explicit Leading(uint32x4_t x) {
        up = vreinterpretq_s32_u32(vclzq_u32(x));
        words = vget_lane_u64(vreinterpret_u64_u16(vshrn_n_u32(vshlq_u32(x, up), 16)), 0);
    }
    // log2 of the leading bits of a lane, as log2.h defines it, less kLog2Least.
    [[gnu::always_inline]] std::int32_t log(int lane) const {
        const std::uint64_t word = words >> (16 * lane);
        return (log2_steps.entry[(word >> 3) & 4095u] + static_cast<std::int32_t>(word & 7u)) >> 3;
    }
    [[gnu::always_inline]] std::int32_t logs() const { return (log(0) + log(1)) + (log(2) + log(3)); }
};

inline void logarithms(const std::uint32_t* x, int n, std::int32_t* out) {
    for (int i = 0; i < n; i += kLanes32) {
        const Leading leading(vld1q_u32(x + i));
        const I32 top{leading.log(0), leading.log(1), leading.log(2), leading.log(3)};
        store(out + i, top + (kLog2Least + 2048 * (16 - as<I32>(leading.up))));
    }
}

// What a register of places has logarithms of; without texture, total is the noise, and without relation, so are the
// others, which then add nothing.
template <int Gains>
struct Powers {
    uint32x4_t total, rest, signal[Gains];
};

// Sums of a row: of leading bits' logarithms, and of how far lanes were shifted up.
template <int Gains>
struct LogSums {
    std::int32_t den = 0, num[Gains] = {};
    int32x4_t den_up = vdupq_n_s32(0), num_up[Gains];

    LogSums() {
        for (auto& up : num_up) up = vdupq_n_s32(0);
    }
    [[gnu::always_inline]] void add(const Powers<Gains>& p) {
        const Leading total(p.total), rest(p.rest);
        den += total.logs();
        den_up = vaddq_s32(den_up, total.up);
        const std::int32_t rest_logs = rest.logs();
        for (int k = 0; k < Gains; ++k) {
            const Leading signal(p.signal[k]);
            num[k] += signal.logs() - rest_logs;
            num_up[k] = vaddq_s32(num_up[k], vsubq_s32(rest.up, signal.up));
        }
    }
    void add_to(VifLanes& out, int places) const {
        // Each place has kLog2Least + 2048 (16 - up), less the noise's 17 * 2048; a row is too short for 32 bits to overflow.
        out.den_log[0] += den + 2048 * (14 * places - vaddvq_s32(den_up));
        for (int k = 0; k < Gains; ++k) out.num_log[k][0] += num[k] + 2048 * vaddvq_s32(num_up[k]);
    }
};

// Numbers below 2^32 as doubles: 2^52 + v has v in its last bits, and the difference is exact.
inline F64x2 unsigned_f64(int32x4_t v) {
    const uint32x4_t upper = vdupq_n_u32(0x43300000u), x = vreinterpretq_u32_s32(v);
    return {as<F64>(vzip1q_u32(x, upper)) - 0x1p52, as<F64>(vzip2q_u32(x, upper)) - 0x1p52};
}

// Towards zero, 0 for what is negative.
inline uint32x4_t whole(F64 lo, F64 hi) {
    return vuzp1q_u32(vreinterpretq_u32_u64(vcvtq_u64_f64(reinterpret_cast<float64x2_t>(lo))),
                      vreinterpretq_u32_u64(vcvtq_u64_f64(reinterpret_cast<float64x2_t>(hi))));
}

inline F64 smaller(F64 a, F64 b) {
    return as<F64>(vminq_f64(reinterpret_cast<float64x2_t>(a), reinterpret_cast<float64x2_t>(b)));
}

// Logarithms are taken of the register before, while this one's divisions are under way. Negative variances and
// covariances read as large here: of such lanes nothing is used but `rest`, which then is 0.
template <int Gains>
inline void add_row(const SigmaRow& row, int columns, const double* gains, VifLanes& out) {
    const uint32x4_t noise = vdupq_n_u32(kVifNoise);
    LogSums<Gains> sums;
    Powers<Gains> before;
    int places = 0;
    for (int x = 0; x < columns; x += kLanes32) {
        const int32x4_t s1 = vld1q_s32(row.ref + x), s2 = vld1q_s32(row.dis + x), s12 = vld1q_s32(row.both + x);
        const uint32x4_t textured = vcgeq_s32(s1, vreinterpretq_s32_u32(noise));
        if (vminvq_s32(s1) < kVifNoise) {
            const I32 flat = as<I32>(vmvnq_u32(textured));
            out.num_flat += widen_sum(flat & as<I32>(s2));
            out.den_flat += count(flat);
            if (vmaxvq_s32(s1) < kVifNoise) continue;
        }
        const F64x2 f1 = unsigned_f64(s1), f2 = unsigned_f64(s2), f12 = unsigned_f64(s12);
        const F64x2 g{f12.lo / (f1.lo + kVifEpsilon), f12.hi / (f1.hi + kVifEpsilon)};
        if (places > 0) sums.add(before);
        places += kLanes32;
        const uint32x4_t related = vandq_u32(textured, vandq_u32(vcgtzq_s32(s12), vtstq_s32(s2, s2)));
        before.total = vaddq_u32(vandq_u32(textured, vreinterpretq_u32_s32(s1)), noise);
        before.rest = vaddq_u32(whole(f2.lo - g.lo * f12.lo, f2.hi - g.hi * f12.hi), noise);
        for (int k = 0; k < Gains; ++k) {
            const F64 limit = splat<F64>(gains[k]), lo = smaller(g.lo, limit), hi = smaller(g.hi, limit);
            before.signal[k] = vaddq_u32(vandq_u32(related, whole(lo * lo * f1.lo, hi * hi * f1.hi)), before.rest);
        }
    }
    if (places > 0) sums.add(before);
    sums.add_to(out, places);
}

}  // namespace acuity::ACUITY_ISA::vif
