// The arithmetic of ADM's scales 1 to 3: coefficients have 32 bits, products 64.
#pragma once
#include "adm/plan.cuh"

struct AdmCoarse {
    static constexpr int kStraightShift = 30;

    // As in AdmFine. The share is computed with ref's 15 leading bits; it is 1 where dis is clearly larger.
    template <int kCount>
    static __device__ __forceinline__ void find_left(const u32 (&size)[kCount], const u32 (&along)[kCount],
                                                     const i32 (&sign)[kCount], u32 (&left)[kCount]) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) left[i] = left_of(size[i], along[i], sign[i]);
    }

    static __device__ __forceinline__ u32 left_of(u32 size, u32 along, i32 sign) {
        const int shift = max(17 - __clz(static_cast<i32>(size)), 0);
        const u32 leading = (size + ((1u << shift) >> 1)) >> shift;
        const u32 kept = min(along, size + (size >> 4) + 1);
        const u64 product = static_cast<u64>(reciprocal(leading)) * kept + (1u << (14 + shift));
        const u32 share = min(static_cast<u32>(product >> (15 + shift)), 32768u);
        const u32 left = static_cast<u32>((static_cast<u64>(share) * size + static_cast<u32>(16384 + sign)) >> 15);
        return size <= 16384 ? min(along, size) : left;
    }

    static __device__ __forceinline__ bool parallel_of(i32 rh, i32 rv, i32 dh, i32 dv, float cos_squared) {
        return parallel(rh, rv, dh, dv, cos_squared, [&] {
            const i64 r[2] = {rh, rv}, d[2] = {dh, dv};
            return surely_parallel(r[0] * d[0] + r[1] * d[1], r[0] * r[0] + r[1] * r[1], d[0] * d[0] + d[1] * d[1],
                                   cos_squared);
        });
    }

    static __device__ __forceinline__ u64 den_cube(u32 size, const AdmPlan& plan) {
        const int shift = plan.scale == 2 ? 30 : 31;
        const u32 square = static_cast<u32>((static_cast<u64>(size) * size + (u64(1) << shift)) >> shift);
        return (static_cast<u64>(square) * size + plan.den_add) >> plan.den_shift;
    }

    static __device__ __forceinline__ u32 signal(i32 x, int band, const AdmPlan& plan) {
        const u32 factor = plan.factor[band];
        u32 product = static_cast<u32>((static_cast<i64>(x) * static_cast<i32>(factor) + (1 << 27)) >> 28);
        if (factor >> 31 != 0) product += static_cast<u32>(x) << 4;  // it was read as negative
        return magnitude(static_cast<i32>(product));
    }

    // The rounding term of the definition's shares is negative.
    static __device__ __forceinline__ u32 share(u32 signal, i32 part) {
        const i64 product = static_cast<i64>(static_cast<i32>(signal)) * part - (i64(1) << 31);
        return static_cast<u32>(product >> 32);
    }

    static __device__ __forceinline__ void lend(const i32 (&x)[3], const AdmPlan& plan, u32& around, u32& own) {
        around = own = 0;
#pragma unroll
        for (int b = 0; b < 3; ++b) {
            const u32 weighted = signal(x[b], b, plan);
            around += share(weighted, 143165577);
            own += share(weighted, 286331153);
        }
    }

    // As in AdmFine; a signal may be 2^31 at most.
    static __device__ __forceinline__ void excess(const u32 (&signal)[3], u32 mask, bool counted, const AdmPlan&,
                                                  i32 (&out)[3]) {
        const u32 threshold = counted ? mask : 1u << 31;
#pragma unroll
        for (int b = 0; b < 3; ++b) out[b] = max(static_cast<i32>(signal[b] - threshold), 0);
    }
};
