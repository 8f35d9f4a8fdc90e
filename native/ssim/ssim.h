// Structural similarity of a picture pair, at one scale or at five.
#pragma once

#include <memory>
#include <vector>

#include "core/workspace.h"
#include "ssim/table.h"

namespace acuity {

// Means over all places.
struct SsimMeans {
    float luminance, contrast, structure, ssim;
};

class Ssim {
  public:
    static constexpr int kMinSize = kWindow;  // after shrinking

    // Pictures are shrunk by the factor first.
    Ssim(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height, int factor);

    SsimMeans run(const Plane& ref, const Plane& dis) const;

    // From sums over the shrunk pictures, wherever they were taken.
    SsimMeans outputs(const SsimSums& sums) const;
    int shrunk_width() const { return shrunk_width_; }
    int shrunk_height() const { return shrunk_height_; }

  private:
    struct Memory;
    Memory carve(Carver carver) const;

    std::shared_ptr<Workspace> workspace_;
    const SsimKernels& kernels_;
    int width_, factor_;
    int shrunk_width_, shrunk_height_;
};

class MsSsim {
  public:
    static constexpr int kScales = 5;
    static constexpr int kMinSize = kWindow << (kScales - 1);

    MsSsim(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height);

    // The figure, then luminance at each scale, contrast at each, structure at each.
    std::vector<double> run(const Plane& ref, const Plane& dis) const;

    // The same from each scale's sums, wherever they were taken.
    std::vector<double> outputs(const SsimSums (&sums)[kScales]) const;

  private:
    struct Memory;
    Memory carve(Carver carver) const;

    std::shared_ptr<Workspace> workspace_;
    const SsimKernels& kernels_;
    int width_, height_;
};

}  // namespace acuity
