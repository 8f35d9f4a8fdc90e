// What the plain twins in single precision share.
#pragma once

#include "float_picture.h"
#include "plain.h"
#include "workspace.h"

namespace acuity::plain {

// The whole picture, row after row.
inline void convert(const FloatPicture& picture, float* out) {
    const bool bytes = picture.samples.depth == 8;
    for (int y = 0; y < picture.height; ++y) {
        for (int x = 0; x < picture.width; ++x) {
            *out++ = picture.floats != nullptr
                         ? picture.floats[y * picture.stride + x]
                         : static_cast<float>(Row(picture.samples, y, bytes)[x]) * sample_step(picture.samples.depth) -
                               kMidGrey;
        }
    }
}

}  // namespace acuity::plain
