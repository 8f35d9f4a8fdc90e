// Sums of a plane's samples and of their squares.
#pragma once

#include "core/kernels.h"

namespace acuity {

// Squares as single precision has them: above 12 bits, rounded to 24 bits.
struct Moments {
    std::uint64_t sum, squares;
};

struct MomentKernels {
    Moments (*moments)(const Plane& plane);

    // Sum of squared differences of planes deeper than 12 bits, each rounded like the squares above.
    std::uint64_t (*rounded_error)(const Plane& ref, const Plane& dis);
};

}  // namespace acuity
