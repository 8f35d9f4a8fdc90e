// SpEED: variances and entropies of blocks, and scores of two planes.
#pragma once
#include "speed/plan.cuh"

constexpr double kLog2Of2PiE = 4.094191170361282;

// The binary logarithm with the bits of native/speed/log2.h.
__device__ __forceinline__ double speed_log2(double x) {
    constexpr u64 kOne = 0x3ff0000000000000ull, kRootHalf = 0x3fe6a09e667f3bcdull, kTwo52 = 0x4330000000000000ull;
    // 2 / ln 2 / (2 k + 1): the series of the inverse hyperbolic tangent.
    constexpr double kSeries[] = {2.8853900817779268,  0.9617966939259756,  0.5770780163555853,  0.4121985831111324,
                                  0.3205988979753252,  0.2623081892525388,  0.22195308321368667, 0.19235933878519512,
                                  0.16972882833987804, 0.15186263588304877, 0.1373995277037108};
    const u64 bits = static_cast<u64>(__double_as_longlong(x));
    // x = 2^exponent * m, where m is between the roots of 1/2 and of 2.
    const u64 biased = (bits + (kOne - kRootHalf)) >> 52;
    const double exponent = __longlong_as_double(static_cast<i64>(biased | kTwo52)) - (4503599627370496.0 + 1023.0);
    const double m = __longlong_as_double(static_cast<i64>(bits - ((biased - 1023u) << 52)));
    const double s = (m - 1.0) / (m + 1.0), z = s * s;
    double sum = z * kSeries[10] + kSeries[9];
#pragma unroll
    for (int k = 8; k >= 0; --k) sum = sum * z + kSeries[k];
    const double edge = x < 0.0 ? __longlong_as_double(0x7ff8000000000000ll)
                      : x == 0.0 ? __longlong_as_double(static_cast<i64>(0xfff0000000000000ull))
                                 : x;
    const bool usual = x > 0.0 && x < __longlong_as_double(0x7ff0000000000000ll);
    return usual ? exponent + s * sum : edge;
}

// ---- variances and entropies ------------------------------------------------------------------

constexpr int kBlockThreads = 64;

// Solves q' r x = block; the variance is the mean of x * block.
__device__ float find_variance(const float* q, const float* r, const float (&block)[kCells]) {
    float x[kCells];
#pragma unroll
    for (int i = 0; i < kCells; ++i) {
        float sum = 0;
#pragma unroll
        for (int k = 0; k < kCells; ++k) sum += q[i * kCells + k] * block[k];
        x[i] = sum;
    }
#pragma unroll
    for (int i = kCells - 1; i >= 0; --i) {
#pragma unroll
        for (int k = i + 1; k < kCells; ++k) x[i] -= x[k] * r[i * kCells + k];
        x[i] /= r[i * kCells + i];
    }
    float variance = x[0] * block[0] / static_cast<float>(kCells);
#pragma unroll
    for (int i = 1; i < kCells; ++i) variance += x[i] * block[i] / static_cast<float>(kCells);
    return variance;
}

__device__ __forceinline__ bool is_regular(const SpeedPlan& plan, i64 side) {
    return plan.regular[2 * side] != 0 && plan.regular[2 * side + 1] != 0;
}

// A thread a block of samples.
__device__ void describe_blocks(const Frame* frames, const SpeedPlan& plan) {
    __shared__ float q[kCells * kCells], r[kCells * kCells], energies[kCells];
    if (!comparable(frames[blockIdx.z], plan)) return;
    const i64 side = side_index(plan);
    for (int i = threadIdx.x; i < kCells * kCells; i += kBlockThreads) {
        q[i] = plan.q[side * kCells * kCells + i];
        r[i] = i % kCells < i / kCells ? 0.0f : plan.r[side * kCells * kCells + i];
    }
    if (threadIdx.x < kCells) {
        const float eigenvalue = plan.eigenvalues[side * kCells + threadIdx.x];
        energies[threadIdx.x] = eigenvalue < 0 ? 0 : eigenvalue;
    }
    __syncthreads();
    const int count = blocks_of(plan), b = blockIdx.x * kBlockThreads + threadIdx.x;
    if (b >= count) return;
    float variance = 0;
    if (is_regular(plan, side)) {
        const int width = plan.columns.outputs, y = b / plan.across * kSide, x = b % plan.across * kSide;
        const float* at = plan.centred + side * reduced_area(plan) + static_cast<i64>(y) * width + x;
        float block[kCells];
#pragma unroll
        for (int i = 0; i < kCells; ++i) block[i] = at[i / kSide * width + i % kSide];
        variance = find_variance(q, r, block);
    }
    plan.variances[side * count + b] = variance;
    for (int noise = 0; noise < plan.noise_count; ++noise) {
        float entropy = 0;
#pragma unroll 5
        for (int i = 0; i < kCells; ++i) {
            const float energy = energies[i] * variance + plan.noises[noise];
            const double bits = speed_log2(static_cast<double>(energy)) + kLog2Of2PiE;
            entropy = static_cast<float>(static_cast<double>(entropy) + bits);
        }
        plan.entropies[(side * plan.noise_count + noise) * count + b] = entropy;
    }
}

