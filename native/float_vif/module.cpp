#include "core/binding.h"
#include "float_vif/float_vif.h"

namespace acuity {

namespace {

class PyFloatVif {
  public:
    PyFloatVif(std::shared_ptr<Workspace> workspace, int width, int height, int depth, double kernel_scale,
               double prescale, const std::string& prescale_method, double sigma_nsq, bool skip_scale0,
               std::vector<double> gains, const std::string& instruction_set)
        : shape_("float_vif", 1, width, height, depth),
          vif_(std::move(workspace), select_kernels(instruction_set), width, height,
               {kernel_scale, prescale, prescale_method, sigma_nsq, skip_scale0}, std::move(gains)) {}

    std::vector<double> run(const Array& ref, const Array& dis) const {
        const Plane r = shape_.plane(ref), d = shape_.plane(dis);
        nb::gil_scoped_release released;
        return vif_.run(r, d);
    }

  private:
    Shape shape_;
    FloatVif vif_;
};

}  // namespace

void bind_float_vif(nb::module_& m) {
    nb::class_<PyFloatVif>(m, "FloatVif", "VIF in single precision for several gain limits in one pass.")
        .def(nb::init<std::shared_ptr<Workspace>, int, int, int, double, double, const std::string&, double, bool,
                      std::vector<double>, const std::string&>(),
             "workspace"_a, "width"_a, "height"_a, "depth"_a, nb::kw_only(), "kernel_scale"_a, "prescale"_a,
             "prescale_method"_a, "sigma_nsq"_a, "skip_scale0"_a, "gains"_a, "instruction_set"_a = "")
        .def("run", &PyFloatVif::run, "ref"_a, "dis"_a,
             "FLOAT_VIF_OUTPUTS values a gain limit: scales 0 to 3, whole, num, den, both of each scale.");
    m.def("float_vif_min_size", [](double kernel_scale) { return FloatVifWindows(kernel_scale).smallest(); },
          "kernel_scale"_a,
          "The smallest side of a picture for windows of that scale; raises FeatureError for an unknown one.");
    m.attr("FLOAT_VIF_MIN_SIZE") = FloatVifWindows(1.0).smallest();
    m.attr("FLOAT_VIF_OUTPUTS") = FloatVif::kOutputs;
}

}  // namespace acuity
