// The arithmetic of ADM's scale 0: coefficients are words, so products fit 32 bits.
//
// Half the sum of the wavelet's taps, in magnitude, bounds what each filter makes of centred samples: no
// coefficient reaches 23000, and none times a factor of contrast sensitivity reaches 2^31. What does wrap are
// weighted coefficients, which the definition keeps in 16 bits.
#pragma once
#include "adm_plan.cuh"

struct AdmFine {
    template <int kBand>
    static constexpr int kSquareShift = kBand < 2 ? 29 : 30;

    // The part of |ref| that is left in the distorted picture, where `along` is dis along ref's sign and not
    // below 0. For sizes up to 2^14 the definition's rounded share comes to the smaller of both.
    static __device__ __forceinline__ u32 left_of(u32 size, u32 along, i32 sign) {
        const u32 left = min(along, size);
        if (size <= 16384 || along > size) return left;
        const u32 share = ((1u << 30) / size * along + 16384) >> 15;
        return (share * size + 16384 + sign) >> 15;
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
            const i32 product = x[b] * static_cast<i32>(plan.factor[b]);
            const u32 weighted = magnitude(b < 2 ? (2 * product + 32768) >> 16 : (product + 65535) >> 17);
            around += static_cast<u32>(static_cast<i32>(weighted * (16 * 4369) + 32768) >> 16);
            own += static_cast<u32>(static_cast<i32>(weighted * (16 * 8738) + 32768) >> 16);
        }
    }

    // How far a signal stands out of its masking; 0 if it doesn't.
    template <int kBand>
    static __device__ __forceinline__ i32 excess(u32 signal, u32 mask, const AdmPlan& plan) {
        return max(static_cast<i32>(signal * plan.factor[kBand] - (mask << (kBand < 2 ? 10 : 12))), 0);
    }
};
