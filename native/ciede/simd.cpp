#include "ciede/table.h"
#include "simd/isa.h"

namespace acuity::ACUITY_ISA {

namespace {

using Number = F64;
using Bits = U64;
using Mask = I64;

// Half a register: as many as there are doubles in a whole one.
using Singles [[gnu::vector_size(kBytes / 2), gnu::may_alias]] = float;
using Samples [[gnu::vector_size(kBytes / 2), gnu::may_alias]] = std::int32_t;

inline Number every(double x) { return splat<F64>(x); }
inline Bits bits(Number n) { return as<U64>(n); }
inline Number number(Bits b) { return as<F64>(b); }
inline Bits times(Bits b, std::uint32_t k) { return mul_even(as<U32>(b), splat<U32>(k)); }
inline Number root(Number n) { return square_root(n); }
inline Number single(Number n) { return as_single(n); }
inline bool somewhere(Mask mask) { return any(as<I32>(mask)); }

}  // namespace

}  // namespace acuity::ACUITY_ISA

#include "ciede/formula.h"

namespace acuity::ACUITY_ISA {

namespace {

void differences(const CiedePixels& pixels, float* out) {
    static_assert(CiedePixels::kMost % kLanes64 == 0);
    const Scale scale(pixels.depth);
    const auto samples = [](const std::int32_t* at) { return __builtin_convertvector(load<Samples>(at), F64); };
    const auto colour = [&](const std::int32_t (&of)[3][CiedePixels::kMost], int i) {
        return lab(samples(of[0] + i), samples(of[1] + i), samples(of[2] + i), scale);
    };
    for (int i = 0; i < pixels.count; i += kLanes64)
        store(out + i, __builtin_convertvector(difference(colour(pixels.ref, i), colour(pixels.dis, i)), Singles));
}

}  // namespace

extern const CiedeKernels ciede_kernels;
const CiedeKernels ciede_kernels = {.differences = differences};

}  // namespace acuity::ACUITY_ISA
