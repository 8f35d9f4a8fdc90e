// Adds numbers that aren't negative one after the other, as a single thread would, by the whole card.
//
// What a chunk of numbers adds depends on the power of two that the sum has reached there: see ordered.cuh. Plain
// sums of the chunks before tell that well enough, so blocks find the growth by their chunk for a few powers, all
// beside each other. One block then goes along the chunks, 32 at a time. Where the sum reaches the next power, or
// another one than was guessed, it adds the chunk's numbers themselves.
#pragma once

#include "ordered.cuh"

constexpr int kChunkThreads = 256, kChunk = kChunkThreads * kEach;
constexpr int kGuesses = 4;

template <class Total>
struct ChunkGrowths {
    int most;  // exponent, as in the bits, of the first guess; the others are below it
    Growth<Total> at[kGuesses];
};

// A plain sum over a block of kThreads, in all of them.
template <int kThreads>
__device__ __forceinline__ float plain_sum(float value) {
    __shared__ float parts[kThreads / 32];
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, step);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    for (int i = 0; i < kThreads / 32; ++i) value += parts[i];
    return value;
}

__device__ __forceinline__ int chunks_of(i64 count) { return static_cast<int>((count + kChunk - 1) / kChunk); }

// Finds the growths by a chunk, by a block of kChunkThreads. `sums`: plain sums of the chunks.
template <class Total>
__device__ __forceinline__ void find_growths(const float* terms, i64 count, const float* sums, int chunk,
                                             ChunkGrowths<Total>* growths) {
    constexpr int kWarps = kChunkThreads / 32;
    __shared__ Growth<Total> warps[kGuesses][kWarps];
    const int thread = threadIdx.x, lane = thread % 32;
    float mine[kEach], before = 0;
    read_terms(terms, count, static_cast<i64>(chunk) * kChunk + thread * kEach, mine);
    for (int i = thread; i < chunk; i += kChunkThreads) before += sums[i];
    const Total reached = plain_sum<kChunkThreads>(before);
    const int most = static_cast<int>(Digits<Total>::of(reached) >> Digits<Total>::kMantissa) + 1;
#pragma unroll
    for (int g = 0; g < kGuesses; ++g) {
        const typename Digits<Total>::Bits low = static_cast<typename Digits<Total>::Bits>(max(most - g, 0))
                                                 << Digits<Total>::kMantissa;
        const Growth<Total> all = Growth<Total>::by(mine, low).along_warp(lane);
        if (lane == 31) warps[g][thread / 32] = all;
    }
    __syncthreads();
    if (thread >= kGuesses) return;
    Growth<Total> all = warps[thread][0];
    for (int i = 1; i < kWarps; ++i) all = all.then(warps[thread][i]);
    growths[chunk].at[thread] = all;
    if (thread == 0) growths[chunk].most = most;
}

// The sum of all chunks, by a block of kChunkThreads.
template <class Total>
__device__ __forceinline__ Total sum_chunks(const float* terms, i64 count, const ChunkGrowths<Total>* growths) {
    typedef typename Digits<Total>::Bits Bits;
    constexpr int kWindow = 256;
    constexpr u32 kWarp = 0xFFFFFFFFu;
    __shared__ typename OrderedSum<Total, kChunkThreads>::Shared shared;
    __shared__ ChunkGrowths<Total> window[kWindow];
    OrderedSum<Total, kChunkThreads> sum(shared);
    const int lane = threadIdx.x % 32, chunks = chunks_of(count);
    int loaded = 0;
    for (int chunk = 0; chunk < chunks;) {
        if (chunk >= loaded) {
            __syncthreads();
            if (loaded + static_cast<int>(threadIdx.x) < chunks)
                window[threadIdx.x] = growths[loaded + threadIdx.x];
            loaded += kWindow;
            __syncthreads();
        }
        // Every warp finds the same: how many of the next chunks, one a lane, leave the sum below the next power.
        const Bits at = Digits<Total>::of(sum.sum());
        const int exponent = static_cast<int>(at >> Digits<Total>::kMantissa);
        const Bits left = (static_cast<Bits>(exponent + 1) << Digits<Total>::kMantissa) - at;
        const int mine = chunk + lane, end = min(loaded, chunks);
        Growth<Total> growth = {0, 0};
        if (mine < end) {
            const ChunkGrowths<Total>& of = window[mine % kWindow];
            const int guess = of.most - exponent;
            const bool guessed = guess >= 0 && guess < kGuesses;
            growth = guessed ? of.at[guessed ? guess : 0] : Growth<Total>{Growth<Total>::kMost, Growth<Total>::kMost};
        }
        const Bits grown = growth.along_warp(lane).from(at);
        const u32 reaching = __ballot_sync(kWarp, grown >= left);
        const int known = reaching == 0 ? 32 : __ffs(static_cast<int>(reaching)) - 1;
        const Bits by = __shfl_sync(kWarp, grown, known > 0 ? known - 1 : 0);
        if (known > 0) sum.grow(by);
        chunk = min(chunk + known, end);
        if (reaching != 0) {
            float terms_of_thread[kEach];
            read_terms(terms, count, static_cast<i64>(chunk) * kChunk + threadIdx.x * kEach, terms_of_thread);
            sum.add(terms_of_thread);
            chunk += 1;
        }
    }
    return sum.sum();
}
