// SSIMULACRA 2 on the card: what kernels are told about the scales, and how their rows are kept.
//
// Pictures are walked from top to bottom, a slab of rows at a time, at all scales at once: a slab has half as many
// rows at each scale as at the one before. Its rows become colour and are blurred across; both are kept in rings of a
// few more rows, because the blur down looks back. All arithmetic is native/ssimulacra2's.
#pragma once
#include "pictures.cuh"

constexpr int kChannels = 3, kBlurred = 5, kModes = 3, kMaps = 3;
constexpr int kLanes = 16;   // columns that have a sum of their own
constexpr int kRadius = 5;   // of the blur, whose weight is zero there
constexpr int kDelay = kRadius - 1, kSpan = 2 * kRadius;  // rows from entering the blur to leaving it, and to the last
constexpr int kBand = 4;     // rows whose errors are added up together
constexpr int kCurve = 2048;

// The blur as three cosines: mode k follows y[n] = gain x[n] - turn y[n-1] - y[n-2].
__device__ constexpr double kGain[kModes] = {0.05529523572608661, -0.05883668702694996, 0.012955819110517082};
__device__ constexpr double kTurn[kModes] = {-1.902113032590307, -1.1755705045849463, -1.2246467991473532e-16};

// How light becomes colour: the twin of _COLOUR in twins/ssimulacra2.py.
struct Ssimulacra2Colour {
    i32 chroma_width, chroma_height;  // of the pictures; 0: there is none
    i32 black, grey;
    float luma, red_v, green_u, green_v, blue_u;
    float mix[9];
    const float2* curve;  // light at kCurve + 1 values, each with the step to the next
};

// Kernels that do all scales in one launch: which blocks are a scale's.
enum Ssimulacra2Part { kAcross, kDown, kErrors, kParts };

// One scale: the twin of _SCALE in twins/ssimulacra2.py. Every frame has its part of each memory.
struct Ssimulacra2Scale {
    i32 width, height;
    i32 stride;           // floats from row to row: columns up to a multiple of kLanes
    i32 rows, ring;       // of a slab, and of the rings
    i32 first[kParts];    // blocks of the scales before, by kernel
    float* light;         // of a slab: for both pictures three planes; null: the pictures themselves
    float *colour, *across;  // rings: planes of both pictures; for each channel what is blurred
    float* state;         // of the blur down
    float* errors;        // what the errors of a slab are made of
    float* plain;         // sums of chunks of errors, and what they reach
    void* growths;        // what the chunks add
};

// The scale that a block works on; `block` becomes its number there.
__device__ __forceinline__ Ssimulacra2Scale scale_of(const Ssimulacra2Scale* scales, int count, Ssimulacra2Part part,
                                                     int& block) {
    int scale = 0;
    while (scale + 1 < count && block >= scales[scale + 1].first[part]) ++scale;
    block -= scales[scale].first[part];
    return scales[scale];
}

// A row of a ring, whose first row of a slab is at `start`, in which places from -kSpan on are asked for.
__device__ __forceinline__ int in_ring(int place, const Ssimulacra2Scale& of) {
    return place < 0 ? place + of.ring : place >= of.ring ? place - of.ring : place;
}

// The first row of a ring's plane, of the frame blockIdx.z.
__device__ __forceinline__ float* ring_plane(float* ring, int planes, int plane, const Ssimulacra2Scale& of) {
    return ring + (static_cast<i64>(blockIdx.z) * planes + plane) * of.ring * of.stride;
}

// Rows of a slab that leave the blur down, in bands; the first ones of a picture come kDelay rows after their number.
__device__ __forceinline__ int leaving_rows(const Ssimulacra2Scale& of, int slab) {
    const int left = of.height + kDelay - slab * of.rows;
    return min(max((left + kBand - 1) / kBand * kBand, 0), of.rows);
}
