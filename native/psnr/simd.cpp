// The compiler vectorises these: integer sums may be taken in any order.
#include <algorithm>

#include "psnr/table.h"
#include "simd/isa.h"

namespace acuity::ACUITY_ISA {

namespace {

// Columns whose squared errors fit 32 bits: of bytes, and none of words, which need 64 at once.
constexpr int kByteRun = 65536;

std::uint64_t row_of_bytes(const std::uint8_t* a, const std::uint8_t* b, int width) {
    std::uint64_t sum = 0;
    for (int start = 0; start < width; start += kByteRun) {
        const int end = std::min(width, start + kByteRun);
        std::uint32_t part = 0;
        for (int x = start; x < end; ++x) {
            const auto error = static_cast<std::int16_t>(a[x] - b[x]);
            part += static_cast<std::uint32_t>(error * error);
        }
        sum += part;
    }
    return sum;
}

std::uint64_t row_of_words(const std::uint16_t* a, const std::uint16_t* b, int width) {
    std::uint64_t sum = 0;
    for (int x = 0; x < width; ++x) {
        const std::uint32_t error = a[x] > b[x] ? a[x] - b[x] : b[x] - a[x];
        sum += error * error;  // at most 65535 squared
    }
    return sum;
}

std::uint64_t squared_error(const Plane& ref, const Plane& dis) {
    const auto row = [](const Plane& plane, int y) {
        return static_cast<const unsigned char*>(plane.data) + plane.stride * y;
    };
    std::uint64_t sum = 0;
    for (int y = 0; y < ref.height; ++y) {
        if (ref.depth == 8)
            sum += row_of_bytes(row(ref, y), row(dis, y), ref.width);
        else
            sum += row_of_words(reinterpret_cast<const std::uint16_t*>(row(ref, y)),
                                reinterpret_cast<const std::uint16_t*>(row(dis, y)), ref.width);
    }
    return sum;
}

}  // namespace

extern const PsnrKernels psnr_kernels;
const PsnrKernels psnr_kernels = {.squared_error = squared_error};

}  // namespace acuity::ACUITY_ISA
