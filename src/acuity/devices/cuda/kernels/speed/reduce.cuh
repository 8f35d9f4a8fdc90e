// SpEED: planes to reduced planes without their local means.
#pragma once
#include "speed/plan.cuh"

constexpr int kReduceThreads = 128;
constexpr int kReduceOutputs = 32;  // of one block, in a row
constexpr int kMostTaps = 40;       // more than a low-pass filter has
constexpr float kGrey = 128.0f;     // what samples count from, at 8 bits

// Samples of a source as floats. Conversions are exact: samples have at most 16 bits.
template <class T, bool Difference>
struct SpeedSamples {
    SpeedSource source;
    float unit;

    __device__ __forceinline__ SpeedSamples(const Frame& frame, const SpeedPlan& plan, int side)
        : source(source_of(frame, plan, side)), unit(1.0f / static_cast<float>(1 << (plan.depth - 8))) {}

    // Where a row starts.
    struct Row {
        const T *at, *minus;
    };
    __device__ __forceinline__ Row row(int y) const {
        return {row_of<T>(*source.plane, source.number, y),
                Difference ? row_of<T>(*source.minus, source.number, y) : nullptr};
    }
    __device__ __forceinline__ float operator()(const Row& row, int x) const {
        const i32 value = row.at[x];
        if (Difference) return static_cast<float>(value - static_cast<i32>(row.minus[x])) * unit;
        return static_cast<float>(value) * unit - kGrey;
    }
};

// Outputs that a block makes: some of one row.
struct ReducedRun {
    int row, first, last;

    __device__ __forceinline__ explicit ReducedRun(const SpeedPlan& plan)
        : row(blockIdx.y / plan.sides),
          first(blockIdx.x * kReduceOutputs),
          last(min(first + kReduceOutputs, plan.columns.outputs)) {}
};

__device__ __forceinline__ float* reduced_row(const SpeedPlan& plan, int side, int row) {
    const i64 index = static_cast<i64>(blockIdx.z) * plan.sides + side;
    return plan.reduced + index * reduced_area(plan) + static_cast<i64>(row) * plan.columns.outputs;
}

// A plane that isn't rescaled: columns that outputs read are filtered to one row, then that row.
template <class T, bool Difference>
__device__ void reduce(const Frame& frame, const SpeedPlan& plan, int width) {
    using Samples = SpeedSamples<T, Difference>;
    constexpr int kSpan = kReduceOutputs * kStep + 2 * kMostTaps;
    __shared__ float sums[kSpan + kSpan / kStep + 1];  // with gaps, so that outputs read from different banks
    __shared__ float weights[kMostTaps];
    __shared__ typename Samples::Row rows[kMostTaps];
    const int side = blockIdx.y % plan.sides, taps = plan.taps, half = taps / 2;
    const Samples samples(frame, plan, side);
    const ReducedRun run(plan);
    for (int t = threadIdx.x; t < taps; t += kReduceThreads) {
        weights[t] = plan.low_pass[t];
        rows[t] = samples.row(plan.rows.at[t * plan.rows.outputs + run.row]);
    }
    __syncthreads();
    const int start = max(run.first * kStep - half, 0), end = min((run.last - 1) * kStep + half + 1, width);
    for (int x = start + static_cast<int>(threadIdx.x); x < end; x += kReduceThreads) {
        const int phase = x % kStep;
        if (phase > half && phase < kStep - half) continue;  // between two windows
        float sum = 0;
#pragma unroll 9
        for (int t = 0; t < taps; ++t) sum += weights[t] * samples(rows[t], x);
        const int place = x - start;
        sums[place + place / kStep] = sum;
    }
    __syncthreads();
    const int j = run.first + threadIdx.x;
    if (j >= run.last) return;
    float sum = 0;
#pragma unroll 9
    for (int t = 0; t < taps; ++t) {
        const int place = plan.columns.at[t * plan.columns.outputs + j] - start;
        sum += weights[t] * sums[place + place / kStep];
    }
    reduced_row(plan, side, run.row)[j] = sum;
}

// What the low-pass filter reads where these entries of the two tables meet.
template <class Samples>
__device__ __forceinline__ float rescaled(const Samples& samples, const SpeedPlan& plan, int row, int column) {
    float sum = 0, total = 0;
    for (int b = 0; b < plan.blend; ++b) {
        const int y = b * plan.rows.entries + row;
        const typename Samples::Row line = samples.row(plan.rows.at[y]);
        const float down = plan.rows.weights[y];
        for (int a = 0; a < plan.blend; ++a) {
            const int x = a * plan.columns.entries + column;
            const float weight = plan.columns.weights[x] * down;
            total += weight;
            sum += samples(line, plan.columns.at[x]) * weight;
        }
    }
    return plan.normalised ? sum / total : sum;
}

template <class T, bool Difference>
__device__ void rescale_and_reduce(const Frame& frame, const SpeedPlan& plan) {
    __shared__ float sums[kMostTaps][kReduceOutputs];
    const int side = blockIdx.y % plan.sides;
    const SpeedSamples<T, Difference> samples(frame, plan, side);
    const ReducedRun run(plan);
    for (int i = threadIdx.x; i < plan.taps * kReduceOutputs; i += kReduceThreads) {
        const int s = i / kReduceOutputs, j = run.first + i % kReduceOutputs;
        if (j >= run.last) continue;
        float sum = 0;
        for (int t = 0; t < plan.taps; ++t)
            sum += plan.low_pass[t] *
                   rescaled(samples, plan, t * plan.rows.outputs + run.row, s * plan.columns.outputs + j);
        sums[s][j - run.first] = sum;
    }
    __syncthreads();
    const int j = run.first + threadIdx.x;
    if (j >= run.last) return;
    float sum = 0;
    for (int s = 0; s < plan.taps; ++s) sum += plan.low_pass[s] * sums[s][threadIdx.x];
    reduced_row(plan, side, run.row)[j] = sum;
}

// What the plan compares is one of these.
template <class T>
__device__ void reduce_plane(const Frame* frames, const SpeedPlan& plan, int width) {
    const Frame& frame = frames[blockIdx.z];
    if (!comparable(frame, plan)) return;
    if (plan.comparison == kChroma) reduce<T, false>(frame, plan, width);
    else reduce<T, true>(frame, plan, width);
}

template <class T>
__device__ void rescale_plane(const Frame* frames, const SpeedPlan& plan) {
    const Frame& frame = frames[blockIdx.z];
    if (!comparable(frame, plan)) return;
    if (plan.comparison == kChroma) rescale_and_reduce<T, false>(frame, plan);
    else rescale_and_reduce<T, true>(frame, plan);
}

__device__ __forceinline__ int mirror(int i, int size) { return i < 0 ? -i : i >= size ? 2 * size - 2 - i : i; }

// Takes the local mean away from a sample of the reduced plane.
__device__ void centre(const Frame* frames, const SpeedPlan& plan) {
    if (!comparable(frames[blockIdx.z], plan)) return;
    const int width = plan.columns.outputs, height = plan.rows.outputs, half = plan.mean_taps / 2;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= width * height) return;
    const float* in = plan.reduced + side_index(plan) * reduced_area(plan);
    const int x = i % width, y = i / width;
    float mean = 0;
    for (int s = 0; s < plan.mean_taps; ++s) {
        float column = 0;
        for (int t = 0; t < plan.mean_taps; ++t)
            column += plan.mean[t] * in[mirror(y - half + t, height) * width + mirror(x - half + s, width)];
        mean += plan.mean[s] * column;
    }
    plan.centred[side_index(plan) * reduced_area(plan) + i] = in[i] - mean;
}
