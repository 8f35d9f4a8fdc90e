// What the size of a scale's bands decides, for the fast ADM kernels. It is worked out in a source of
// its own, compiled for any machine, because theirs are compiled for one instruction set each.
#pragma once

#include <cstdint>

#include "adm_geometry.h"
#include "kernels.h"

namespace acuity {

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
