// SSIMULACRA 2 on the card: what kernels are told about a scale, and how its rows are kept.
//
// A scale is walked from top to bottom, a slab of rows at a time. Rows of a slab become colour and are blurred across;
// both are kept in rings of a few more rows, because the blur down looks back. All arithmetic is native/ssimulacra2's.
#pragma once
#include "pictures.cuh"

constexpr int kSlab = 128, kRing = kSlab + 16;  // rows
constexpr int kChannels = 3, kBlurred = 5, kModes = 3, kMaps = 3;
constexpr int kLanes = 16;   // columns that have a sum of their own
constexpr int kRadius = 5;   // of the blur, whose weight is zero there
constexpr int kDelay = kRadius - 1, kSpan = 2 * kRadius;  // rows from entering the blur to leaving it, and to the last
constexpr int kCurve = 2048;

// The blur as three cosines: mode k follows y[n] = gain x[n] - turn y[n-1] - y[n-2].
__device__ constexpr double kGain[kModes] = {0.05529523572608661, -0.05883668702694996, 0.012955819110517082};
__device__ constexpr double kTurn[kModes] = {-1.902113032590307, -1.1755705045849463, -1.2246467991473532e-16};

// The twin of _PLAN in twins/ssimulacra2.py.
struct Ssimulacra2Plan {
    i32 width, height;                // of the scale
    i32 chroma_width, chroma_height;  // of the pictures; 0: there is none
    i32 stride;                       // floats from row to row of the rings and of the state
    i32 black, grey;
    float luma, red_v, green_u, green_v, blue_u;
    float mix[9];
    i32 frame_light;           // floats of a frame's light, at all scales but the first
    const float* curve;        // light at kCurve + 1 values, then the step from each to the next
    const float* light;        // of this scale: for both pictures three planes; the first scale reads the pictures
    float* halved;             // of the next; null: there is none
    float *colour, *across;    // rings: planes of both pictures; for each channel what is blurred
    float* state;              // of the blur down
    double* terms;             // errors of a slab
};

__device__ __forceinline__ int blocks_of(const Ssimulacra2Plan& plan) { return (plan.width + kLanes - 1) / kLanes; }

// A row of a ring's plane, of the frame blockIdx.z.
__device__ __forceinline__ float* ring_row(float* ring, int planes, int plane, int row, const Ssimulacra2Plan& plan) {
    return ring + ((static_cast<i64>(blockIdx.z) * planes + plane) * kRing + row % kRing) * plan.stride;
}

// Where a slab's errors of one map begin: by bands of four rows, then blocks of 16 columns, rows and columns.
__device__ __forceinline__ double* terms_of(const Ssimulacra2Plan& plan, int channel, int map) {
    return plan.terms + (static_cast<i64>(blockIdx.z) * kChannels * kMaps + channel * kMaps + map) * kSlab *
                            (blocks_of(plan) * kLanes);
}
