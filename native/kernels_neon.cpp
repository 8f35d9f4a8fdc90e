#define ACUITY_ISA neon
#include "simd/neon.h"
#include "simd_table.h"

namespace acuity {

extern const Kernels kernels_neon;
const Kernels kernels_neon = neon::table("neon");

}  // namespace acuity
