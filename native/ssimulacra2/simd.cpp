#include "ssimulacra2/blur_simd.h"
#include "ssimulacra2/compare_simd.h"
#include "ssimulacra2/light_simd.h"

namespace acuity::ACUITY_ISA {

extern const Ssimulacra2Kernels ssimulacra2_kernels;
const Ssimulacra2Kernels ssimulacra2_kernels = {.linear = s2::linear,
                                                .halve = s2::halve,
                                                .colour = s2::colour,
                                                .blur_across = s2::blur_across,
                                                .compare = s2::compare};

}  // namespace acuity::ACUITY_ISA
