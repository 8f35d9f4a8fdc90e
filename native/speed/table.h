// SpEED: by how much the entropies of small blocks differ between two pictures, after most of the detail is gone.
//
// A plane is low-passed and reduced to every 16th sample each way, its local mean is taken away, and what is
// left is described as blocks of 5x5 samples: the covariance of their 25 places, its eigenvalues, and how
// large each block is in terms of that covariance. Single precision and the order of every sum are part of
// the metric: nearly singular covariances make large differences of small ones.
#pragma once

#include "core/kernels.h"

namespace acuity {

constexpr int kSpeedStep = 16;                       // from one sample of the reduced plane to the next
constexpr int kSpeedBlock = 5;                       // samples a side of a block
constexpr int kSpeedCells = kSpeedBlock * kSpeedBlock;
constexpr int kSpeedSlack = 16;                      // samples that may be read after a row, and are 0
constexpr float kSpeedGrey = 128.0f;                 // what samples of a plane count from, at 8 bits
constexpr double kSpeedSingular = 1e-6;              // below it an eigenvalue or a pivot counts as 0

// A plane, or its difference from another.
struct SpeedSource {
    Plane plane;
    Plane minus;  // .data is null where nothing is subtracted: samples then count from grey
};

// Which samples make those that the low-pass filter reads along one axis: tap t of output o is entry
// t * outputs + o. Where the picture is rescaled, an entry blends several samples: number b of entry e is
// at[b * entries + e], and weighs as much as weights at the same place.
struct SpeedAxis {
    int outputs;
    int entries;  // taps * outputs
    const std::int32_t* at;
    const float* weights;
};

// How a plane is reduced.
struct SpeedReduction {
    SpeedAxis columns, rows;
    int blend;         // samples blended along each axis; 0: the picture is not rescaled
    bool normalised;   // whether a blend is divided by the sum of its weights
    int taps;          // of the low-pass filter
    const float* low_pass;
    int mean_taps;     // of the local mean
    const float* mean;
};

// The reduced plane: whole blocks of it count. Rows have kSpeedSlack zeros after them.
struct SpeedBlocks {
    const float* data;
    std::ptrdiff_t stride;  // in samples
    int across, down;
};

// Room for a row of samples or entries, in samples; the kernels below that want scratch want kSpeedRows of them.
constexpr int kSpeedRows = 4;
inline std::ptrdiff_t speed_row(int width, const SpeedReduction& reduction) {
    const int longest = width > reduction.columns.entries ? width : reduction.columns.entries;
    return (longest + 2 * kSpeedSlack - 1) / kSpeedSlack * kSpeedSlack;
}

struct SpeedKernels {
    // Low-pass and reduce. `out` has rows.outputs rows of columns.outputs samples, `stride` samples apart.
    void (*reduce)(const SpeedSource& source, const SpeedReduction& reduction, float* scratch, float* out,
                   std::ptrdiff_t stride);

    // Take the local mean away from a reduced plane; writes the slack as well.
    void (*remove_mean)(const float* in, const SpeedReduction& reduction, float* scratch, float* out,
                        std::ptrdiff_t stride);

    // Eigenvalues of the covariance of a block's places, and the variance of each block in its terms. False:
    // the covariance is singular, and the variances are 0. `variances` has room for whole registers.
    bool (*describe)(const SpeedBlocks& blocks, float* eigenvalues, float* variances);

    // Entropy of each block with noise of that deviation; both arrays have room for whole registers.
    void (*entropies)(const float* eigenvalues, const float* variances, int blocks, float sigma_nn, float* out);
};

}  // namespace acuity
