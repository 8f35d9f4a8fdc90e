// VIF's second half: what each place tells, from windowed means and products of both pictures.
#pragma once
#include "pictures.cuh"

constexpr i32 kNoise = 2 << 16;               // below this variance (2.0 in Q16) a place counts as flat
constexpr double kEpsilon = 65536 * 1.0e-10;  // keeps the gain finite; part of the definition
constexpr int kLog2Groups = 4096;

// Gain limits that a pass serves: up to kMost numbers, and 1, which costs less, if kUnit.
template <int kMost, bool kUnit>
struct Limits {
    double at[kMost > 0 ? kMost : 1];
    int count;  // of those kMost, if they are several
};

// Four places of a lane, as the filters leave them: means in Q24 of an 8-bit sample (Q16 of a deeper one's upper
// byte), products in Q16.
struct Places {
    u32 ref[4], dis[4], ref_ref[4], dis_dis[4], ref_dis[4];
};

// Sums over a lane's places, the logarithms in 1/2048. Those of signals and noise have a double's exponents, which
// are 1023 too high; in their difference that is gone.
template <int kMost>
struct Tally {
    u32 total, noise, unit, signal[kMost > 0 ? kMost : 1];
    u64 flat_dis;
    u32 flat;
};

constexpr double k2To52 = 4503599627370496.0, k2To31 = 2147483648.0;

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

// The gains' squares times the variances, whole, above 2^52: rounding towards zero drops the fraction there.
__device__ __forceinline__ void signals(const double (&gain)[4], const double (&variance)[4], double (&signal)[4]) {
    for (int i = 0; i < 4; ++i) signal[i] = __dadd_rz(gain[i] * gain[i] * variance[i], k2To52);
}

template <int kMost, bool kUnit>
__device__ __forceinline__ void add_places(const Places& p, const bool (&inside)[4], const u16* steps,
                                           const Limits<kMost, kUnit>& limits, Tally<kMost>& tally) {
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
        // Rounding towards zero above 2^52 drops the fraction. Below zero nothing is left: 2^31 more, and the lower
        // word tells.
        const double sum = __dadd_rz(rest, k2To52 + k2To31 + kNoise);
        const u32 low = max(static_cast<u32>(__double2loint(sum)), (1u << 31) + kNoise);
        const double whole = __hiloint2double(__double2hiint(k2To52), static_cast<i32>(low));
        noise[i] = whole - (2 * k2To52 + k2To31);
        const u32 log = log2_q11(whole - (k2To52 + k2To31), steps);
        if (tells[i]) tally.noise += log;
    }
    double limited[4], signal[4];  // the signal and 2^52
    for (int i = 0; i < 4; ++i) limited[i] = gain[i];
    if (kMost == 0) signals(limited, variance, signal);
#pragma unroll
    for (int g = 0; g < kMost; ++g) {
        if (kMost > 1 && g >= limits.count) break;
        // Few limits are ever reached, so that a glance at the upper words will do.
        bool over = false;
        for (int i = 0; i < 4; ++i) over |= __double2hiint(gain[i]) >= __double2hiint(limits.at[g]);
        for (int i = 0; i < 4; ++i) limited[i] = gain[i];
        if (__any_sync(0xFFFFFFFFu, over))
            for (int i = 0; i < 4; ++i) limited[i] = gain[i] < limits.at[g] ? gain[i] : limits.at[g];
        signals(limited, variance, signal);
        for (int i = 0; i < 4; ++i) {
            const u32 log = log2_q11(signal[i] + noise[i], steps);
            if (tells[i]) tally.signal[g] += log;
        }
    }
    // With a gain of 1 at most the signal is at most the variance, with another limit before too: rounding keeps the
    // order. Both are below 2^32, so their lower words tell: the signal is the covariance's square over the variance,
    // 1.7e9 at most, where the distorted picture's variance, below 2^30, is most, and rounded means halve the other's.
    for (int i = 0; kUnit && i < 4; ++i) {
        const u32 least = min(static_cast<u32>(__double2loint(signal[i])), static_cast<u32>(ref[i]));
        const u32 log = log2_q11(__hiloint2double(__double2hiint(k2To52), static_cast<i32>(least)) + noise[i], steps);
        if (tells[i]) tally.unit += log;
    }
}
