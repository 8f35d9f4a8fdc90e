// Choosing a kernel table at run time, and the errors for what no table can compute.
#pragma once

#include <span>
#include <stdexcept>
#include <string>

#include "core/kernels.h"

namespace acuity {

// The instruction set asked for is not in this build or not on this machine.
struct UnsupportedKernels : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A combination of options, or a size of picture, that the metric can't compute.
struct UnsupportedOptions : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Tables compiled into this build, fastest first; `plain` is always there and always last.
std::span<const Kernels* const> all_kernels();

// Whether this machine can run a table.
bool kernels_supported(const Kernels& kernels);

// The table of that name; with no name the one ACUITY_CPU names, or else the fastest this machine runs.
const Kernels& select_kernels(const std::string& name);

}  // namespace acuity
