// VIF in single precision of a picture pair: another size first where asked for, then four scales.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/workspace.h"
#include "float_vif/resampling.h"
#include "float_vif/table.h"

namespace acuity {

struct FloatVifOptions {
    double window_scale;  // how much wider the windows are than usual
    double size_scale;    // how much larger the pictures are made first
    std::string resampling;
    double noise_variance;
    bool skip_scale0;
};

// The windows of all scales; those of a scale that is not among the reference's are refused.
struct FloatVifWindows {
    explicit FloatVifWindows(double scale);

    std::vector<float> at[kScales];

    // The smallest width and height whose every scale its windows can reflect.
    int smallest() const;
};

class FloatVif {
  public:
    static constexpr int kOutputs = 15;  // values for each gain limit, in the order of float_vif.cpp

    FloatVif(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height,
             const FloatVifOptions& options, std::vector<double> gains);

    // kOutputs values for each gain limit.
    std::vector<double> run(const Plane& ref, const Plane& dis) const;

  private:
    struct Memory;
    Memory carve(Carver carver) const;
    FloatVifSums sums(FloatVifScale& scale, int s, const Memory& m, const float* gains, int n_gains) const;

    std::shared_ptr<Workspace> workspace_;
    const FloatVifKernels& kernels_;
    int width_, height_;            // of the video
    int scaled_width_, scaled_height_;
    bool skip_scale0_;
    FloatVifWindows windows_;
    FloatVifNoise noise_;
    std::optional<Resampling> resampling_;
    std::vector<float> gains_;
};

}  // namespace acuity
