#define ACUITY_ISA avx2
#include "simd/avx2.h"
#include "simd_table.h"

namespace acuity {

extern const Kernels kernels_avx2;
const Kernels kernels_avx2 = avx2::table("avx2");

}  // namespace acuity
