// The arithmetic of ADM's scale 0: coefficients are words, so products fit 32 bits.
//
// Half the sum of the wavelet's taps, in magnitude, bounds what each filter makes of centred samples: no
// coefficient reaches 23000, and none times a factor of contrast sensitivity reaches 2^31. What does wrap are
// weighted coefficients, which the definition keeps in 16 bits.
#pragma once
#include "adm/plan.cuh"

struct AdmFine {
    static constexpr int kStraightShift = 29;  // off the squares of bands h and v; off those of d it is 30

    // The part of |ref| that is left in the distorted picture, where `along` is dis along ref's sign and not
    // below 0. For sizes up to 2^14 the definition's rounded share comes to the smaller of both.
    template <int kCount>
    static __device__ __forceinline__ void find_left(const u32 (&size)[kCount], const u32 (&along)[kCount],
                                                     const i32 (&sign)[kCount], u32 (&left)[kCount]) {
        u32 largest = 0;
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
            left[i] = min(along[i], size[i]);
            largest = max(largest, size[i]);
        }
        if (largest <= 16384) return;
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
            const u32 share = (reciprocal(size[i]) * along[i] + 16384) >> 15;
            const u32 rounded = (share * size[i] + 16384 + sign[i]) >> 15;
            if (size[i] > 16384 && along[i] <= size[i]) left[i] = rounded;
        }
    }

    static __device__ __forceinline__ bool parallel_of(i32 rh, i32 rv, i32 dh, i32 dv, float cos_squared) {
        return parallel(rh, rv, dh, dv, cos_squared, [&] {
            return surely_parallel(rh * dh + rv * dv, rh * rh + rv * rv, dh * dh + dv * dv, cos_squared);
        });
    }

    static __device__ __forceinline__ u64 den_cube(u32 size, const AdmPlan&) {
        return static_cast<u64>(size * size) * size;
    }

    static __device__ __forceinline__ u32 signal(i32 x, int, const AdmPlan&) { return magnitude(x); }

    // What coefficients lend to the masking of their eight neighbours, and to their own instead. The upper
    // words of these products are the definition's shifted ones with their signs, when they wrap too.
    static __device__ __forceinline__ void lend(const i32 (&x)[3], const AdmPlan& plan, u32& around, u32& own) {
        around = own = 0;
#pragma unroll
        for (int b = 0; b < 3; ++b) {
            const i32 factor = static_cast<i32>(plan.factor[b]);
            const u32 weighted = magnitude(b < 2 ? (x[b] * (2 * factor) + 32768) >> 16 : (x[b] * factor + 65535) >> 17);
            around += static_cast<u32>(static_cast<i32>(weighted * (16 * 4369) + 32768) >> 16);
            own += static_cast<u32>(static_cast<i32>(weighted * (16 * 8738) + 32768) >> 16);
        }
    }

    // How far signals stand out of their masking; 0 if they don't or aren't counted. No signal reaches 2^31.
    static __device__ __forceinline__ void excess(const u32 (&signal)[3], u32 mask, bool counted, const AdmPlan& plan,
                                                  i32 (&out)[3]) {
        const u32 straight = counted ? mask << 10 : 1u << 31, diagonal = counted ? mask << 12 : 1u << 31;
#pragma unroll
        for (int b = 0; b < 3; ++b)
            out[b] = max(static_cast<i32>(signal[b] * plan.factor[b] - (b < 2 ? straight : diagonal)), 0);
    }
};
