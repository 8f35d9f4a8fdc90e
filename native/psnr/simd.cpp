// The compiler vectorises these: integer sums may be taken in any order. What it finds no good form for on ARM is
// written out.
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
        int x = start;
#if defined(__ARM_FEATURE_DOTPROD)
        uint32x4_t lanes[2] = {};
        for (; x + 32 <= end; x += 32) {
            for (int i = 0; i < 2; ++i) {
                const uint8x16_t error = vabdq_u8(vld1q_u8(a + x + 16 * i), vld1q_u8(b + x + 16 * i));
                lanes[i] = vdotq_u32(lanes[i], error, error);
            }
        }
        part = vaddvq_u32(vaddq_u32(lanes[0], lanes[1]));
#endif
        for (; x < end; ++x) {
            const auto error = static_cast<std::int16_t>(a[x] - b[x]);
            part += static_cast<std::uint32_t>(error * error);
        }
        sum += part;
    }
    return sum;
}

std::uint64_t row_of_words(const std::uint16_t* a, const std::uint16_t* b, int width) {
    std::uint64_t sum = 0;
    int x = 0;
#if defined(ACUITY_ISA_NEON)
    uint64x2_t lanes[2] = {};
    for (; x + 8 <= width; x += 8) {
        const uint16x8_t error = vabdq_u16(vld1q_u16(a + x), vld1q_u16(b + x));
        lanes[0] = vpadalq_u32(lanes[0], vmull_u16(vget_low_u16(error), vget_low_u16(error)));
        lanes[1] = vpadalq_u32(lanes[1], vmull_high_u16(error, error));
    }
    sum = vaddvq_u64(vaddq_u64(lanes[0], lanes[1]));
#endif
    for (; x < width; ++x) {
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
