#include "core/binding.h"
#include "signature/table.h"

namespace acuity {

namespace {

using Cells = nb::ndarray<float, nb::ndim<2>, nb::device::cpu, nb::c_contig>;

// Fills `cells` with the mean of each cell, in steps of an 8-bit sample around mid-grey.
void signature(const Array& luma, int depth, const Cells& cells, const std::string& instruction_set) {
    const SignatureKernels& kernels = *select_kernels(instruction_set).signature;
    const Shape shape("a signature", 1, static_cast<int>(luma.shape(1)), static_cast<int>(luma.shape(0)), depth);
    const Plane plane = shape.plane(luma);
    if (cells.shape(0) < 1 || cells.shape(1) < 1 || cells.shape(0) > luma.shape(0) || cells.shape(1) > luma.shape(1))
        throw nb::value_error("a grid has at least one cell, and no more cells than samples");
    const CellGrid grid{static_cast<int>(cells.shape(1)), static_cast<int>(cells.shape(0))};
    const int step = CellGrid::step(plane.height);
    float* mean = cells.data();
    nb::gil_scoped_release released;
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(grid.columns) * grid.rows);
    kernels.cell_sums(plane, grid, sums.data());
    auto sum = sums.begin();
    for (int row = 0; row < grid.rows; ++row) {
        const int top = CellGrid::first_read(CellGrid::begin(row, grid.rows, plane.height), step);
        const int rows = (CellGrid::begin(row + 1, grid.rows, plane.height) - top + step - 1) / step;
        for (int column = 0; column < grid.columns; ++column) {
            const int columns = CellGrid::begin(column + 1, grid.columns, plane.width) -
                                CellGrid::begin(column, grid.columns, plane.width);
            const double samples = static_cast<double>(std::max(rows, 1)) * columns * (1 << (depth - 8));
            *mean++ = static_cast<float>(static_cast<double>(*sum++) / samples - kMidGrey);
        }
    }
}

}  // namespace

void bind_signature(nb::module_& m) {
    m.def("signature", &signature, "luma"_a, "depth"_a, "cells"_a, "instruction_set"_a = "");
}

}  // namespace acuity