// ---- scores -----------------------------------------------------------------------------------

// Logarithms of the variances that weigh the entropies of both sides.
struct Weights {
    double ref, dis;
};

// Of 1 + variance, the sum being a single float where the variance is one picture's own.
__device__ __forceinline__ double own(float variance) { return speed_log2(static_cast<double>(1 + variance)); }

__device__ __forceinline__ double mixed(double part, float ref, float dis) {
    return speed_log2(1 + ((1 - part) * static_cast<double>(ref) + part * static_cast<double>(dis)));
}

__device__ __forceinline__ double mean_of(float ref, float dis) {
    return speed_log2(1 + static_cast<double>(ref + dis) / 2.0);
}

__device__ __forceinline__ Weights weights_of(int mode, float r, float d) {
    switch (mode) {
        case 0: return {own(r), own(d)};
        case 1: return {own(r), own(r)};
        case 2: return {own(d), own(d)};
        case 3: return {mean_of(r, d), mean_of(r, d)};
        case 4: return {own(r), mean_of(r, d)};
        case 5: return {own(r), mixed(0.25, r, d)};
        default: return {own(r), mixed(0.75, r, d)};
    }
}

constexpr int kScoreThreads = 256;

// The score of pair blockIdx.y by weighing blockIdx.x. Each pair has words for: unstable, scores.
__device__ void find_score(const Frame* frames, const SpeedPlan& plan, u64* sums, int words) {
    __shared__ float terms[kScoreThreads];
    if (!comparable(frames[blockIdx.z], plan)) return;
    const i64 ref = static_cast<i64>(blockIdx.z) * plan.sides + 2 * blockIdx.y, dis = ref + 1;
    u64* out = sums + static_cast<i64>(blockIdx.z) * words + blockIdx.y * (1 + plan.weighing_count);
    const bool ref_regular = is_regular(plan, ref), dis_regular = is_regular(plan, dis);
    if (threadIdx.x == 0 && blockIdx.x == 0) out[0] = !ref_regular || !dis_regular;
    if (ref_regular != dis_regular) return;  // a score would be large for no reason

    const SpeedWeighing weighing = plan.weighings[blockIdx.x];
    const float floor = (1 + weighing.nn_floor) * weighing.sigma_nn;
    const float unseen = static_cast<float>(kCells * (speed_log2(static_cast<double>(floor)) + kLog2Of2PiE));
    const int count = blocks_of(plan);
    const float* ref_entropies = plan.entropies + (ref * plan.noise_count + weighing.noise) * count;
    const float* dis_entropies = plan.entropies + (dis * plan.noise_count + weighing.noise) * count;
    float sum = 0;
    for (int start = 0; start < count; start += kScoreThreads) {
        const int b = start + threadIdx.x;
        float term = 0;  // adds nothing where nothing is seen
        if (b < count && !(ref_entropies[b] < unseen && dis_entropies[b] < unseen)) {
            const Weights weights = weights_of(weighing.mode, plan.variances[ref * count + b],
                                               plan.variances[dis * count + b]);
            const float r = static_cast<float>(static_cast<double>(ref_entropies[b]) * weights.ref);
            const float d = static_cast<float>(static_cast<double>(dis_entropies[b]) * weights.dis);
            term = fabsf(r - d);
        }
        terms[threadIdx.x] = term;
        __syncthreads();
        if (threadIdx.x == 0)
            for (int i = 0; i < kScoreThreads; ++i) sum += terms[i];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[1 + blockIdx.x] = __float_as_uint(sum / static_cast<float>(count));
}
