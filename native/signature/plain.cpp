#include "core/plain.h"
#include "signature/table.h"

namespace acuity::plain {

namespace {

void cell_sums(const Plane& luma, const CellGrid& grid, std::uint64_t* sums) {
    const bool bytes = luma.depth == 8;
    const int step = CellGrid::step(luma.height);
    for (int row = 0; row < grid.rows; ++row) {
        const int bottom = CellGrid::begin(row + 1, grid.rows, luma.height);
        for (int column = 0; column < grid.columns; ++column) {
            const int left = CellGrid::begin(column, grid.columns, luma.width);
            const int right = CellGrid::begin(column + 1, grid.columns, luma.width);
            std::uint64_t sum = 0;
            for (int y = CellGrid::first_read(CellGrid::begin(row, grid.rows, luma.height), step); y < bottom; y += step) {
                const Row samples(luma, y, bytes);
                for (int x = left; x < right; ++x) sum += samples[x];
            }
            *sums++ = sum;
        }
    }
}

}  // namespace

extern const SignatureKernels signature_kernels;
const SignatureKernels signature_kernels = {.cell_sums = cell_sums};

}  // namespace acuity::plain
