// VIF of a picture pair: the scale pyramid, and scores from the kernels' sums.
#pragma once

#include <memory>
#include <vector>

#include "core/workspace.h"
#include "vif/table.h"

namespace acuity {

class Vif {
  public:
    static constexpr int kMinSize = 16;  // the coarsest scale needs two samples to reflect
    static constexpr int kOutputs = 15;  // values for each gain limit, in the order of vif.cpp

    Vif(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height, int depth,
        bool skip_scale0, std::vector<double> gains);

    // kOutputs values for each gain limit.
    std::vector<double> run(const Plane& ref, const Plane& dis) const;

  private:
    struct Memory;
    Memory carve(Carver carver) const;

    std::shared_ptr<Workspace> workspace_;
    const VifKernels& kernels_;
    int width_, height_, depth_;
    bool skip_scale0_;
    std::vector<double> gains_;
};

}  // namespace acuity
