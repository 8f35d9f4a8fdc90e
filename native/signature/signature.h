// The signature of a picture: the mean of each cell, in steps of an 8-bit sample around mid-grey.
#pragma once

#include "signature/table.h"

namespace acuity {

// The means from the sums of cell_sums(), of a picture of that size.
void means_of_sums(const std::uint64_t* sums, int width, int height, int depth, const CellGrid& grid, float* means);

// Writes the means row by row of the grid, which has at least one cell and no more cells than samples.
void cell_means(const SignatureKernels& kernels, const Plane& luma, const CellGrid& grid, float* means);

}  // namespace acuity
