// Errors of 8x8 blocks, weighed by how visible they are (PSNR-HVS-M).
#pragma once

#include "core/kernels.h"

namespace acuity {

constexpr int kHvsBlock = 8;  // samples a side
constexpr int kHvsStep = 7;   // from block to block
constexpr int kHvsArea = kHvsBlock * kHvsBlock;

// How many blocks lie along a side.
constexpr int hvs_blocks(int side) { return side < kHvsBlock ? 0 : (side - kHvsBlock) / kHvsStep + 1; }

// Of each frequency, vertical before horizontal.
struct HvsWeights {
    float sensitivity[kHvsArea];
    float masking[kHvsArea];
};

struct PsnrHvsKernels {
    // The sum over all blocks and frequencies, added up one by one in single precision. Both planes have at
    // least 8x8 samples and at most 12 bits.
    float (*weighed_error)(const Plane& ref, const Plane& dis, const HvsWeights& weights);
};

}  // namespace acuity
