// SpEED: planes to reduced planes without their local means.
#pragma once
#include "speed_plan.cuh"

constexpr int kReduceThreads = 128;
constexpr int kReduceOutputs = 32;  // of one block, in a row
constexpr int kMostTaps = 40;       // more than a low-pass filter has
constexpr float kGrey = 128.0f;     // what samples count from, at 8 bits

// One row of a source. Conversions are exact: samples have at most 16 bits.
template <class T>
struct SpeedRow {
    const T* at;
    const T* minus;  // null: samples count from grey
    float unit;

    __device__ __forceinline__ SpeedRow(const SpeedSource& source, int depth, int row)
        : at(row_of<T>(*source.plane, source.number, row)),
          minus(source.minus == nullptr ? nullptr : row_of<T>(*source.minus, source.number, row)),
          unit(1.0f / static_cast<float>(1 << (depth - 8))) {}

    __device__ __forceinline__ float operator[](int x) const {
        const i32 value = at[x];
        if (minus == nullptr) return static_cast<float>(value) * unit - kGrey;
        return static_cast<float>(value - static_cast<i32>(minus[x])) * unit;
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
template <class T>
__device__ void reduce(const Frame* frames, const SpeedPlan& plan, int width) {
    constexpr int kSpan = kReduceOutputs * kStep + 2 * kMostTaps;
    __shared__ float sums[kSpan + kSpan / kStep + 1];  // with gaps, so that outputs read from different banks
    const Frame& frame = frames[blockIdx.z];
    if (!comparable(frame, plan)) return;
    const int side = blockIdx.y % plan.sides;
    const SpeedSource source = source_of(frame, plan, side);
    const ReducedRun run(plan);
    const int half = plan.taps / 2;
    const int start = max(run.first * kStep - half, 0), end = min((run.last - 1) * kStep + half + 1, width);
    for (int x = start + static_cast<int>(threadIdx.x); x < end; x += kReduceThreads) {
        const int phase = x % kStep;
        if (phase > half && phase < kStep - half) continue;  // between two windows
        float sum = 0;
        for (int t = 0; t < plan.taps; ++t)
            sum += plan.low_pass[t] * SpeedRow<T>(source, plan.depth, plan.rows.at[t * plan.rows.outputs + run.row])[x];
        const int place = x - start;
        sums[place + place / kStep] = sum;
    }
    __syncthreads();
    const int j = run.first + threadIdx.x;
    if (j >= run.last) return;
    float sum = 0;
    for (int t = 0; t < plan.taps; ++t) {
        const int place = plan.columns.at[t * plan.columns.outputs + j] - start;
        sum += plan.low_pass[t] * sums[place + place / kStep];
    }
    reduced_row(plan, side, run.row)[j] = sum;
}

// What the low-pass filter reads where these entries of the two tables meet.
template <class T>
__device__ __forceinline__ float rescaled(const SpeedSource& source, const SpeedPlan& plan, int row, int column) {
    float sum = 0, total = 0;
    for (int b = 0; b < plan.blend; ++b) {
        const int y = b * plan.rows.entries + row;
        const SpeedRow<T> samples(source, plan.depth, plan.rows.at[y]);
        const float down = plan.rows.weights[y];
        for (int a = 0; a < plan.blend; ++a) {
            const int x = a * plan.columns.entries + column;
            const float weight = plan.columns.weights[x] * down;
            total += weight;
            sum += samples[plan.columns.at[x]] * weight;
        }
    }
    return plan.normalised ? sum / total : sum;
}

template <class T>
__device__ void rescale_and_reduce(const Frame* frames, const SpeedPlan& plan) {
    __shared__ float sums[kMostTaps][kReduceOutputs];
    const Frame& frame = frames[blockIdx.z];
    if (!comparable(frame, plan)) return;
    const int side = blockIdx.y % plan.sides;
    const SpeedSource source = source_of(frame, plan, side);
    const ReducedRun run(plan);
    for (int i = threadIdx.x; i < plan.taps * kReduceOutputs; i += kReduceThreads) {
        const int s = i / kReduceOutputs, j = run.first + i % kReduceOutputs;
        if (j >= run.last) continue;
        float sum = 0;
        for (int t = 0; t < plan.taps; ++t)
            sum += plan.low_pass[t] *
                   rescaled<T>(source, plan, t * plan.rows.outputs + run.row, s * plan.columns.outputs + j);
        sums[s][j - run.first] = sum;
    }
    __syncthreads();
    const int j = run.first + threadIdx.x;
    if (j >= run.last) return;
    float sum = 0;
    for (int s = 0; s < plan.taps; ++s) sum += plan.low_pass[s] * sums[s][threadIdx.x];
    reduced_row(plan, side, run.row)[j] = sum;
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
