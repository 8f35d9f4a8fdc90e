// The compiler vectorises these loops.
#include "samples/table.h"
#include "simd/isa.h"

namespace acuity::ACUITY_ISA {

namespace {

template <class Sample>
std::uint32_t bits_of(const Plane& plane) {
    const auto* row = static_cast<const unsigned char*>(plane.data);
    std::uint32_t found = 0;
    for (int y = 0; y < plane.height; ++y, row += plane.stride) {
        const auto* samples = reinterpret_cast<const Sample*>(row);
        Sample part = 0;
        for (int x = 0; x < plane.width; ++x) part = static_cast<Sample>(part | samples[x]);
        found |= part;
    }
    return found;
}

std::uint32_t bits(const Plane& plane) {
    return plane.depth == 8 ? bits_of<std::uint8_t>(plane) : bits_of<std::uint16_t>(plane);
}

}  // namespace

extern const SamplesKernels samples_kernels;
const SamplesKernels samples_kernels = {.bits = bits};

}  // namespace acuity::ACUITY_ISA
