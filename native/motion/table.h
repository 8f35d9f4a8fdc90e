// Motion: how far two pictures differ after a blur.
#pragma once

#include "core/kernels.h"

namespace acuity {

struct MotionKernels {
    // Bytes of scratch memory for pictures up to this width.
    std::size_t (*scratch_bytes)(int width);

    // Sum of absolute differences of two blurred pictures.
    std::uint64_t (*sad)(const Plane& before, const Plane& now, void* scratch);
};

// The blur, in Q16.
inline constexpr std::uint16_t kMotionFilter[5] = {3571, 16004, 26386, 16004, 3571};

}  // namespace acuity
