// What SpEED does with planes of one size, settled once: sizes, filters, and which samples they read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "speed/table.h"

namespace acuity {

struct SpeedOptions {
    double kernelscale;          // of the filters' width
    double prescale;             // of the picture, before anything else
    std::string prescale_method; // nearest, bilinear, bicubic or lanczos4
};

class SpeedPlan {
  public:
    // Throws UnsupportedOptions where not one block is left of the plane.
    SpeedPlan(int width, int height, const SpeedOptions& options);
    SpeedPlan(const SpeedPlan&) = delete;  // the reduction points into it
    SpeedPlan& operator=(const SpeedPlan&) = delete;

    const SpeedReduction& reduction() const { return reduction_; }
    int across() const { return reduction_.columns.outputs / kSpeedBlock; }
    int down() const { return reduction_.rows.outputs / kSpeedBlock; }
    int blocks() const { return across() * down(); }

    // The tables of one axis.
    struct Axis {
        std::vector<std::int32_t> at;
        std::vector<float> weights;
    };

  private:
    std::vector<float> low_pass_, mean_;
    Axis columns_, rows_;
    SpeedReduction reduction_ = {};
};

}  // namespace acuity
