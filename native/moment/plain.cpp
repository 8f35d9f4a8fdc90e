#include "core/plain.h"
#include "moment/table.h"

namespace acuity::plain {

namespace {

std::uint64_t rounded_square(std::int32_t x) {
    const float value = static_cast<float>(x);
    return static_cast<std::uint64_t>(value * value);
}

Moments moments(const Plane& plane) {
    Moments found = {};
    for (int y = 0; y < plane.height; ++y) {
        const Row row(plane, y, plane.depth == 8);
        for (int x = 0; x < plane.width; ++x) {
            found.sum += row[x];
            found.squares += rounded_square(static_cast<std::int32_t>(row[x]));
        }
    }
    return found;
}

std::uint64_t rounded_error(const Plane& ref, const Plane& dis) {
    std::uint64_t sum = 0;
    for (int y = 0; y < ref.height; ++y) {
        const Row a(ref, y, false), b(dis, y, false);
        for (int x = 0; x < ref.width; ++x)
            sum += rounded_square(static_cast<std::int32_t>(a[x]) - static_cast<std::int32_t>(b[x]));
    }
    return sum;
}

}  // namespace

extern const MomentKernels moment_kernels;
const MomentKernels moment_kernels = {.moments = moments, .rounded_error = rounded_error};

}  // namespace acuity::plain
