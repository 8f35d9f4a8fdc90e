// The kernel table: one for each instruction set, with a pointer to each family's functions.
//
// A family (families.h) declares its functions once, in its table.h. They are filled in by its plain.cpp and,
// once for each instruction set, by its simd.cpp. All tables compute the same digits and differ only in speed.
#pragma once

#include "core/families.h"
#include "core/picture.h"

// The instruction sets of this processor's architecture, fastest first. The name of a set is the name of its
// vocabulary in simd/, of its namespace and of its function in cpu.h; CMakeLists.txt has its compiler flags.
#if defined(__x86_64__)
#define ACUITY_INSTRUCTION_SETS(X) X(avx512vnni) X(avx512) X(avx2vnni) X(avx2) X(sse4) X(plain)
#elif defined(__aarch64__)
#define ACUITY_INSTRUCTION_SETS(X) X(neon_dotprod) X(neon) X(plain)
#else
#define ACUITY_INSTRUCTION_SETS(X) X(plain)
#endif

namespace acuity {

constexpr int kMaxGains = 4;    // gain limits served by one pass
constexpr int kScales = 4;      // of VIF and ADM
constexpr std::size_t kAlign = 64;  // one cache line, one widest register

#define ACUITY_DECLARE(Type, name) struct Type##Kernels;
ACUITY_FAMILIES(ACUITY_DECLARE)
#undef ACUITY_DECLARE

struct Kernels {
    const char* name;
#define ACUITY_MEMBER(Type, name) const Type##Kernels* name;
    ACUITY_FAMILIES(ACUITY_MEMBER)
#undef ACUITY_MEMBER
};

#define ACUITY_DECLARE(set) namespace set { extern const Kernels kernels; }
ACUITY_INSTRUCTION_SETS(ACUITY_DECLARE)
#undef ACUITY_DECLARE

}  // namespace acuity
