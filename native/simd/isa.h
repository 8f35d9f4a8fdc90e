// The vocabulary of the instruction set being compiled: CMake defines ACUITY_ISA and one ACUITY_ISA_<SET>.
#pragma once

#if defined(ACUITY_ISA_AVX512VNNI)  // the same vocabulary, with dot products
#define ACUITY_ISA_AVX512
#elif defined(ACUITY_ISA_AVX2VNNI)
#define ACUITY_ISA_AVX2
#elif defined(ACUITY_ISA_NEON_DOTPROD)
#define ACUITY_ISA_NEON
#endif

#if defined(ACUITY_ISA_SSE4)
#include "simd/sse4.h"
#elif defined(ACUITY_ISA_AVX2)
#include "simd/avx2.h"
#elif defined(ACUITY_ISA_AVX512)
#include "simd/avx512.h"
#elif defined(ACUITY_ISA_NEON)
#include "simd/neon.h"
#else
#error "compile this once for each instruction set, see CMakeLists.txt"
#endif
