#include "signature/signature.h"

#include <vector>

namespace acuity {

void means_of_sums(const std::uint64_t* sums, int width, int height, int depth, const CellGrid& grid, float* means) {
    const int step = CellGrid::step(height);
    for (int row = 0; row < grid.rows; ++row) {
        const int top = CellGrid::first_read(CellGrid::begin(row, grid.rows, height), step);
        const int rows = (CellGrid::begin(row + 1, grid.rows, height) - top + step - 1) / step;
        CellEnds ends(grid.columns, width);
        for (int column = 0, left = 0; column < grid.columns; ++column) {
            const int right = ends.next();
            const double samples = static_cast<double>(std::max(rows, 1)) * (right - left) * (1 << (depth - 8));
            left = right;
            *means++ = static_cast<float>(static_cast<double>(*sums++) / samples - kMidGrey);
        }
    }
}

void cell_means(const SignatureKernels& kernels, const Plane& luma, const CellGrid& grid, float* means) {
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(grid.columns) * grid.rows);
    kernels.cell_sums(luma, grid, sums.data());
    means_of_sums(sums.data(), luma.width, luma.height, luma.depth, grid, means);
}

}  // namespace acuity
