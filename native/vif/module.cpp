#include "core/binding.h"
#include "vif/vif.h"

namespace acuity {

namespace {

class PyVif {
  public:
    PyVif(std::shared_ptr<Workspace> workspace, int width, int height, int depth, bool skip_scale0,
          std::vector<double> gains, const std::string& instruction_set)
        : shape_("vif", Vif::kMinSize, width, height, depth),
          vif_(std::move(workspace), select_kernels(instruction_set), width, height, depth, skip_scale0,
               std::move(gains)) {}

    std::vector<double> run(const Array& ref, const Array& dis) const {
        const Plane r = shape_.plane(ref), d = shape_.plane(dis);
        nb::gil_scoped_release released;
        return vif_.run(r, d);
    }

  private:
    Shape shape_;
    Vif vif_;
};

}  // namespace

void bind_vif(nb::module_& m) {
    nb::class_<PyVif>(m, "Vif")
        .def(nb::init<std::shared_ptr<Workspace>, int, int, int, bool, std::vector<double>, const std::string&>(),
             "workspace"_a, "width"_a, "height"_a, "depth"_a, nb::kw_only(), "skip_scale0"_a, "gains"_a,
             "instruction_set"_a = "")
        .def("run", &PyVif::run, "ref"_a, "dis"_a);
    m.attr("VIF_MIN_SIZE") = Vif::kMinSize;
    m.attr("VIF_OUTPUTS") = Vif::kOutputs;
}

}  // namespace acuity
