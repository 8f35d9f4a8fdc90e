// From sums of errors to a score.
#pragma once

#include "ssimulacra2/table.h"

namespace acuity::ssimulacra2 {

constexpr int kScales = 6;
constexpr int kChannels = 3;

// Means of each map of errors, of its values and as their 4-norm, in the order of Sums.
struct Norms {
    double of[kNorms];
};

Norms norms(const Sums& sums, double samples);

// `all` holds kChannels norms for each scale there is.
double score(const Norms (*all)[kChannels], int scales);

}  // namespace acuity::ssimulacra2
