#define ACUITY_ISA avx512vnni
#define ACUITY_FAMILY_ISA avx512  // no family multiplies bytes or words in dot products
#include "simd/avx512.h"
#include "simd_table.h"

namespace acuity {

extern const Kernels kernels_avx512vnni;
const Kernels kernels_avx512vnni = avx512vnni::table("avx512vnni");

}  // namespace acuity
