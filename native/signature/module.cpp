#include "core/binding.h"
#include "signature/signature.h"

namespace acuity {

namespace {

using Cells = nb::ndarray<float, nb::ndim<2>, nb::device::cpu, nb::c_contig>;

CellGrid grid_of(const Cells& cells, const Shape& shape) {
    const auto rows = static_cast<std::size_t>(shape.height), columns = static_cast<std::size_t>(shape.width);
    if (cells.shape(0) < 1 || cells.shape(1) < 1 || cells.shape(0) > rows || cells.shape(1) > columns)
        throw nb::value_error("a grid has at least one cell, and no more cells than samples");
    return {static_cast<int>(cells.shape(1)), static_cast<int>(cells.shape(0))};
}

// Fills `cells` with the mean of each cell, in steps of an 8-bit sample around mid-grey.
void signature(const Array& luma, int depth, const Cells& cells, const std::string& instruction_set) {
    const SignatureKernels& kernels = *select_kernels(instruction_set).signature;
    const Shape shape("a signature", 1, static_cast<int>(luma.shape(1)), static_cast<int>(luma.shape(0)), depth);
    const Plane plane = shape.plane(luma);
    const CellGrid grid = grid_of(cells, shape);
    float* means = cells.data();
    nb::gil_scoped_release released;
    cell_means(kernels, plane, grid, means);
}

}  // namespace

void bind_signature(nb::module_& m) {
    m.def("signature", &signature, "luma"_a, "depth"_a, "cells"_a, "instruction_set"_a = "",
          "Fill `cells` with the mean of each cell of the picture, in steps of an 8-bit sample around mid-grey.");
    m.def("signature_row_step", &CellGrid::step, "height"_a, "Of how many rows of a picture one is read.");
}

}  // namespace acuity
