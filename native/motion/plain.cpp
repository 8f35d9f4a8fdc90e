// Motion, plain: blur the difference of two pictures and sum its magnitude.
#include <cstdlib>

#include "core/plain.h"
#include "motion/table.h"

namespace acuity::plain {

namespace {

std::size_t scratch_bytes(int width) { return sizeof(std::int32_t) * static_cast<std::size_t>(width); }

std::uint64_t sad(const Plane& before, const Plane& now, void* scratch) {
    const bool bytes = now.depth == 8;
    const std::int64_t round = std::int64_t{1} << (now.depth - 1);
    auto* columns = static_cast<std::int32_t*>(scratch);
    std::uint64_t total = 0;
    for (int y = 0; y < now.height; ++y) {
        for (int x = 0; x < now.width; ++x) {
            std::int64_t sum = 0;
            for (int k = 0; k < 5; ++k) {
                const int row = reflect(y - 2 + k, now.height);
                const auto a = static_cast<std::int64_t>(Row(before, row, bytes)[x]);
                const auto b = static_cast<std::int64_t>(Row(now, row, bytes)[x]);
                sum += kMotionFilter[k] * (a - b);
            }
            columns[x] = static_cast<std::int32_t>((sum + round) >> now.depth);
        }
        std::uint32_t row_sad = 0;
        for (int x = 0; x < now.width; ++x) {
            std::int64_t sum = 0;
            for (int k = 0; k < 5; ++k)
                sum += std::int64_t{kMotionFilter[k]} * columns[reflect(x - 2 + k, now.width)];
            row_sad += static_cast<std::uint32_t>(std::abs(static_cast<std::int32_t>((sum + 32768) >> 16)));
        }
        total += row_sad;
    }
    return total;
}

}  // namespace

extern const MotionKernels motion_kernels;
const MotionKernels motion_kernels = {.scratch_bytes = scratch_bytes, .sad = sad};

}  // namespace acuity::plain
