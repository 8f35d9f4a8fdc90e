// Contrast sensitivity: how much a wavelet coefficient of each scale and direction matters.
#pragma once

#include <cstdint>

#include "adm/table.h"

namespace acuity {

enum class CsfMode { kWatson97 = 0, kBarten = 1, kBlend = 2, kBlendMae = 3 };

struct CsfOptions {
    CsfMode mode;
    double view_distance;  // in display heights
    int display_height;    // in lines
    double scale;          // of horizontal and vertical bands, Barten's function only
    double diagonal_scale;
};

struct CsfFactors {
    float straight;  // bands h and v
    float diagonal;  // band d
};

// The functions that need no table, for any screen.
CsfFactors watson_factors(const CsfOptions& options, int scale);
CsfFactors barten_factors(const CsfOptions& options, int scale);

// Pixels in a degree of sight.
float pixels_per_degree(const CsfOptions& options);

// Throws UnsupportedOptions for screens that fixed-point arithmetic or its tables don't reach.
CsfFactors csf_factors(const CsfOptions& options, int scale);

// The factors in the kernels' fixed point: see AdmScale::rfactor.
void fixed_point_factors(const CsfOptions& options, int scale, std::uint32_t (&out)[3]);

}  // namespace acuity
