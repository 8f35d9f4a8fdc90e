// SSIMULACRA 2: errors of structure and of edges, and their sums in the CPU's order, by the whole card.
//
// Each of the 16 columns of a block has its own sums, of a map's errors or of their fourth powers. They go along the
// bands, in each along the blocks of columns, and down the rows. A chunk is 64 blocks of a band: its growth is found
// from where the sum is about then, and one warp goes along the chunks. See ordered.cuh.
#pragma once
#include "ordered.cuh"
#include "ssimulacra2/plan.cuh"

constexpr float kSmall = 0.0009f;  // keeps flat areas apart from noise in the structural similarity

// What the errors of a place are made of: the likeness of structure, and by how much each picture differs from its mean.
struct Parts {
    float alike, ref, dis;
};

__device__ __forceinline__ Parts parts_of(const float (&mean)[kBlurred], float ref, float dis) {
    const float s11 = mean[0], s22 = mean[1], s12 = mean[2], m1 = mean[3], m2 = mean[4];
    const float level = 1.0f - (m1 - m2) * (m1 - m2);
    const float shared = 2.0f * (s12 - m1 * m2) + kSmall;
    const float apart = (s11 - m1 * m1) + (s22 - m2 * m2) + kSmall;
    return {level * shared / apart, fabsf(ref - m1), fabsf(dis - m2)};
}

__device__ __forceinline__ double quotient(double a, double b) { return a / b; }
__device__ __forceinline__ float quotient(float a, float b) { return __fdividef(a, b); }  // about right

template <class T>
struct Errors {
    T of[kMaps];

    __device__ __forceinline__ explicit Errors(const Parts& parts) {
        const T one = 1, edge = quotient(one + static_cast<T>(parts.dis), one + static_cast<T>(parts.ref)) - one;
        const T structure = one - static_cast<T>(parts.alike);
        const auto positive = [](T error) { return error < 0 ? T(0) : error; };
        of[0] = positive(structure), of[1] = positive(edge), of[2] = positive(-edge);
    }
};

template <class T>
__device__ __forceinline__ T fourth_power(T value) {
    const T square = value * value;
    return square * square;
}

// ---- chunks -----------------------------------------------------------------------------------

constexpr int kSums = 2 * kMaps;               // of a lane: of a map's errors, and of their fourth powers
constexpr int kChains = kSums * kLanes;        // sums of a channel: by map, power and lane
constexpr int kChunkBlocks = 64, kErrorsThreads = 128;
constexpr int kEachBlocks = kChunkBlocks * kLanes / kErrorsThreads;  // of a thread
constexpr int kWarps = kErrorsThreads / 32;

__device__ __forceinline__ int across_of(const Ssimulacra2Scale& of) {
    return (of.stride / kLanes + kChunkBlocks - 1) / kChunkBlocks;
}

// Where a chunk is kept, of `kChains` sums of a channel; `of.rows / kBand` bands have room.
__device__ __forceinline__ i64 kept_at(const Ssimulacra2Scale& of, int chain, int chunk) {
    const i64 chains = (static_cast<i64>(blockIdx.z) * kChannels + blockIdx.y) * kChains + chain;
    return chains * (of.rows / kBand * across_of(of)) + chunk;
}

__device__ __forceinline__ const float* errors_at(const Ssimulacra2Scale& of, int channel, int band) {
    const i64 planes = (static_cast<i64>(blockIdx.z) * kChannels + channel) * kMaps;
    return of.errors + (planes * of.rows + band * kBand) * of.stride;
}

__device__ __forceinline__ Parts parts_at(const Ssimulacra2Scale& of, const float* errors, int row, int column) {
    const i64 plane = static_cast<i64>(of.rows) * of.stride;
    const float* const at = errors + static_cast<i64>(row) * of.stride + column;
    return column < of.stride ? Parts{__ldg(at), __ldg(at + plane), __ldg(at + 2 * plane)} : Parts{1.0f, 0.0f, 0.0f};
}

