// Which coefficients ADM sums and how far it shifts the sums: functions of the band size alone.
#pragma once

#include <bit>
#include <cstdint>

#include "adm/table.h"

namespace acuity {

// Half-open range of rows or columns.
struct Span {
    int begin, end;
    constexpr int size() const { return end - begin; }
};

// The tenth at each border is left out of the sums.
constexpr Span adm_inner(int n) {
    const int border = static_cast<int>(n * 0.1 - 0.5);
    return {border, n - border};
}

// ceil(log2(n)) for n >= 1.
constexpr int ceil_log2(std::uint32_t n) { return std::bit_width(n - 1); }

// What is added before a shift to round. At shift 0 the reference computes 2^(2^32 - 1) and
// converts it to 32 bits, which saturates on the machine that made the reference figures.
constexpr std::uint32_t rounding(int shift) { return shift == 0 ? 0xFFFFFFFFu : 1u << (shift - 1); }

struct AdmShifts {
    int cube[3];   // off each cubed coefficient of bands h, v, d, in the masked sums
    int row;       // off each row's masked sum
    int den_cube;  // off each cubed coefficient of the denominator; scale 0 shifts none
    int den_row;   // off each row's denominator
};

// `width` and `height` are those of the scale's bands.
constexpr AdmShifts adm_shifts(int scale, int width, int height) {
    const int wide = ceil_log2(static_cast<std::uint32_t>(width));
    const int high = ceil_log2(static_cast<std::uint32_t>(height));
    const Span columns = adm_inner(width), rows = adm_inner(height);
    const auto at_least_0 = [](int n) { return n > 0 ? n : 0; };
    if (scale == 0) {
        const auto area = static_cast<std::uint32_t>(columns.size()) * static_cast<std::uint32_t>(rows.size());
        return {{at_least_0(wide - 4), at_least_0(wide - 4), at_least_0(wide - 3)},
                high, 0, at_least_0(ceil_log2(area) - 20)};
    }
    return {{wide, wide, wide}, high,
            ceil_log2(static_cast<std::uint32_t>(columns.size())),
            ceil_log2(static_cast<std::uint32_t>(rows.size()))};
}

// The same and more for the fast kernels. It is worked out in a source of its own, compiled for any machine,
// because theirs are compiled for one instruction set each.
struct AdmPlan {
    int width, height;   // of the bands
    Span rows, columns;  // summed
    AdmShifts shifts;
    // What rounds each masked cube, and each row's sum of them; `flat` is what rounding adds to a row
    // where cubes are not shifted.
    std::int64_t cube_add[3], row_add;
    std::uint64_t flat[3];
    // The same of the denominators.
    std::uint64_t den_cube_add, den_row_add, den_flat;
    float cos_squared;   // of the widest angle between gradients that count as parallel
};

AdmPlan adm_plan(const AdmScale& scale);

}  // namespace acuity
