// Mean visible errors of a picture pair, one for each plane.
#pragma once

#include "psnr_hvs/table.h"

namespace acuity {

constexpr int kHvsMostDepth = 12;  // beyond it, squares of frequencies don't fit 32 bits

// Of plane 0, 1 or 2 (luma, Cb, Cr), as a share of the squared peak.
double hvs_error(const PsnrHvsKernels& kernels, const Plane& ref, const Plane& dis, int plane);

// The same from the sum over a plane, wherever it was taken.
double hvs_mean(float sum, int width, int height, int depth);

const HvsWeights& hvs_weights(int plane);

}  // namespace acuity