// Calls for the errors of a thread's places of a chunk, in the order of sums.
template <class T, class F>
__device__ __forceinline__ void each_of_chunk(const Ssimulacra2Scale& of, int chunk, F&& add) {
    const float* const errors = errors_at(of, blockIdx.y, chunk / across_of(of));
    const int first = (chunk % across_of(of) * kChunkBlocks + threadIdx.x / kLanes * kEachBlocks) * kLanes;
#pragma unroll
    for (int block = 0; block < kEachBlocks; ++block) {
        Parts parts[kBand];
#pragma unroll
        for (int row = 0; row < kBand; ++row)
            parts[row] = parts_at(of, errors, row, first + block * kLanes + threadIdx.x % kLanes);
#pragma unroll
        for (int row = 0; row < kBand; ++row) add(Errors<T>(parts[row]));
    }
}

// The plain sums of a chunk, which only have to be about right.
__device__ __forceinline__ void sum_plainly(const Ssimulacra2Scale& of, int slab, int chunk) {
    __shared__ float warps[kWarps][kChains];
    if (chunk >= leaving_rows(of, slab) / kBand * across_of(of)) return;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum[kSums] = {};
    each_of_chunk<float>(of, chunk, [&](const Errors<float>& errors) {
#pragma unroll
        for (int i = 0; i < kSums; ++i) sum[i] += i % 2 == 0 ? errors.of[i / 2] : fourth_power(errors.of[i / 2]);
    });
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
        const float both = sum[i] + __shfl_xor_sync(0xFFFFFFFFu, sum[i], kLanes);
        if (lane < kLanes) warps[warp][i * kLanes + lane] = both;
    }
    __syncthreads();
    if (threadIdx.x >= kChains) return;
    float all = 0;
    for (int i = 0; i < kWarps; ++i) all += warps[i][threadIdx.x];
    of.plain[kept_at(of, threadIdx.x, chunk)] = all;
}

// Turns the plain sums of all chunks into what the sums have reached before each: a warp has one of them.
__device__ __forceinline__ void find_reached(const Ssimulacra2Scale& of, int slab, int chain, double begun) {
    const int lane = threadIdx.x % 32, chunks = leaving_rows(of, slab) / kBand * across_of(of);
    float* const plain = of.plain + kept_at(of, chain, 0);
    float before = static_cast<float>(begun), mine = lane < chunks ? plain[lane] : 0.0f;
    for (int first = 0; first < chunks; first += 32) {
        const int ahead = first + 32 + lane;
        const float next = ahead < chunks ? plain[ahead] : 0.0f;
        float sum = mine;
#pragma unroll
        for (int step = 1; step < 32; step *= 2) {
            const float other = __shfl_up_sync(0xFFFFFFFFu, sum, step);
            if (lane >= step) sum += other;
        }
        if (first + lane < chunks) plain[first + lane] = before + (sum - mine);
        before += __shfl_sync(0xFFFFFFFFu, sum, 31);
        mine = next;
    }
}

typedef Growth<double> DoubleGrowth;

__device__ __forceinline__ int exponent_of(double sum) {
    return static_cast<int>(Digits<double>::of(sum) >> Digits<double>::kMantissa);
}

// What a chunk adds to its sums, if they have the power of two that they are thought to have reached.
__device__ __forceinline__ void find_chunk_growths(const Ssimulacra2Scale& of, int slab, int chunk) {
    __shared__ DoubleGrowth warps[kWarps][kChains];
    __shared__ float reached[kChains];
    if (chunk >= leaving_rows(of, slab) / kBand * across_of(of)) return;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x < kChains) reached[threadIdx.x] = of.plain[kept_at(of, threadIdx.x, chunk)];
    __syncthreads();
    typedef Digits<double> D;
    const auto low = [&](int i) {
        return D::of(static_cast<double>(reached[i * kLanes + lane % kLanes])) >> D::kMantissa << D::kMantissa;
    };
    double even[kSums], odd[kSums];
