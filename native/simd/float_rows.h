// Rows of pictures in single precision, and sums whose order is that of the plain code.
#pragma once

#include "core/kernels.h"
#include "core/workspace.h"
#include "simd/isa.h"

namespace acuity::ACUITY_ISA {

// Values a row of scratch memory takes: whole registers, with room for one more.
inline std::size_t row_room(int width) {
    return (static_cast<std::size_t>(width) + 2 * kLanes32 - 1) / kLanes32 * kLanes32;
}

template <class T>
inline void convert_row(const T* samples, int width, float step, float* out) {
    for (int x = 0; x < width; ++x) out[x] = static_cast<float>(samples[x]) * step - kMidGrey;
}

// Rows of a picture, asked for from top to bottom. Those of video samples stay for the last `kept` rows.
class FloatRows {
  public:
    FloatRows(const FloatPicture& picture, float* ring, int kept)
        : picture_(picture), ring_(ring), kept_(kept), room_(row_room(picture.width)),
          step_(picture.floats == nullptr ? sample_step(picture.samples.depth) : 0.0f) {}

    static std::size_t bytes(int width, int kept) {
        return row_room(width) * static_cast<std::size_t>(kept) * sizeof(float);
    }

    const float* at(int y) {
        if (picture_.floats != nullptr) return picture_.floats + y * picture_.stride;
        for (; next_ <= y; ++next_) convert(next_, slot(next_));
        return slot(y);
    }

  private:
    float* slot(int y) const { return ring_ + room_ * static_cast<std::size_t>(y % kept_); }

    void convert(int y, float* out) const {
        const Plane& p = picture_.samples;
        const void* row = static_cast<const char*>(p.data) + y * p.stride;
        if (p.depth == 8)
            convert_row(static_cast<const std::uint8_t*>(row), p.width, step_, out);
        else
            convert_row(static_cast<const std::uint16_t*>(row), p.width, step_, out);
    }

    const FloatPicture& picture_;
    float* ring_;
    int kept_;
    std::size_t room_;
    float step_;
    int next_ = 0;
};

// Sums of N rows, each from left to right. Single precision rounds after every step, so another order would
// give other digits; rows side by side keep the adders busy all the same.
template <int N>
inline void sum_rows(const float* const (&rows)[N], int from, int to, float (&sums)[N]) {
    float s[N] = {};
    for (int x = from; x < to; ++x)
        for (int r = 0; r < N; ++r) s[r] += rows[r][x];
    for (int r = 0; r < N; ++r) sums[r] = s[r];
}

}  // namespace acuity::ACUITY_ISA
