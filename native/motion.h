// Motion between two pictures, in sample values.
#pragma once

#include <memory>

#include "kernels.h"
#include "workspace.h"

namespace acuity {

class Motion {
  public:
    static constexpr int kMinSize = 3;  // the blur reaches two samples past each edge

    Motion(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height);

    // Mean absolute difference of the blurred pictures.
    double run(const Plane& before, const Plane& now) const;

  private:
    std::shared_ptr<Workspace> workspace_;
    const Kernels& kernels_;
};

}  // namespace acuity
