// Motion in single precision: how much two blurred pictures differ.
#pragma once

#include "core/kernels.h"

namespace acuity {

constexpr int kFloatMotionTaps = 5;  // of the widest blur

struct FloatMotionPair {
    FloatPicture before, now;  // of one size
    const float* blur;         // 1, 3 or 5 taps, the same down and across
    int taps;
    // Where the blurred pictures stay, row after row; null: nowhere.
    float *before_blurred = nullptr, *now_blurred = nullptr;
    std::ptrdiff_t stride = 0;
};

struct FloatMotionKernels {
    std::size_t (*scratch_bytes)(int width, int height);

    // The sum of absolute differences.
    float (*sad)(const FloatMotionPair& pair, void* scratch);
};

}  // namespace acuity
