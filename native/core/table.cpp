// The kernel table of one instruction set. CMake compiles this source once for each, plain included, and
// defines ACUITY_ISA as its name.
#include "core/kernels.h"

#define ACUITY_QUOTE(text) #text
#define ACUITY_NAME(set) ACUITY_QUOTE(set)

namespace acuity::ACUITY_ISA {

#define ACUITY_EXTERN(Type, name) extern const Type##Kernels name##_kernels;
#if defined(ACUITY_SET_BEFORE)
}
namespace acuity::ACUITY_SET_BEFORE {
ACUITY_FAMILIES(ACUITY_EXTERN)
}
namespace acuity::ACUITY_ISA {
using namespace ACUITY_SET_BEFORE;  // a family declared here hides that set's
ACUITY_DOT_FAMILIES(ACUITY_EXTERN)
#else
ACUITY_FAMILIES(ACUITY_EXTERN)
#endif
#undef ACUITY_EXTERN

const Kernels kernels = {
    .name = ACUITY_NAME(ACUITY_ISA),
#define ACUITY_ENTRY(Type, name) .name = &name##_kernels,
    ACUITY_FAMILIES(ACUITY_ENTRY)
#undef ACUITY_ENTRY
};

}  // namespace acuity::ACUITY_ISA
