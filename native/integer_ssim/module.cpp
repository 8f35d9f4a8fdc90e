#include "core/binding.h"
#include "integer_ssim/table.h"

namespace acuity {

namespace {

class PyIntegerSsim {
  public:
    PyIntegerSsim(std::shared_ptr<Workspace> workspace, int width, int height, int depth,
                  const std::string& instruction_set)
        : shape_("ssim", 1, width, height, depth), workspace_(std::move(workspace)),
          kernels_(*select_kernels(instruction_set).integer_ssim), weight_(total(width) * total(height)) {
        workspace_->reserve(kernels_.scratch_bytes(width));
    }

    double run(const Array& ref, const Array& dis) const {
        const Plane r = shape_.plane(ref), d = shape_.plane(dis);
        nb::gil_scoped_release released;
        return kernels_.similarity(r, d, workspace_->block()) / weight_;
    }

  private:
    // The sum of the windows' weights at all places, in one direction.
    static double total(int side) {
        std::int64_t sum = 0;
        for (int i = 0; i < side; ++i) sum += ssim_weight(i, side);
        return static_cast<double>(sum);
    }

    Shape shape_;
    std::shared_ptr<Workspace> workspace_;
    const IntegerSsimKernels& kernels_;
    double weight_;
};

}  // namespace

void bind_integer_ssim(nb::module_& m) {
    nb::class_<PyIntegerSsim>(m, "Ssim", "Structural similarity in integer arithmetic.")
        .def(nb::init<std::shared_ptr<Workspace>, int, int, int, const std::string&>(), "workspace"_a, "width"_a,
             "height"_a, "depth"_a, nb::kw_only(), "instruction_set"_a = "")
        .def("run", &PyIntegerSsim::run, "ref"_a, "dis"_a);
}

}  // namespace acuity
