// SSIMULACRA 2 of a picture pair.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/workspace.h"
#include "ssimulacra2/score.h"

namespace acuity {

// What samples mean, in numbers.
struct Ssimulacra2Colour {
    int black;                              // luma of black
    double luma;                            // one step of luma, where white less black is 1
    double red_v, green_u, green_v, blue_u;  // one step of chroma
    std::vector<float> curve;               // light at kCurve + 1 evenly spaced values
    std::vector<float> mix;                 // nine: how linear red, green and blue excite three kinds of cones
};

class Ssimulacra2 {
  public:
    static constexpr int kMinSize = 8;

    // Chroma of no width: luma alone.
    Ssimulacra2(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height, int depth,
                int chroma_width, int chroma_height, const Ssimulacra2Colour& colour);

    bool has_chroma() const { return chroma_; }
    double run(const Plane* ref, const Plane* dis) const;

    // The score from sums of kChannels channels at each scale, wherever they were taken.
    double outputs(const ssimulacra2::Sums (*sums)[ssimulacra2::kChannels]) const;

    // Columns and rows of each scale.
    const std::vector<std::pair<int, int>>& sizes() const { return sizes_; }
    const ssimulacra2::Light& light() const { return light_; }
    const std::vector<float>& curve() const { return curve_; }

  private:
    struct Memory;
    struct Scale;
    Memory carve(Carver carver) const;
    void compare_scale(const Plane* const* pictures, const Memory& m, const Scale& scale,
                       ssimulacra2::Sums* sums) const;
    const float* light_row(const Memory& m, const Scale& scale, int picture, int channel, int row) const;
    void take_rows(const Plane* const* pictures, const Memory& m, const Scale& scale, int first) const;
    void halve_rows(const Memory& m, const Scale& scale, int first) const;
    void compare_rows(const Memory& m, const Scale& scale, int first, int channel, ssimulacra2::Sums& sums) const;

    std::shared_ptr<Workspace> workspace_;
    const Ssimulacra2Kernels& kernels_;
    int width_, height_;
    bool chroma_;
    ssimulacra2::Light light_;
    std::vector<float> curve_, mix_;
    std::vector<std::pair<int, int>> sizes_;
};

}  // namespace acuity
