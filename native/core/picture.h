// Pictures as the kernels see them: planes of samples, and pictures in single precision.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acuity {

// A plane of samples in memory; 8-bit samples are bytes, deeper ones little-endian words. No sample
// is above 2^depth - 1: intermediate values would wrap differently on different machines.
struct Plane {
    const void* data;
    std::ptrdiff_t stride;  // bytes from row to row
    int width, height;
    int depth;              // bits a sample
};

// A picture in single precision: 8-bit steps around mid-grey. It is either video samples, whose rows are
// converted as they are needed, or values that are already converted.
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

// The factor and offset that convert a sample of any depth to 8-bit steps around 0. The conversion is exact,
// because a sample has at most 16 bits.
inline float sample_step(int depth) { return 1.0f / static_cast<float>(1 << (depth - 8)); }
inline constexpr float kMidGrey = 128.0f;

// Reflects an index into 0..n-1 without repeating the edge: -1 is 1, n is n - 2. n must be at least 2.
constexpr int reflect(int i, int n) {
    while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
    return i;
}

}  // namespace acuity
