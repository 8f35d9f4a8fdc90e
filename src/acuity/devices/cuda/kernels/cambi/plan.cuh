// Banding: what kernels know of the pictures that they judge, as twins/cambi.py lays it out.
//
// A plane of samples carries each sample's value in 10 bits and, in the top bit, whether its surroundings are
// flat enough for banding to be seen there. Zeros around the columns of a plane are never counted.
#pragma once
#include "pictures.cuh"

namespace {

constexpr int kScales = 5;
constexpr u32 kFlat = 0x8000;
constexpr u32 kAll = 0xFFFFFFFFu;  // lanes of a warp

struct CambiScale {
    i64 plane;      // where its first sample is among the samples of a frame
    i64 map;        // where its first contrast is among the contrasts of a frame
    i64 strongest;  // how many contrasts count
    i32 width, height;
    i32 stride;     // of planes
    i32 pitch;      // of maps; the contrasts that are in no picture are 0
    i32 across;     // strips of the contrast kernel beside each other
    i32 strips;     // of the scales before
};

struct CambiPlan {
    const i32 *columns, *rows;  // where each comes from; null: 1 to 1
    const i32* first;           // of each level: the smallest step that can be seen, less 1
    const float* weights;       // of each step
    const float* inverse;       // 1 / n
    i64 samples;                // of the planes of a frame
    i32 width, height;          // the picture is judged at
    i32 smooth;                 // average 2x2 samples, which undoes dithering
    i32 flat;                   // more of the 7x7 samples than this must equal their right and lower neighbours
    i32 radius;                 // of the window
    i32 base, levels, steps;    // the smallest value that is counted, how many, and the largest step
    i32 strips;                 // of all scales
    i32 unused;
    CambiScale scales[kScales];
};

// The value of which there are two or three, or else the smallest.
__device__ __forceinline__ u32 most_frequent(u32 a, u32 b, u32 c) {
    const u32 of_two = b == c ? b : min(min(a, b), c);
    return a == b || a == c ? a : of_two;
}

}  // namespace
