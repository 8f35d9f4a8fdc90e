// Whether samples are as deep as their plane says.
#pragma once

#include "kernels.h"

namespace acuity {

// Kernels rely on it: above the peak, intermediate values would wrap differently on different machines.
bool samples_fit(const Plane& plane);

}  // namespace acuity
