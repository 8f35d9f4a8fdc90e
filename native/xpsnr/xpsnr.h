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

// A block of luma and what belongs to it: where its texture and its change are looked at, and its part of each
// plane. Areas may be empty.
struct XpsnrBlock {
    XpsnrArea texture, change;
    XpsnrArea planes[3];
    double texture_size, size;  // by which sums are divided; no texture: the picture's edge leaves nothing of it
};

// Sums over a block: of texture and change, and of squared errors of each plane.
struct XpsnrSums {
    std::uint64_t texture, change;
    std::uint64_t errors[3];
};

class Xpsnr {
  public:
    Xpsnr(const Kernels& kernels, const XpsnrShape& shape);

    int planes() const { return shape_.chroma_width == 0 ? 1 : 3; }

    // All blocks, row after row; tiny pictures have one, without weight. Larger than HD, texture and change are
    // those of squares.
    const std::vector<XpsnrBlock>& blocks() const { return blocks_; }
    bool halved() const { return halved_; }

    // Of each plane. `before` and `earlier` are the luma of the reference one and two frames back, null where
    // there was none: the filter then compares with black.
    void run(const Plane* ref, const Plane* dis, const Plane* before, const Plane* earlier, std::uint64_t* out);

    // The same from the sums of all blocks, wherever they were taken.
    void outputs(const XpsnrSums* sums, std::uint64_t* out);

  private:
    XpsnrBlock block(int column, int row) const;
    XpsnrArea part(int column, int row, int plane) const;
    Plane black() const;
    double activity(const XpsnrBlock& block, const XpsnrSums& sums) const;
    void weigh(const XpsnrSums* sums);
    void smooth(int column, int row);

    const Kernels& kernels_;
    XpsnrShape shape_;
    bool halved_;         // larger than HD: details of single samples don't count
    int block_;           // its side
    bool weighted_;       // unless blocks would be too small
    int columns_, rows_;  // of blocks
    double scale_;        // the picture's own mean activity, as a weight
    std::vector<XpsnrBlock> blocks_;
    std::vector<XpsnrSums> sums_;
    std::vector<double> weights_;
    std::vector<unsigned char> zeros_;  // a row of them
};

}  // namespace acuity
