#include "cambi/simd_kernels.h"

namespace acuity::ACUITY_ISA {

extern const CambiKernels cambi_kernels;
const CambiKernels cambi_kernels = {
    .flatten = cambi_flatten, .filter = cambi_filter, .contrast = cambi_contrast, .largest = cambi_largest};

}  // namespace acuity::ACUITY_ISA
