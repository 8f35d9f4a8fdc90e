#include "vif/log2.h"

#include <cmath>

namespace acuity {

namespace {

// The table as it is defined. Rounding to float before scaling is part of the definition; going
// through double makes it the same on every C library, which log2f need not be.
unsigned log2_q11(unsigned i) {
    const float exact = static_cast<float>(std::log2(static_cast<double>(i)));
    return static_cast<unsigned>(std::round(exact * 2048.0f));
}

struct Log2Table {
    std::uint16_t at[32768];
    Log2Table() {
        for (unsigned i = 0; i < 32768; ++i) at[i] = static_cast<std::uint16_t>(log2_q11(32768 + i));
    }
};

Log2Steps make_steps() {
    Log2Steps steps{};
    for (unsigned g = 0; g < 4096; ++g) {
        const unsigned first = 32768 + 8 * g;
        const unsigned base = log2_q11(first);
        unsigned step = 1;
        while (step < 8 && log2_q11(first + step) == base) ++step;
        steps.entry[g] = static_cast<std::uint16_t>(8 * (base - kLog2Least) + 8 - step);
    }
    return steps;
}

}  // namespace

const std::uint16_t* log2_table() {
    static const Log2Table table;
    return table.at;
}

const Log2Steps log2_steps = make_steps();

}  // namespace acuity