#pragma unroll
    for (int i = 0; i < kSums; ++i) even[i] = D::number(low(i)), odd[i] = D::number(low(i) + 1);
    each_of_chunk<double>(of, chunk, [&](const Errors<double>& errors) {
#pragma unroll
        for (int i = 0; i < kSums; ++i) {
            const double term = i % 2 == 0 ? errors.of[i / 2] : fourth_power(errors.of[i / 2]);
            even[i] += term, odd[i] += term;
        }
    });
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
        const DoubleGrowth own = DoubleGrowth::between(low(i), even[i], odd[i]);
        const DoubleGrowth other = own.of_lane(lane % kLanes + kLanes);
        if (lane < kLanes) warps[warp][i * kLanes + lane] = own.then(other);
    }
    __syncthreads();
    if (threadIdx.x >= kChains) return;
    DoubleGrowth all = warps[0][threadIdx.x];
    for (int i = 1; i < kWarps; ++i) all = all.then(warps[i][threadIdx.x]);
    static_cast<DoubleGrowth*>(of.growths)[kept_at(of, threadIdx.x, chunk)] = all;
}

// ---- sums -------------------------------------------------------------------------------------

// Adds all chunks of a slab to one sum, by a block that is one warp: 32 at a time, and those themselves with which the
// sum reaches another power of two.
__device__ __forceinline__ double add_chunks(const Ssimulacra2Scale& of, int slab, int chain, double begun) {
    constexpr u32 kWarp = 0xFFFFFFFFu;
    typedef Digits<double> D;
    __shared__ OrderedSum<double, 32>::Shared shared;
    const int lane = threadIdx.x, chunks = leaving_rows(of, slab) / kBand * across_of(of);
    const int map = chain / (2 * kLanes), column = chain % kLanes;
    const bool fourth = chain / kLanes % 2 != 0;
    const float* const reached = of.plain + kept_at(of, chain, 0);
    const DoubleGrowth* const growths = static_cast<const DoubleGrowth*>(of.growths) + kept_at(of, chain, 0);
    OrderedSum<double, 32> sum(shared);
    sum.grow(D::of(begun));
    for (int chunk = 0; chunk < chunks;) {
        const u64 at = D::of(sum.sum());
        const int exponent = exponent_of(sum.sum()), mine = chunk + lane;
        const u64 left = (static_cast<u64>(exponent + 1) << D::kMantissa) - at;
        DoubleGrowth growth = {0, 0};
        if (mine < chunks)
            growth = exponent_of(static_cast<double>(reached[mine])) == exponent
                         ? growths[mine]
                         : DoubleGrowth{DoubleGrowth::kMost, DoubleGrowth::kMost};
        const u64 grown = growth.along_warp(lane).from(at);
        const u32 reaching = __ballot_sync(kWarp, grown >= left);
        const int known = reaching == 0 ? 32 : __ffs(static_cast<int>(reaching)) - 1;
        const u64 by = __shfl_sync(kWarp, grown, known > 0 ? known - 1 : 0);
        if (known > 0) sum.grow(by);
        chunk = min(chunk + known, chunks);
        if (reaching == 0) continue;
        constexpr int kBlocks = kChunkBlocks / 32;  // of a lane
        const float* const errors = errors_at(of, blockIdx.y, chunk / across_of(of));
        const int first = (chunk % across_of(of) * kChunkBlocks + lane * kBlocks) * kLanes + column;
        double terms[kBlocks * kBand];
#pragma unroll
        for (int i = 0; i < kBlocks * kBand; ++i) {
            const Errors<double> errors_of(parts_at(of, errors, i % kBand, first + i / kBand * kLanes));
            const double term = map == 0 ? errors_of.of[0] : map == 1 ? errors_of.of[1] : errors_of.of[2];
            terms[i] = fourth ? fourth_power(term) : term;
        }
        sum.add(terms);
        chunk += 1;
    }
    return sum.sum();
}
