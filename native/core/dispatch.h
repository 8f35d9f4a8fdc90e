// Chooses a kernel table at run time; and the errors for what no table can compute.
#pragma once

#include <span>
#include <stdexcept>
#include <string>

#include "core/kernels.h"

namespace acuity {

// The requested instruction set is not in this build or not on this machine.
struct UnsupportedKernels : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A combination of options, or a size of picture, that the metric can't compute.
struct UnsupportedOptions : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The tables in this build, fastest first; `plain` is always the last.
std::span<const Kernels* const> all_kernels();

// Whether this machine can run a table.
bool kernels_supported(const Kernels& kernels);

// The table of that name; without a name that of ACUITY_CPU, or else the fastest that this machine runs.
const Kernels& select_kernels(const std::string& name);

}  // namespace acuity
