// SpEED: means and covariance of what the places of a block see.
//
// Each place sees the plane but for the last four rows and columns, shifted. Positions come row by row, and
// each sum takes them one after the other: its latency decides, so samples are fetched while sums are added.
#pragma once
#include "speed_plan.cuh"

// Positions of a plane, cut into runs of at most Size in a row.
template <int Size>
struct SpeedRuns {
    int columns, across, count;
    const float* plane;
    int stride;

    __device__ __forceinline__ explicit SpeedRuns(const SpeedPlan& plan)
        : columns((plan.across - 1) * kSide + 1),
          across((columns + Size - 1) / Size),
          count(((plan.down - 1) * kSide + 1) * across),
          plane(plan.centred + side_index(plan) * reduced_area(plan)),
          stride(plan.columns.outputs) {}

    __device__ __forceinline__ int start(int run) const { return run % across * Size; }
    __device__ __forceinline__ int length(int run) const { return min(columns - start(run), Size); }
    // Where a place of a block reads the first position of a run.
    __device__ __forceinline__ const float* seen(int run, int cell) const {
        return plane + static_cast<i64>(run / across + cell / kSide) * stride + start(run) + cell % kSide;
    }
};

__device__ __forceinline__ i64 positions(const SpeedPlan& plan) {
    return static_cast<i64>((plan.down - 1) * kSide + 1) * ((plan.across - 1) * kSide + 1);
}

constexpr int kMeanRun = 32;

// A warp; each lane has one place.
__device__ void find_means(const Frame* frames, const SpeedPlan& plan) {
    if (!comparable(frames[blockIdx.z], plan)) return;
    const SpeedRuns<kMeanRun> runs(plan);
    const int cell = min(static_cast<int>(threadIdx.x), kCells - 1);
    float samples[kMeanRun], next[kMeanRun];
    const auto fetch = [&](int run, float* into) {
        const float* at = runs.seen(run, cell);
        const int last = runs.length(run) - 1;
#pragma unroll
        for (int i = 0; i < kMeanRun; ++i) into[i] = at[min(i, last)];
    };
    fetch(0, samples);
    float sum = 0;
    for (int run = 0; run < runs.count; ++run) {
        if (run + 1 < runs.count) fetch(run + 1, next);
        const int length = runs.length(run);
        if (length == kMeanRun) {
#pragma unroll
            for (int i = 0; i < kMeanRun; ++i) sum += samples[i];
        } else {
#pragma unroll
            for (int i = 0; i < kMeanRun; ++i)
                if (i < length) sum += samples[i];
        }
#pragma unroll
        for (int i = 0; i < kMeanRun; ++i) samples[i] = next[i];
    }
    if (threadIdx.x < kCells)
        plan.means[side_index(plan) * kCells + threadIdx.x] = sum / static_cast<float>(positions(plan));
}

constexpr int kCovarianceThreads = 128, kCovarianceWarps = kCovarianceThreads / 32;
constexpr int kCovarianceRows = 2;  // of the covariance, that a warp has
// Blocks of threads a side: rows but for the last, which is the last column of the others.
constexpr int kCovarianceGroups = (kCells - 1) / (kCovarianceWarps * kCovarianceRows);
constexpr int kCovarianceRun = 32;
static_assert(kCovarianceGroups * kCovarianceWarps * kCovarianceRows == kCells - 1, "rows are shared out evenly");

// Lane l of a warp has column l of its rows; one more lane has the last value of the diagonal.
__device__ void find_covariance(const Frame* frames, const SpeedPlan& plan) {
    constexpr int kPitch = 26;  // doubles a position: pairs of them are aligned
    constexpr int kShare = kCovarianceRun / kCovarianceWarps;
    __shared__ double centred[2][kCovarianceRun][kPitch];
    if (!comparable(frames[blockIdx.z], plan)) return;
    const SpeedRuns<kCovarianceRun> runs(plan);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int cell = min(lane, kCells - 1);
    const double mean = static_cast<double>(plan.means[side_index(plan) * kCells + cell]);

    // Every warp fetches its share of a run's positions.
    float fetched[kShare];
    const auto fetch = [&](int run) {
        const float* at = runs.seen(run, cell);
        const int last = runs.length(run) - 1;
#pragma unroll
        for (int i = 0; i < kShare; ++i) fetched[i] = at[min(warp * kShare + i, last)];
    };
    const auto put = [&](int buffer) {
        if (lane >= kCells) return;
#pragma unroll
        for (int i = 0; i < kShare; ++i)
            centred[buffer][warp * kShare + i][lane] = static_cast<double>(fetched[i]) - mean;
    };

    const int group = (blockIdx.x * kCovarianceWarps + warp) * kCovarianceRows;
    int row[kCovarianceRows];
    for (int k = 0; k < kCovarianceRows; ++k) row[k] = lane == kCells ? kCells - 1 : group + k;
    double sums[kCovarianceRows] = {};
    fetch(0);
    put(0);
    __syncthreads();
    for (int run = 0; run < runs.count; ++run) {
        if (run + 1 < runs.count) fetch(run + 1);
        const double(*here)[kPitch] = centred[run % 2];
        const auto add = [&](int i) {
            const double mine = here[i][cell];
#pragma unroll
            for (int k = 0; k < kCovarianceRows; ++k) sums[k] += here[i][row[k]] * mine;
        };
        const int length = runs.length(run);
        if (length == kCovarianceRun) {
#pragma unroll 8
            for (int i = 0; i < kCovarianceRun; ++i) add(i);
        } else {
            for (int i = 0; i < length; ++i) add(i);
        }
        if (run + 1 < runs.count) put((run + 1) % 2);
        __syncthreads();
    }
    if (lane > kCells) return;
    float* out = plan.covariance + side_index(plan) * kCells * kCells;
    for (int k = 0; k < kCovarianceRows; ++k) {
        const float value = static_cast<float>(sums[k] / static_cast<double>(positions(plan)));
        if (lane < kCells) out[row[k] * kCells + lane] = value;
        if (lane == kCells - 1) out[lane * kCells + row[k]] = value;
        if (lane == kCells && k == 0 && group == 0) out[kCells * kCells - 1] = value;
    }
}
