// Weighted squared errors of a picture pair, by the arithmetic of FFmpeg's xpsnr filter.
#pragma once

#include <vector>

#include "xpsnr/table.h"

namespace acuity {

struct XpsnrShape {
    int width, height, depth;
    int chroma_width, chroma_height;  // 0: luma alone
    bool fast;                        // 32 frames a second or more: change is judged from three pictures
};

class Xpsnr {
  public:
    Xpsnr(const Kernels& kernels, const XpsnrShape& shape);

    int planes() const { return shape_.chroma_width == 0 ? 1 : 3; }

    // Of each plane. `before` and `earlier` are the luma of the reference one and two frames back, null where
    // there was none: the filter then compares with black.
    void run(const Plane* ref, const Plane* dis, const Plane* before, const Plane* earlier, std::uint64_t* out);

  private:
    XpsnrArea block(int column, int row) const;
    Plane black() const;
    double activity(const Plane& now, const Plane& before, const Plane& earlier, const XpsnrArea& area) const;
    void weigh(const Plane& now, const Plane& before, const Plane& earlier);
    void smooth(int column, int row);
    std::uint64_t weighted_error(const Plane& ref, const Plane& dis, int block_width, int block_height) const;

    const Kernels& kernels_;
    XpsnrShape shape_;
    bool halved_;         // larger than HD: details of single samples don't count
    int block_;           // its side; below 4 nothing is weighted
    int columns_, rows_;  // of blocks
    double scale_;        // the picture's own mean activity, as a weight
    std::vector<double> weights_;
    std::vector<unsigned char> zeros_;  // a row of them
};

}  // namespace acuity
