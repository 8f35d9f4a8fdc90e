// Options or pictures the arithmetic has no answer for.
#pragma once

#include <stdexcept>

namespace acuity {

// A combination of options that the metric can't compute.
struct UnsupportedOptions : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace acuity
