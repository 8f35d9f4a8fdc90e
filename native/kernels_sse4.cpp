#define ACUITY_ISA sse4
#include "simd/sse4.h"
#include "simd_table.h"

namespace acuity {

extern const Kernels kernels_sse4;
const Kernels kernels_sse4 = sse4::table("sse4");

}  // namespace acuity
