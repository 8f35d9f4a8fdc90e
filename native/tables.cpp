#include "tables.h"

#include <cmath>

namespace acuity {

namespace {

struct Log2Table {
    std::uint16_t at[32768];
    Log2Table() {
        // Single precision, as the reference takes it: log2 in double rounded to float is the same
        // on every libm, which log2f need not be.
        for (int i = 0; i < 32768; ++i) {
            const float log = static_cast<float>(std::log2(static_cast<double>(32768 + i)));
            at[i] = static_cast<std::uint16_t>(std::round(log * 2048));
        }
    }
};

struct ReciprocalTable {
    std::int32_t at[32769];
    ReciprocalTable() {
        at[0] = 0;
        for (int i = 1; i <= 32768; ++i) at[i] = (1 << 30) / i;
    }
};

}  // namespace

const std::uint16_t* log2_table() {
    static const Log2Table table;
    return table.at;
}

const std::int32_t* reciprocal_table() {
    static const ReciprocalTable table;
    return table.at;
}

float cos_one_degree_squared() {
    constexpr double kPi = 3.14159265358979323846;
    const double c = std::cos(kPi / 180.0);
    return static_cast<float>(c * c);
}

}  // namespace acuity
