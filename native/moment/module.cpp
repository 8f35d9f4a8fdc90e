#include "core/binding.h"
#include "moment/table.h"

namespace acuity {

namespace {

Shape shape_of(const char* extractor, const Array& array, int depth) {
    return {extractor, 1, static_cast<int>(array.shape(1)), static_cast<int>(array.shape(0)), depth};
}

std::vector<std::uint64_t> moments(const Array& ref, const Array& dis, int depth, const std::string& instruction_set) {
    const MomentKernels& kernels = *select_kernels(instruction_set).moment;
    const Shape shape = shape_of("float_moment", ref, depth);
    const Plane r = shape.plane(ref), d = shape.plane(dis);
    nb::gil_scoped_release released;
    const Moments of_ref = kernels.moments(r), of_dis = kernels.moments(d);
    return {of_ref.sum, of_dis.sum, of_ref.squares, of_dis.squares};
}

std::uint64_t rounded_error(const Array& ref, const Array& dis, int depth, const std::string& instruction_set) {
    const MomentKernels& kernels = *select_kernels(instruction_set).moment;
    if (depth <= 12) throw nb::value_error("squares of up to 12 bits need no rounding: use squared_error");
    const Shape shape = shape_of("float_psnr", ref, depth);
    const Plane r = shape.plane(ref), d = shape.plane(dis);
    nb::gil_scoped_release released;
    return kernels.rounded_error(r, d);
}

}  // namespace

void bind_moment(nb::module_& m) {
    m.def("moments", &moments, "ref"_a, "dis"_a, "depth"_a, "instruction_set"_a = "",
          "Sums of both planes' samples, then of their squares, which are rounded to single precision.");
    m.def("rounded_error", &rounded_error, "ref"_a, "dis"_a, "depth"_a, "instruction_set"_a = "",
          "The sum of squared differences of planes deeper than 12 bits, each rounded to single precision.");
}

}  // namespace acuity
