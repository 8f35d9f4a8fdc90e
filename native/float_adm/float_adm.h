// ADM in single precision of a picture pair: four scales, and scores from the kernels' sums.
#pragma once

#include <memory>
#include <vector>

#include "adm/csf.h"
#include "core/workspace.h"
#include "float_adm/table.h"

namespace acuity {

struct FloatAdmSetting {
    int csf_mode;  // 1 Barten, 2 Li, else Watson
    double view_distance;
    int display_height;
    double csf_scale, csf_diagonal_scale;
    double straight[kScales], diagonal[kScales];  // sensitivities that count instead where they aren't negative
    double gain_limit, noise_weight, exponent;
    bool masking;
    int skip_aim_scale;  // leave this scale out of the additive impairment; -1: none
};

class FloatAdm {
  public:
    static constexpr int kMinSize = 17;  // the coarsest bands need two rows and columns
    static constexpr int kOutputs = 16;  // values for each setting, in the order of float_adm.cpp

    FloatAdm(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height, bool skip_scale0,
             const std::vector<FloatAdmSetting>& settings);

    // kOutputs values for each setting.
    std::vector<double> run(const Plane& ref, const Plane& dis) const;

  private:
    using Sums = std::vector<FloatAdmSums>;  // of each setting
    struct Memory;
    Memory carve(Carver carver) const;
    void append_outputs(std::size_t setting, const Sums (&sums)[kScales], std::vector<double>& out) const;

    std::shared_ptr<Workspace> workspace_;
    const FloatAdmKernels& kernels_;
    int width_, height_;
    bool skip_scale0_;
    std::vector<FloatAdmSetting> settings_;
    std::vector<std::size_t> reference_of_;             // the setting whose sums of the reference each one shares
    std::vector<FloatAdmWeights> weights_[kScales];
};

}  // namespace acuity
