// Helpers for the SIMD sources of this family.
#pragma once

#include <algorithm>

#include "simd/halves.h"
#include "ssim/table.h"

namespace acuity::ACUITY_ISA {

constexpr int whole_registers(int count) { return (count + kLanes32 - 1) / kLanes32 * kLanes32; }

// Calls `body` with a null pointer of the type the plane's samples have.
template <class Body>
inline void with_sample_type(const Plane& plane, Body&& body) {
    if (plane.depth == kSingle)
        body(static_cast<const float*>(nullptr));
    else if (plane.depth == 8)
        body(static_cast<const std::uint8_t*>(nullptr));
    else
        body(static_cast<const std::uint16_t*>(nullptr));
}

template <class Sample>
inline const Sample* row_of(const Plane& plane, int y) {
    return reinterpret_cast<const Sample*>(static_cast<const char*>(plane.data) + plane.stride * y);
}

// Between two rows of a strip the memory is far apart, so the hardware doesn't prefetch: prefetch the lines of a
// row that comes soon.
template <class Sample>
inline void prefetch_row(const Plane& plane, int y, int first, int count) {
    if (y >= plane.height) return;
    const Sample* row = row_of<Sample>(plane, y) + first;
    for (int i = 0; i < count; i += static_cast<int>(kAlign / sizeof(Sample))) __builtin_prefetch(row + i);
}

// Each value times one weight. Reads and writes whole registers.
inline void weigh(const float* in, int count, float weight, float* out) {
    for (int x = 0; x < count; x += kLanes32) store(out + x, load<F32>(in + x) * weight);
}

void halve(const Plane& in, void* scratch, float* out, std::ptrdiff_t out_stride);
void shrink(const Plane& in, int factor, void* scratch, float* out, std::ptrdiff_t out_stride);
std::size_t halve_scratch_bytes();
std::size_t shrink_scratch_bytes(int width);

}  // namespace acuity::ACUITY_ISA
