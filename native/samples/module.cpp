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

}  // namespace

void bind_samples(nb::module_& m) {
    m.def("samples_fit", &samples_fit, "samples"_a, "depth"_a, "instruction_set"_a = "",
          "Whether no sample is larger than its depth allows.");
}

}  // namespace acuity
