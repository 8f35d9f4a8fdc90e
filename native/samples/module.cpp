#include "core/binding.h"
#include "samples/table.h"

namespace acuity {

namespace {

// Whether no sample exceeds the depth, which kernels rely on.
bool samples_fit(const Array& samples, int depth, const std::string& instruction_set) {
    const SamplesKernels& kernels = *select_kernels(instruction_set).samples;
    const Shape shape("a picture", 1, static_cast<int>(samples.shape(1)), static_cast<int>(samples.shape(0)), depth);
    const Plane plane = shape.plane(samples);
    if (depth == 8 || depth == 16) return true;  // the type holds nothing else
    nb::gil_scoped_release released;
    return kernels.bits(plane) >> depth == 0;
}

// The samples without so many rows above and below and columns at both sides.
nb::bytes cut_edges(const Array& samples, int depth, int top, int left) {
    const Shape shape("a picture", 1, static_cast<int>(samples.shape(1)), static_cast<int>(samples.shape(0)), depth);
    const Plane plane = shape.plane(samples);
    const int rows = plane.height - 2 * top, size = depth == 8 ? 1 : 2;
    if (top < 0 || left < 0 || rows < 1 || plane.width <= 2 * left) throw nb::value_error("nothing of it would be left");
    const auto first = static_cast<const char*>(plane.data) + plane.stride * top + left * size;
    const auto row = static_cast<std::size_t>(plane.width - 2 * left) * static_cast<std::size_t>(size);
    std::string cut;
    cut.reserve(row * static_cast<std::size_t>(rows));
    for (int y = 0; y < rows; ++y) cut.append(first + plane.stride * y, row);
    return nb::bytes(cut.data(), cut.size());
}

}  // namespace

void bind_samples(nb::module_& m) {
    m.def("samples_fit", &samples_fit, "samples"_a, "depth"_a, "instruction_set"_a = "",
          "Whether no sample is larger than its depth allows.");
    m.def("cut_edges", &cut_edges, "samples"_a, "depth"_a, "top"_a, "left"_a,
          "The samples without so many rows above and below and columns at both sides.");
}

}  // namespace acuity
