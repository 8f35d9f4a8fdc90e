// Pictures in single precision, as the float extractors see them: 8-bit steps around mid-grey.
#pragma once

#include "kernels.h"

namespace acuity {

// Either video samples, whose rows are converted as they are needed, or values that are already there.
struct FloatPicture {
    int width, height;
    Plane samples;                // where `floats` is null
    const float* floats = nullptr;
    std::ptrdiff_t stride = 0;    // of `floats`, in values

    static FloatPicture of(const Plane& plane) { return {plane.width, plane.height, plane}; }
    static FloatPicture of(const float* values, std::ptrdiff_t stride, int width, int height) {
        return {width, height, {}, values, stride};
    }
};

// A sample of any depth counts in steps of an 8-bit one, around 128. Both are exact: a sample has at most 16 bits.
inline float sample_step(int depth) { return 1.0f / static_cast<float>(1 << (depth - 8)); }
inline constexpr float kMidGrey = 128.0f;

}  // namespace acuity
