#define ACUITY_ISA plain

#include <bit>
#include <cmath>

#include "ciede/table.h"
#include "core/plain.h"

namespace acuity::plain {

namespace {

using Number = double;
using Bits = std::uint64_t;
using Mask = bool;

Number every(double x) { return x; }
Bits bits(Number n) { return std::bit_cast<Bits>(n); }
Number number(Bits b) { return std::bit_cast<Number>(b); }
Bits times(Bits b, std::uint32_t k) { return (b & 0xffffffffu) * k; }
Number root(Number n) { return std::sqrt(n); }
Number single(Number n) { return static_cast<float>(n); }
bool somewhere(Mask mask) { return mask; }

}  // namespace

}  // namespace acuity::plain

#include "ciede/formula.h"

namespace acuity::plain {

namespace {

void differences(const CiedePixels& pixels, float* out) {
    const Scale scale(pixels.depth);
    const auto colour = [&](const std::int32_t (&samples)[3][CiedePixels::kMost], int i) {
        return lab(samples[0][i], samples[1][i], samples[2][i], scale);
    };
    for (int i = 0; i < pixels.count; ++i)
        out[i] = static_cast<float>(difference(colour(pixels.ref, i), colour(pixels.dis, i)));
}

}  // namespace

extern const CiedeKernels ciede_kernels;
const CiedeKernels ciede_kernels = {.differences = differences};

}  // namespace acuity::plain
