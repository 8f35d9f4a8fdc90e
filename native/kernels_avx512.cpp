#define ACUITY_ISA avx512
#include "simd/avx512.h"
#include "simd_table.h"

namespace acuity {

extern const Kernels kernels_avx512;
const Kernels kernels_avx512 = avx512::table("avx512");

}  // namespace acuity
