// The fast kernels of SpEED, which are spread over several sources.
#pragma once

#include "simd/isa.h"
#include "speed/table.h"

namespace acuity::ACUITY_ISA {

using HalfF32 [[gnu::vector_size(kBytes / 2), gnu::may_alias]] = float;  // one for each double of a register

inline F64 widen(HalfF32 v) { return __builtin_convertvector(v, F64); }

void speed_reduce(const SpeedSource& source, const SpeedReduction& reduction, float* scratch, float* out,
                  std::ptrdiff_t stride);
void speed_remove_mean(const float* in, const SpeedReduction& reduction, float* scratch, float* out,
                       std::ptrdiff_t stride);
bool speed_describe(const SpeedBlocks& blocks, float* eigenvalues, float* variances);
void speed_entropies(const float* eigenvalues, const float* variances, int blocks, float sigma_nn, float* out);

}  // namespace acuity::ACUITY_ISA
