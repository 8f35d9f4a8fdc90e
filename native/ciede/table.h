// How different two colours look, pixel by pixel (CIEDE2000).
#pragma once

#include "core/kernels.h"

namespace acuity {

// Pixels to compare, each with six samples: luma, Cb and Cr of the reference and of the distorted picture.
struct CiedePixels {
    static constexpr int kMost = 512;  // a multiple of every register's lanes

    alignas(kAlign) std::int32_t ref[3][kMost];
    alignas(kAlign) std::int32_t dis[3][kMost];
    int count;
    int depth;
};

struct CiedeKernels {
    // The difference of each pixel. `out` holds kMost; what is written past `count` means nothing.
    void (*differences)(const CiedePixels& pixels, float* out);
};

}  // namespace acuity
