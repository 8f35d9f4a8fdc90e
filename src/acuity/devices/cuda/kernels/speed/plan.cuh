// SpEED on the card: what is done with planes of one size, and where the statistics of each plane are kept.
//
// Every sum has the order of native/speed/plain.cpp: what runs side by side are sums that don't touch each other.
#pragma once
#include "pictures.cuh"

constexpr int kStep = 16;  // samples from one of the reduced plane to the next
constexpr int kSide = 5;   // samples a side of a block
constexpr int kCells = kSide * kSide;
constexpr double kSingular = 1e-6;  // below it an eigenvalue or a pivot counts as 0
constexpr u32 kAll = 0xFFFFFFFFu;   // lanes of a warp

// What planes are compared; the number of sides follows from it.
enum Comparison { kChroma = 0, kChange = 1, kChangeTowardsReference = 2 };

// Tap t of output o reads entry t * outputs + o; of a rescaled plane an entry blends several samples, number b
// of entry e being at[b * entries + e].
struct SpeedAxis {
    const i32* at;
    const float* weights;
    i32 outputs, entries;
};

// What makes a score of the statistics; `noise` is the number of its sigma among `noises`.
struct SpeedWeighing {
    float sigma_nn, nn_floor;
    i32 mode, noise;
};

// The twin of PLAN in twins/speed.py. A side is one picture's plane: 2 * pair + (0 reference, 1 distorted).
struct SpeedPlan {
    SpeedAxis columns, rows;
    const float *low_pass, *mean;
    const SpeedWeighing* weighings;
    const float* noises;
    float *reduced, *centred;        // of each side: columns.outputs * rows.outputs
    float *covariance, *eigenvalues; // kCells^2, kCells
    float *q, *r;                    // kCells^2 each
    i32* regular;                    // 2: eigenvalues, pivots
    float *variances, *entropies;    // of each side: blocks, and blocks for each noise
    i32 taps, mean_taps, blend, normalised;
    i32 across, down;                // blocks
    i32 comparison, sides, depth;
    i32 weighing_count, noise_count;
    i32 unused;
};

// A plane of a picture, or its difference from another's.
struct SpeedSource {
    const Picture* plane;
    const Picture* minus;
    int number;
};

__device__ __forceinline__ SpeedSource source_of(const Frame& frame, const SpeedPlan& plan, int side) {
    if (plan.comparison == kChroma) return {side % 2 ? &frame.dis : &frame.ref, nullptr, 1 + side / 2};
    const bool reference = side == 0 || plan.comparison == kChangeTowardsReference;
    return {side == 0 ? frame.before_ref : frame.before_dis, reference ? &frame.ref : &frame.dis, 0};
}

// Whether there is something to compare: the first frame has no change.
__device__ __forceinline__ bool comparable(const Frame& frame, const SpeedPlan& plan) {
    return plan.comparison == kChroma || frame.before_ref[0].plane[0] != nullptr;
}

__device__ __forceinline__ int blocks_of(const SpeedPlan& plan) { return plan.across * plan.down; }

// The side that a block of threads works on, among those of the batch: blockIdx.y of frame blockIdx.z.
__device__ __forceinline__ i64 side_index(const SpeedPlan& plan) {
    return static_cast<i64>(blockIdx.z) * plan.sides + blockIdx.y;
}

__device__ __forceinline__ i64 reduced_area(const SpeedPlan& plan) {
    return static_cast<i64>(plan.columns.outputs) * plan.rows.outputs;
}
