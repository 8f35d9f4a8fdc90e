// The brightest lines of a video and the blocks that leave the limited range, gathered from pictures of it.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "core/picture.h"

namespace acuity {

// Several threads may look at pictures, in any order: the figures are maxima and counts.
class LumaLook {
  public:
    // Every `step`th sample is looked at in both directions. With `line_step` the sums are of every line, each of every
    // line_step-th sample. Blocks have `block` samples a side, and means outside of lowest to highest (of 8 bits) count.
    LumaLook(int step, int line_step, int block, int lowest, int highest)
        : step_(step), line_step_(line_step), block_(block), lowest_(lowest), highest_(highest) {}

    // Takes in a picture, or the samples of it that are looked at; false: it has another size than those before.
    bool study(const Plane& luma, bool thinned = false);

    // The highest sum of each column and row, and of how many samples it is; without a picture they are empty.
    struct Lines {
        std::vector<std::uint32_t> columns, rows;
        std::uint32_t of_column = 0, of_row = 0;
    };
    Lines lines() const;
    // Blocks seen, and those outside of the range.
    std::pair<std::int64_t, std::int64_t> blocks() const;

  private:
    template <class Sample>
    void sum(const Plane& luma, int step, Lines& lines, std::int64_t& blocks, std::int64_t& outside) const;

    const int step_, line_step_, block_, lowest_, highest_;
    mutable std::mutex lock_;
    Lines highest_lines_;
    std::int64_t blocks_ = 0, outside_ = 0;
};

}  // namespace acuity
