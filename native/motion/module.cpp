#include "core/binding.h"
#include "motion/table.h"

namespace acuity {

namespace {

class Motion {
  public:
    static constexpr int kMinSize = 3;  // the blur reaches two samples past each edge

    Motion(std::shared_ptr<Workspace> workspace, int width, int height, int depth, const std::string& instruction_set)
        : shape_("motion", kMinSize, width, height, depth), workspace_(std::move(workspace)),
          kernels_(*select_kernels(instruction_set).motion) {
        workspace_->reserve(kernels_.scratch_bytes(width));
    }

    // Mean absolute difference of the blurred pictures, in sample values.
    double run(const Array& before, const Array& now) const {
        const Plane b = shape_.plane(before), n = shape_.plane(now);
        nb::gil_scoped_release released;
        const std::uint64_t sad = kernels_.sad(b, n, workspace_->block());
        const auto area = static_cast<std::uint32_t>(n.width) * static_cast<std::uint32_t>(n.height);
        return static_cast<double>(sad) / 256.0 / area;
    }

  private:
    Shape shape_;
    std::shared_ptr<Workspace> workspace_;
    const MotionKernels& kernels_;
};

}  // namespace

void bind_motion(nb::module_& m) {
    nb::class_<Motion>(m, "Motion", "Motion between two pictures.")
        .def(nb::init<std::shared_ptr<Workspace>, int, int, int, const std::string&>(), "workspace"_a, "width"_a,
             "height"_a, "depth"_a, nb::kw_only(), "instruction_set"_a = "")
        .def("run", &Motion::run, "before"_a, "now"_a, "Mean absolute difference of the blurred pictures.");
    m.attr("MOTION_MIN_SIZE") = Motion::kMinSize;
}

}  // namespace acuity
