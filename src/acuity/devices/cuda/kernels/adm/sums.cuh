// Sums of several values over a warp at once: lanes halve the values between them as they add.
#pragma once
#include "adm/plan.cuh"

// Sums kCount values; lane i gets that of value sum_owner(i).value.
template <int kCount>
__device__ __forceinline__ u64 warp_sums(const u64 (&values)[kCount], int lane, int step = 16) {
    if constexpr (kCount > 1) {
        constexpr int kHalf = (kCount + 1) / 2;
        const bool upper = (lane & step) != 0;
        u64 kept[kHalf];
#pragma unroll
        for (int i = 0; i < kHalf; ++i) {
            const u64 low = values[i], high = i + kHalf < kCount ? values[i + kHalf] : 0;
            kept[i] = (upper ? high : low) + __shfl_xor_sync(kWarp, upper ? low : high, step);
        }
        return warp_sums(kept, lane, step / 2);
    } else {
        u64 sum = values[0];
#pragma unroll
        for (; step > 0; step /= 2) sum += __shfl_xor_sync(kWarp, sum, step);
        return sum;
    }
}

// Which value a lane gets, and whether it is the one that adds it to memory.
struct SumOwner {
    int value;
    bool adds;
};

template <int kCount>
__device__ __forceinline__ SumOwner sum_owner(int lane) {
    int value = 0, left = kCount, step = 16;  // odd counts leave some lanes without one
#pragma unroll
    for (int count = kCount; count > 1; count = (count + 1) / 2, step /= 2) {
        const int half = (count + 1) / 2;
        const bool upper = (lane & step) != 0;
        value += upper ? half : 0;
        left = upper ? left - half : min(left, half);
    }
    return {value, left > 0 && (lane & (2 * step - 1)) == 0};
}
