#include "simd/log2_steps.h"

#include <cmath>

namespace acuity {

namespace {

// The table as it is defined. Rounding to float before scaling is part of the definition; going
// through double makes it the same on every C library.
unsigned log2_q11(unsigned i) {
    const float exact = static_cast<float>(std::log2(static_cast<double>(i)));
    return static_cast<unsigned>(std::round(exact * 2048.0f));
}

Log2Steps make_steps() {
    Log2Steps steps{};
    for (unsigned g = 0; g < 4096; ++g) {
        const unsigned first = 32768 + 8 * g;
        const unsigned base = log2_q11(first);
        unsigned step = 1;
        while (step < 8 && log2_q11(first + step) == base) ++step;
        steps.entry[g] = static_cast<std::int32_t>(8 * base + 8 - step);
    }
    return steps;
}

}  // namespace

const Log2Steps log2_steps = make_steps();

}  // namespace acuity
