// Signal and noise of a picture pair, after a smoothing that removes invisible noise.
#pragma once

#include "core/kernels.h"

namespace acuity {

// Sums over all samples, in single precision: each row from left to right, then the rows from top to bottom.
struct AnsnrSums {
    float signal;  // squares of the smoothed reference, grey being 0
    float noise;   // squares of its difference from the smoothed distorted picture
};

// The reference is smoothed by 1 2 1 across and down, over 16; the distorted picture by this, over 571.
constexpr int kAnsnrTaps[5][5] = {
    {2, 7, 12, 7, 2}, {7, 31, 52, 31, 7}, {12, 52, 127, 52, 12}, {7, 31, 52, 31, 7}, {2, 7, 12, 7, 2},
};
constexpr float kAnsnrWhole = 571.0f;

constexpr int kAnsnrMinSize = 3;  // mirrored edges take up to the third sample

// Mirrored: the first sample comes once, the last one twice.
constexpr int ansnr_mirror(int at, int size) { return at < 0 ? -at : at >= size ? 2 * size - at - 1 : at; }

struct AnsnrKernels {
    // `scratch` holds ansnr_scratch_bytes(width).
    void (*sums)(const Plane& ref, const Plane& dis, void* scratch, AnsnrSums& out);
};

// Rows of single-precision numbers, with room for registers that reach past the last column.
constexpr int kAnsnrRows = 25;
constexpr std::size_t ansnr_row(int width) { return (static_cast<std::size_t>(width) + 47) / 16 * 16; }
constexpr std::size_t ansnr_scratch_bytes(int width) { return ansnr_row(width) * sizeof(float) * kAnsnrRows; }

}  // namespace acuity
