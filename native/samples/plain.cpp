#include "core/plain.h"
#include "samples/table.h"

namespace acuity::plain {

namespace {

std::uint32_t bits(const Plane& plane) {
    const bool bytes = plane.depth == 8;
    std::uint32_t found = 0;
    for (int y = 0; y < plane.height; ++y) {
        const Row samples(plane, y, bytes);
        for (int x = 0; x < plane.width; ++x) found |= samples[x];
    }
    return found;
}

}  // namespace

extern const SamplesKernels samples_kernels;
const SamplesKernels samples_kernels = {.bits = bits};

}  // namespace acuity::plain
