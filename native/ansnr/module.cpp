#include "ansnr/table.h"
#include "core/binding.h"

namespace acuity {

namespace {

class PyAnsnr {
  public:
    PyAnsnr(std::shared_ptr<Workspace> workspace, int width, int height, int depth, const std::string& instruction_set)
        : shape_("float_ansnr", kAnsnrMinSize, width, height, depth),
          kernels_(*select_kernels(instruction_set).ansnr),
          workspace_(std::move(workspace)) {
        workspace_->reserve(ansnr_scratch_bytes(width));
    }

    std::pair<double, double> run(const Array& ref, const Array& dis) const {
        const Plane r = shape_.plane(ref), d = shape_.plane(dis);
        nb::gil_scoped_release released;
        AnsnrSums sums;
        kernels_.sums(r, d, workspace_->block(), sums);
        const float ratio = sums.noise > 0.0f ? sums.signal / sums.noise : 0.0f;
        return {ratio, sums.noise};
    }

  private:
    Shape shape_;
    const AnsnrKernels& kernels_;
    std::shared_ptr<Workspace> workspace_;
};

}  // namespace

void bind_ansnr(nb::module_& m) {
    nb::class_<PyAnsnr>(m, "Ansnr", "Signal and noise of smoothed pictures.")
        .def(nb::init<std::shared_ptr<Workspace>, int, int, int, const std::string&>(), "workspace"_a, "width"_a,
             "height"_a, "depth"_a, nb::kw_only(), "instruction_set"_a = "")
        .def("run", &PyAnsnr::run, "ref"_a, "dis"_a,
             "The signal over the noise (0 where there is none), and the noise.");
}

}  // namespace acuity
