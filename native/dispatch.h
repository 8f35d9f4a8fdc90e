// Choosing a kernel table at run time.
#pragma once

#include <stdexcept>
#include <string>

#include "kernels.h"

namespace acuity {

// The instruction set asked for is not in this build or not on this machine.
struct UnsupportedKernels : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The table of that name; with no name the one ACUITY_CPU names, or else the fastest this machine runs.
const Kernels& select_kernels(const std::string& name);

}  // namespace acuity
