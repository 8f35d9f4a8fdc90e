#include "core/binding.h"
#include "psnr/table.h"

namespace acuity {

namespace {

std::uint64_t squared_error(const Array& ref, const Array& dis, int depth, const std::string& instruction_set) {
    const PsnrKernels& kernels = *select_kernels(instruction_set).psnr;
    const Shape shape("psnr", 1, static_cast<int>(ref.shape(1)), static_cast<int>(ref.shape(0)), depth);
    const Plane r = shape.plane(ref), d = shape.plane(dis);
    nb::gil_scoped_release released;
    return kernels.squared_error(r, d);
}

}  // namespace

void bind_psnr(nb::module_& m) {
    m.def("squared_error", &squared_error, "ref"_a, "dis"_a, "depth"_a, "instruction_set"_a = "",
          "The sum of squared differences of two planes.");
}

}  // namespace acuity
