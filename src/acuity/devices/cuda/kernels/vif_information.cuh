// VIF's second half: what each place tells, from windowed means and products of both pictures.
#pragma once
#include "pictures.cuh"

constexpr int kMaxGains = 4;                  // gain limits served by one pass
constexpr i32 kNoise = 2 << 16;               // below this variance (2.0 in Q16) a place counts as flat
constexpr double kEpsilon = 65536 * 1.0e-10;  // keeps the gain finite; part of the definition
constexpr int kLog2Groups = 4096;

// Four places of a lane, as the filters leave them: means in Q24 of an 8-bit sample (Q16 of a deeper one's upper
// byte), products in Q16.
struct Places {
    u32 ref[4], dis[4], ref_ref[4], dis_dis[4], ref_dis[4];
};

// Sums over a lane's places, the logarithms in 1/2048. Those of signals and noise have a double's exponents, which
// are 1023 too high; in their difference that is gone.
struct Tally {
    u32 total, noise, signal[kMaxGains];
    u64 flat_dis;
    u32 flat;
};

constexpr double k2To52 = 4503599627370496.0;

// a / b, correctly rounded, for normal numbers whose quotient is normal: without the branches of the operator, so
// that several run at once.
__device__ __forceinline__ double quotient(double a, double b) {
#if defined(__CUDA_ARCH__)
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(b));
    double e = __fma_rn(-b, y, 1.0);
    e = __fma_rn(e, e, e);
    y = __fma_rn(y, e, y);
    e = __fma_rn(-b, y, 1.0);
    y = __fma_rn(y, e, y);
    const double q = __dmul_rn(a, y);
    return __fma_rn(__fma_rn(-b, q, a), y, q);
#else
    return a / b;
#endif
}

// log2 of a whole number >= 2^15, in 1/2048, by its 16 leading bits, as of a double: 2048 * 1023 too high. Eight
// neighbouring mantissas share an entry of `steps`, so that (entry + high bits) / 16 steps up where the logarithm does.
__device__ __forceinline__ u32 log2_q11(double n, const u16* steps) {
    const u32 high = static_cast<u32>(__double2hiint(n));
    return ((high >> 5) + steps[(high >> 8) & (kLog2Groups - 1)]) >> 4;
}

__device__ __forceinline__ i32 less_means(u32 product, u32 a, u32 b) {
    return static_cast<i32>(product - static_cast<u32>((static_cast<u64>(a) * b + (1u << 31)) >> 32));
}

__device__ __forceinline__ void add_places(const Places& p, const bool (&inside)[4], const u16* steps,
                                           const double (&limits)[kMaxGains], int n_limits, Tally& tally) {
    i32 ref[4], dis[4], both[4];
    bool tells[4], any = false;
    for (int i = 0; i < 4; ++i) {
        ref[i] = less_means(p.ref_ref[i], p.ref[i], p.ref[i]);
        dis[i] = max(less_means(p.dis_dis[i], p.dis[i], p.dis[i]), 0);
        both[i] = less_means(p.ref_dis[i], p.ref[i], p.dis[i]);
        const bool varies = ref[i] >= kNoise;
        if (inside[i] && !varies) {
            tally.flat_dis += static_cast<u32>(dis[i]);
            tally.flat += 1;
        }
        tells[i] = inside[i] && varies;
        any |= tells[i];
    }
    if (!__any_sync(0xFFFFFFFFu, any)) return;
    // What doesn't count is computed all the same: a branch for each place would keep them from running at once.
    double gain[4], variance[4], noise[4];  // the noise less 2^52
    for (int i = 0; i < 4; ++i) {
        variance[i] = ref[i];
        // log2(1 + variance / noise), the noise being 2^17
        const u32 total = log2_q11(variance[i] + kNoise, steps);
        if (tells[i]) tally.total += total - 2048 * (1023 + 17);
        tells[i] = tells[i] && both[i] > 0 && dis[i] > 0;
        const double covariance = both[i];
        gain[i] = quotient(covariance, variance[i] + kEpsilon);
        const double rest = dis[i] - gain[i] * covariance;
        // Rounding towards zero above 2^52 drops the fraction. Below zero nothing is left.
        const double whole = __dadd_rz(__double2hiint(rest) < 0 ? 0.0 : rest, k2To52 + kNoise);
        noise[i] = whole - 2 * k2To52;
        const u32 log = log2_q11(whole - k2To52, steps);
        if (tells[i]) tally.noise += log;
    }
#pragma unroll
    for (int g = 0; g < kMaxGains; ++g) {
        if (g >= n_limits) break;
        for (int i = 0; i < 4; ++i) {
            const double limited = gain[i] < limits[g] ? gain[i] : limits[g];
            const double signal = __dadd_rz(limited * limited * variance[i], k2To52) + noise[i];
            const u32 log = log2_q11(signal, steps);
            if (tells[i]) tally.signal[g] += log;
        }
    }
}
