// Squared errors of two planes.
#pragma once

#include "core/kernels.h"

namespace acuity {

struct PsnrKernels {
    // Sum of squared differences.
    std::uint64_t (*squared_error)(const Plane& ref, const Plane& dis);
};

}  // namespace acuity
