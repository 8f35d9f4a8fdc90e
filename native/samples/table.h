// Checks a plane's samples, before kernels rely on them.
#pragma once

#include "core/kernels.h"

namespace acuity {

struct SamplesKernels {
    // The bits that are set in any of the samples.
    std::uint32_t (*bits)(const Plane& plane);
};

}  // namespace acuity
