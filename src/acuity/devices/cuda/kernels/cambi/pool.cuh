// Banding: the sum of the strongest contrasts, by counting instead of sorting.
//
// Positive floats are ordered as their bits are. Where more contrasts were found than count, three passes over
// them find the bits of the weakest that counts: bins of 2^16 bits, of 2^8 and of 1. The last block of each pass
// finds the bin in which it lies. Everything is counted and summed in integers, so no order decides a digit.
#pragma once
#include "cambi/plan.cuh"

namespace {

constexpr int kPoolThreads = 256, kPasses = 3;
constexpr u32 kLeast = 0x3F000000;  // a contrast is 0, or at least 0.5 and below 2^14
constexpr u32 kCoarseBins = (0x46800000 - kLeast) >> 16, kFineBins = 256;
constexpr double kUnits = 16777216.0;  // of 2^-24 in 1

// Of one scale of one frame; 0 at first. Sums are in 2^-24: of the low 32 bits of each contrast, and of the rest.
struct Pool {
    u64 sum[2];     // of all contrasts
    u64 chosen[2];  // of those that are known to count
    u32 found;      // contrasts that aren't 0
    u32 from;       // the bin that the next pass looks at begins with these bits
    u32 left;       // how many contrasts of that bin count
    u32 ended[kPasses];
    u32 bins[kCoarseBins + 2 * kFineBins];
};

__device__ __forceinline__ void add_parts(u64* sum, u64 units) {
    atomicAdd(&sum[0], units & 0xFFFFFFFFu);
    atomicAdd(&sum[1], units >> 32);
}

// A contrast in 2^-24, from its bits.
__device__ __forceinline__ u64 in_units(u32 bits) {
    return static_cast<u64>((bits & 0x7FFFFF) | 0x800000) << ((bits >> 23) - 126);
}

// The bin in which the `left`-th contrast from the top lies, and its number there.
struct PoolPlace {
    int bin;
    u32 left;

    // A whole warp makes it. Adds what is above that bin to `above`, which is each lane's own.
    template <class F>
    __device__ PoolPlace(const volatile u32* bins, int size, u32 wanted, F&& above) : left(wanted) {
        const int lane = threadIdx.x % 32;
        for (int top = size;; top -= 32) {
            bin = top - 1 - lane;
            const u32 count = bins[bin];
            u32 so_far = count;
            for (int step = 1; step < 32; step *= 2) {
                const u32 before = __shfl_up_sync(kAll, so_far, step);
                if (lane >= step) so_far += before;
            }
            const u32 reached = __ballot_sync(kAll, so_far >= left);
            const int hit = reached == 0 ? 32 : __ffs(reached) - 1;
            if (lane < hit) above(bin, count);
            if (hit < 32 || top == 32) {
                const int found = min(hit, 31);
                left -= __shfl_sync(kAll, so_far - count, found);
                bin = __shfl_sync(kAll, bin, found);
                return;
            }
            left -= __shfl_sync(kAll, so_far, 31);
        }
    }
};

// Takes the bin that a pass found as the next one's; after the last pass the sum is known.
__device__ __forceinline__ void end_pass(Pool& pool, int pass, u32 from, u32 wanted, const u32* bins, int size,
                                         u64* out) {
    u64 low = 0, high = 0;
    const auto choose = [&](u32 bits, u64 count) {
        low += count * (in_units(bits) & 0xFFFFFFFFu);
        high += count * (in_units(bits) >> 32);
    };
    const auto above = [&](int bin, u32 count) {
        if (pass == kPasses - 1) choose(from + static_cast<u32>(bin), count);
    };
    const PoolPlace place(bins, size, wanted, above);
    const u32 bits = from + (static_cast<u32>(place.bin) << (16 - 8 * pass));
    if (pass < kPasses - 1) {
        if (threadIdx.x == 0) pool.from = bits, pool.left = place.left;
        return;
    }
    if (threadIdx.x == 0) choose(bits, place.left);
    low = warp_sum(low);
    high = warp_sum(high);
    if (threadIdx.x != 0) return;
    out[0] = low + atomicAdd(&pool.chosen[0], 0ull);
    out[1] = high + atomicAdd(&pool.chosen[1], 0ull);
}

// `sums`: a frame has `words`, the first of which are two for each scale.
__device__ __forceinline__ void choose(const CambiPlan& plan, const float* maps, i64 map_step, Pool* pools, int pass,
                                       u64* sums, int words) {
    __shared__ u32 bins[kCoarseBins];
    __shared__ bool is_last;
    const CambiScale& scale = plan.scales[blockIdx.y];
    Pool& pool = pools[blockIdx.z * kScales + blockIdx.y];
    u64* out = sums + static_cast<i64>(blockIdx.z) * words + 2 * blockIdx.y;
    if (pool.found <= scale.strongest) {
        if (pass == 0 && blockIdx.x == 0 && threadIdx.x < 2) out[threadIdx.x] = pool.sum[threadIdx.x];
        return;
    }
    const u32 from = pass == 0 ? kLeast : pool.from, wanted = pass == 0 ? static_cast<u32>(scale.strongest) : pool.left;
    const int size = pass == 0 ? kCoarseBins : kFineBins, shift = 16 - 8 * pass;
    // What lies above the bin counts: from its end on, up to where an earlier pass has counted it.
    const u32 bin_end = from + (1u << (shift + 8));
    const u32 summed = pass < 2 ? 0x7F800000u : kLeast + ((((from - kLeast) >> 16) + 1) << 16);
    for (int i = threadIdx.x; i < size; i += kPoolThreads) bins[i] = 0;
    __syncthreads();

    const u32* list = reinterpret_cast<const u32*>(maps + blockIdx.z * map_step + scale.map);
    const i64 length = static_cast<i64>(scale.pitch) * scale.height;
    u64 low = 0, high = 0;
    for (i64 i = blockIdx.x * kPoolThreads + threadIdx.x; i < length; i += gridDim.x * kPoolThreads) {
        const u32 bits = list[i], bin = (bits - from) >> shift;
        if (bits >= from && bin < static_cast<u32>(size)) {
            atomicAdd(&bins[bin], 1u);
        } else if (pass > 0 && bits >= bin_end && bits < summed) {
            low += in_units(bits) & 0xFFFFFFFFu;
            high += in_units(bits) >> 32;
        }
    }
    add_block_sum(low, &pool.chosen[0]);
    add_block_sum(high, &pool.chosen[1]);
    u32* all = pool.bins + (pass == 0 ? 0 : kCoarseBins + (pass - 1) * kFineBins);
    for (int i = threadIdx.x; i < size; i += kPoolThreads)
        if (bins[i] != 0) atomicAdd(&all[i], bins[i]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd(&pool.ended[pass], 1u) + 1 == gridDim.x;
    __syncthreads();
    if (!is_last || threadIdx.x >= 32) return;
    __threadfence();
    end_pass(pool, pass, from, wanted, all, size, out);
}

}  // namespace
