// The compiler vectorises these: integer sums may be taken in any order.
#include <algorithm>
#include <type_traits>

#include "signature/table.h"
#include "simd/isa.h"

namespace acuity::ACUITY_ISA {

namespace {

constexpr int kChunk = 4096;  // columns summed at once: their sums stay in the first cache

// Adds up a chunk's rows column by column, then its columns cell by cell. Sum holds the rows of one cell: few enough
// that bytes fit 16 bits as long as a picture has at least nine rows of cells, and words fit 32 bits.
template <class Sample, class Sum>
void sum_row_of_cells(const Plane& luma, const CellGrid& grid, int top, int bottom, int step, std::uint64_t* sums) {
    alignas(kAlign) Sum columns[kChunk];
    using CellSum = std::conditional_t<sizeof(Sum) == 2, std::uint32_t, std::uint64_t>;
    CellEnds ends(grid.columns, luma.width);
    int right = ends.next();
    for (int start = 0; start < luma.width; start += kChunk) {
        const int count = std::min(kChunk, luma.width - start);
        std::fill_n(columns, count, Sum{0});
        for (int y = top; y < bottom; y += step) {
            const auto* row = reinterpret_cast<const Sample*>(static_cast<const unsigned char*>(luma.data) +
                                                              luma.stride * y) + start;
            for (int x = 0; x < count; ++x) columns[x] = static_cast<Sum>(columns[x] + row[x]);
        }
        for (int x = 0; x < count;) {
            const int end = std::min(count, right - start);
            CellSum sum = 0;
            for (; x < end; ++x) sum += columns[x];
            *sums += sum;
            if (start + end == right) right = ends.next(), ++sums;
        }
    }
}

void cell_sums(const Plane& luma, const CellGrid& grid, std::uint64_t* sums) {
    const int step = CellGrid::step(luma.height);
    std::fill_n(sums, static_cast<std::size_t>(grid.rows) * grid.columns, std::uint64_t{0});
    for (int row = 0; row < grid.rows; ++row, sums += grid.columns) {
        const int top = CellGrid::first_read(CellGrid::begin(row, grid.rows, luma.height), step);
        const int bottom = CellGrid::begin(row + 1, grid.rows, luma.height);
        const int rows = (bottom - top + step - 1) / step;
        if (luma.depth > 8)
            sum_row_of_cells<std::uint16_t, std::uint32_t>(luma, grid, top, bottom, step, sums);
        else if (rows <= 257)
            sum_row_of_cells<std::uint8_t, std::uint16_t>(luma, grid, top, bottom, step, sums);
        else
            sum_row_of_cells<std::uint8_t, std::uint32_t>(luma, grid, top, bottom, step, sums);
    }
}

}  // namespace

extern const SignatureKernels signature_kernels;
const SignatureKernels signature_kernels = {.cell_sums = cell_sums};

}  // namespace acuity::ACUITY_ISA
