// Motion in single precision between two pictures: of one plane, or of all three.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/workspace.h"
#include "float_motion/table.h"
#include "float_vif/resampling.h"

namespace acuity {

class FloatMotion {
  public:
    static constexpr int kMinSize = 3;  // the blur reaches two samples past each edge

    struct Size {
        int width, height;
    };

    // `planes`: sizes of the planes that count. `blur_size`: 1 or 3, anything else is 5.
    FloatMotion(std::shared_ptr<Workspace> workspace, const Kernels& kernels, const std::vector<Size>& planes,
                int blur_size, bool add_half_size);

    // The mean absolute difference of the blurred pictures, summed over planes and sizes.
    double run(const std::vector<Plane>& before, const std::vector<Plane>& now) const;

  private:
    struct Memory;
    Memory carve(Carver carver, const Size& size) const;
    double plane(const Plane& before, const Plane& now, const std::optional<Resampling>& half) const;

    std::shared_ptr<Workspace> workspace_;
    const Kernels& kernels_;
    std::vector<float> blur_;
    std::vector<std::optional<Resampling>> halves_;  // of each plane
};

}  // namespace acuity
