#include "range.h"

namespace acuity {

bool samples_fit(const Plane& plane) {
    if (plane.depth == 8 || plane.depth == 16) return true;  // the type holds nothing else
    const auto* row = static_cast<const unsigned char*>(plane.data);
    for (int y = 0; y < plane.height; ++y, row += plane.stride) {
        const auto* samples = reinterpret_cast<const std::uint16_t*>(row);
        std::uint16_t bits = 0;
        for (int x = 0; x < plane.width; ++x) bits = static_cast<std::uint16_t>(bits | samples[x]);
        if (bits >> plane.depth != 0) return false;
    }
    return true;
}

}  // namespace acuity
