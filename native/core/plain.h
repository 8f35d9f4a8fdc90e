// Scalar code that the plain twins share, which the fast paths must equal bit for bit.
#pragma once

#include "core/kernels.h"

namespace acuity::plain {

// A row of a plane, widened sample by sample.
class Row {
  public:
    Row(const Plane& plane, int row, bool bytes)
        : at_(static_cast<const unsigned char*>(plane.data) + plane.stride * row), bytes_(bytes) {}
    std::uint32_t operator[](int column) const {
        if (bytes_) return at_[column];
        return reinterpret_cast<const std::uint16_t*>(at_)[column];
    }

  private:
    const unsigned char* at_;
    bool bytes_;
};

// Converts a whole picture to single precision, row after row.
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
