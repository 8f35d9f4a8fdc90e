// Signatures of pictures: sums of luma over a grid of cells.
#pragma once

#include <algorithm>

#include "core/kernels.h"

namespace acuity {

// Where the cells lie. Of tall pictures only every few rows are read: a cell is a mean of hundreds of samples anyway.
struct CellGrid {
    int columns, rows;  // at most the picture's width and height

    static constexpr int kMostRows = 216;  // about so many rows of a picture are read, and fewer than twice as many

    static int step(int height) { return std::max(1, height / kMostRows); }
    // The first sample of cell `index`, of `cells` over `samples`.
    static int begin(int index, int cells, int samples) {
        return static_cast<int>(static_cast<std::int64_t>(index) * samples / cells);
    }
    // The first row at or after `row` that is read.
    static int first_read(int row, int step) { return (row + step - 1) / step * step; }
};

// The ends of the cells along one side, one after the other, without a division for each: as CellGrid::begin(index + 1).
class CellEnds {
public:
    CellEnds(int cells, int samples) : cells_(cells), width_(samples / cells), rest_(samples % cells) {}

    int next() {
        end_ += width_;
        over_ += rest_;
        if (over_ >= cells_) over_ -= cells_, ++end_;
        return end_;
    }

private:
    int cells_, width_, rest_, over_ = 0, end_ = 0;
};

struct SignatureKernels {
    // The sum of the samples read in each cell, row by row of the grid.
    void (*cell_sums)(const Plane& luma, const CellGrid& grid, std::uint64_t* sums);
};

}  // namespace acuity
