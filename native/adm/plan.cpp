#include "adm/plan.h"

#include <cmath>

namespace acuity {

AdmPlan adm_plan(const AdmScale& s) {
    AdmPlan p = {};
    p.width = (s.width + 1) / 2;
    p.height = (s.height + 1) / 2;
    p.rows = adm_inner(p.height);
    p.columns = adm_inner(p.width);
    p.shifts = adm_shifts(s.scale, p.width, p.height);
    const std::uint64_t flat = std::uint64_t{rounding(0)} * static_cast<std::uint64_t>(p.columns.size());
    for (int b = 0; b < 3; ++b) {
        if (p.shifts.cube[b] > 0)
            p.cube_add[b] = rounding(p.shifts.cube[b]);
        else
            p.flat[b] = flat;
    }
    p.row_add = rounding(p.shifts.row);
    if (s.scale > 0 && p.shifts.den_cube > 0) p.den_cube_add = rounding(p.shifts.den_cube);
    if (s.scale > 0 && p.shifts.den_cube == 0) p.den_flat = flat;
    if (s.scale > 0 || p.shifts.den_row > 0) p.den_row_add = rounding(p.shifts.den_row);
    p.cos_squared = cos_one_degree_squared();
    return p;
}

float cos_one_degree_squared() {
    constexpr double kPi = 3.14159265358979323846;
    const double c = std::cos(kPi / 180.0);
    return static_cast<float>(c * c);
}

}  // namespace acuity
