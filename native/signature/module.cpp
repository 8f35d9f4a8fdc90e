#include <algorithm>

#include "core/binding.h"
#include "signature/signature.h"

namespace acuity {

namespace {

using Cells = nb::ndarray<float, nb::ndim<2>, nb::device::cpu, nb::c_contig>;

using Means = nb::ndarray<const float, nb::ndim<2>, nb::device::cpu, nb::c_contig>;

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

// The means of three by three cells each, one after the other.
nb::bytes coarse_cells(const Means& cells) {
    const std::size_t rows = cells.shape(0) / 3, columns = cells.shape(1) / 3;
    if (rows * 3 != cells.shape(0) || columns * 3 != cells.shape(1)) throw nb::value_error("cells come in threes");
    std::vector<float> means;
    means.reserve(rows * columns);
    for (std::size_t y = 0; y < rows; ++y)
        for (std::size_t x = 0; x < columns; ++x) {
            float across[3];
            for (std::size_t row = 0; row < 3; ++row) {
                const float* three = cells.data() + (3 * y + row) * cells.shape(1) + 3 * x;
                across[row] = three[0] + three[1] + three[2];
            }
            means.push_back((across[0] + across[1] + across[2]) / 9.0f);
        }
    return nb::bytes(reinterpret_cast<const char*>(means.data()), means.size() * sizeof(float));
}

// By how much cells of each level of the reference differ, and how many there are; black is -128.
std::vector<std::pair<double, double>> level_differences(const Means& ref, const Means& dis, int levels) {
    if (levels < 1 || ref.shape(0) != dis.shape(0) || ref.shape(1) != dis.shape(1))
        throw nb::value_error("both have the same cells");
    std::vector<std::pair<double, double>> found(static_cast<std::size_t>(levels));
    const float scale = static_cast<float>(levels) / 256.0f;
    for (std::size_t i = 0; i < ref.shape(0) * ref.shape(1); ++i) {
        const float level = std::clamp((ref.data()[i] + 128.0f) * scale, 0.0f, static_cast<float>(levels - 1));
        auto& [difference, count] = found[static_cast<std::size_t>(level)];
        difference += dis.data()[i] - ref.data()[i];
        count += 1;
    }
    return found;
}

}  // namespace

void bind_signature(nb::module_& m) {
    m.def("signature", &signature, "luma"_a, "depth"_a, "cells"_a, "instruction_set"_a = "",
          "Fill `cells` with the mean of each cell of the picture, in steps of an 8-bit sample around mid-grey.");
    m.def("coarse_cells", &coarse_cells, "cells"_a, "The means of three by three cells each, as floats.");
    m.def("level_differences", &level_differences, "ref"_a, "dis"_a, "levels"_a,
          "By how much cells of each level of the reference differ in sum, and how many there are.");
    m.def("signature_row_step", &CellGrid::step, "height"_a, "Of how many rows of a picture one is read.");
}

}  // namespace acuity
