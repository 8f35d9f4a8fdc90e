// Pictures of another size: which samples make a new one, and how much each counts.
#pragma once

#include <string>
#include <vector>

#include "core/kernels.h"

namespace acuity {

// One direction: new sample i is made of old samples index[t * size + i], weighed weight[t * size + i].
struct ResampleAxis {
    int from, size, taps;
    std::vector<std::int32_t> index;
    std::vector<float> weight;
};

struct Resampling {
    enum class Method { kNearest, kBilinear, kBicubic, kLanczos4 };

    Resampling(Method method, int width, int height, int new_width, int new_height);

    ResampleAxis x, y;
    bool normalise;  // divide by the weights' sum
};

// Throws UnsupportedOptions.
Resampling::Method resampling_method(const std::string& name);

}  // namespace acuity
