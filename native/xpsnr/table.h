// Activity of the reference: how much detail and change hides an error.
#pragma once

#include "core/kernels.h"

namespace acuity {

// Columns left to right - 1, rows top to bottom - 1 of a picture.
struct XpsnrArea {
    int left, top, right, bottom;
};

// All sums are of absolute values. Samples of 16 bits count as signed ones, as they do in FFmpeg's filter.
// The halved forms look at squares of two by two samples, from the area's first column and row on.
struct XpsnrKernels {
    // The 3x3 high-pass 12 -2 -1 (centre, edges, corners); wants a sample around the area.
    std::uint64_t (*texture)(const Plane& plane, const XpsnrArea& area);
    // The 6x6 high-pass of squares; wants two samples before the area, and three after the last square's first.
    std::uint64_t (*texture_halved)(const Plane& plane, const XpsnrArea& area);
    // now - before.
    std::uint64_t (*change)(const Plane& now, const Plane& before, const XpsnrArea& area);
    // now - 2 before + earlier.
    std::uint64_t (*bend)(const Plane& now, const Plane& before, const Plane& earlier, const XpsnrArea& area);
    // The same of sums over squares; the area is a whole number of them.
    std::uint64_t (*change_halved)(const Plane& now, const Plane& before, const XpsnrArea& area);
    std::uint64_t (*bend_halved)(const Plane& now, const Plane& before, const Plane& earlier, const XpsnrArea& area);
};

}  // namespace acuity
