// Banding of a picture: its scales, and the mean of the strongest contrasts of each.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "cambi/table.h"

namespace acuity {

constexpr int kCambiScales = 5;

// A visible step between two values, of which the lower one is from `lowest` to `highest`.
struct CambiStep {
    float weight;
    int lowest, highest;
};

// The plan of a measurement, for another device: how pictures are taken, and the tables.
struct CambiPlan {
    int width, height, radius, flat;
    bool smooth, halve;
    std::vector<std::int32_t> columns, rows;         // empty: pictures have the size they are judged at
    std::vector<std::pair<int, int>> sizes;          // of each scale
    std::vector<std::int64_t> strongest;             // how many contrasts of each scale count
    int base;                                        // the smallest value that is counted
    std::vector<std::int32_t> first;                 // as in CambiLevels
    std::vector<float> weights, inverse;
};

// The tables, which don't depend on the picture. If a step from a value is visible, larger ones from it are too.
class CambiTables {
  public:
    explicit CambiTables(const std::vector<CambiStep>& steps);
    CambiLevels levels() const;

  private:
    int base_, count_;
    std::vector<std::uint8_t> first_;
    std::vector<float> weights_, inverse_;
};

struct CambiOptions {
    int width, height;  // the picture is judged at
    int window;         // odd, at most kCambiMaxWindow
    bool smooth, halve;
    double share;       // of samples, those with the strongest contrasts, that count
    bool heatmaps;
};

class Cambi {
  public:
    // Pictures have `width` and `height`.
    Cambi(std::shared_ptr<Workspace> workspace, const CambiKernels& kernels, int width, int height,
          const CambiOptions& options, const std::vector<CambiStep>& steps);

    struct Heatmap {
        std::uint16_t* data;
        std::ptrdiff_t stride;  // in samples
    };
    using Heatmaps = std::array<Heatmap, kCambiScales>;

    using Sums = std::array<unsigned __int128, kCambiScales>;

    CambiPlan plan() const;

    // Columns and rows of a scale.
    std::pair<int, int> size(int scale) const { return sizes_[static_cast<std::size_t>(scale)]; }

    // The score; contrasts are drawn where there is a place for them.
    double run(const Plane& picture, const Heatmaps* heatmaps) const;

    // The score of a picture whose strongest contrasts have these sums at each scale, in 2^-24.
    double score(const Sums& sums) const;

    // Draws contrasts of a scale.
    void draw(int scale, const Grid<const float>& contrasts, const Heatmap& out) const;

  private:
    struct Memory;
    Memory carve(Carver carver) const;
    std::int64_t strongest(int scale) const;
    unsigned __int128 pool(const CambiScale& scale, std::int64_t count, const Memory& memory) const;

    std::shared_ptr<Workspace> workspace_;
    const CambiKernels& kernels_;
    CambiOptions options_;
    CambiTables tables_;
    std::vector<std::int32_t> columns_, rows_;  // empty: pictures have the size they are judged at
    std::array<std::pair<int, int>, kCambiScales> sizes_;
};

}  // namespace acuity
