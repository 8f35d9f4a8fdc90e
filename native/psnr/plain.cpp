#include "core/plain.h"
#include "psnr/table.h"

namespace acuity::plain {

namespace {

std::uint64_t squared_error(const Plane& ref, const Plane& dis) {
    const bool bytes = ref.depth == 8;
    std::uint64_t sum = 0;
    for (int y = 0; y < ref.height; ++y) {
        const Row a(ref, y, bytes), b(dis, y, bytes);
        for (int x = 0; x < ref.width; ++x) {
            const std::int64_t error = std::int64_t{a[x]} - std::int64_t{b[x]};
            sum += static_cast<std::uint64_t>(error * error);
        }
    }
    return sum;
}

}  // namespace

extern const PsnrKernels psnr_kernels;
const PsnrKernels psnr_kernels = {.squared_error = squared_error};

}  // namespace acuity::plain
