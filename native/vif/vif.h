// VIF of a picture pair: the scale pyramid, and scores from the kernels' sums.
#pragma once

#include <memory>
#include <vector>

#include "core/workspace.h"
#include "vif/table.h"

namespace acuity {

// A frame's sums as words: for each scale den_log, num_flat, den_flat, then num_log of each gain limit.
inline constexpr std::size_t kVifSharedWords = 3;
constexpr std::size_t vif_words(std::size_t gains) { return kScales * (kVifSharedWords + gains); }

// Vif::kOutputs values for each gain limit, from a frame's words.
std::vector<double> vif_outputs(const std::int64_t* words, std::size_t gains, bool skip_scale0);

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
