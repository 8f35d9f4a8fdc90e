#include "core/binding.h"
#include "float_adm/float_adm.h"

#include <nanobind/stl/tuple.h>

#include <algorithm>

namespace acuity {

namespace {

// mode, view distance, display height, scale, diagonal scale, straight and diagonal sensitivity of each scale.
using Sensitivity = std::tuple<int, double, int, double, double, std::vector<double>, std::vector<double>>;
// Sensitivity, gain limit, noise weight, exponent, masking, scale without impairment.
using Setting = std::tuple<Sensitivity, double, double, double, bool, int>;

FloatAdmSetting to_setting(const Setting& given) {
    const auto& [sensitivity, gain_limit, noise_weight, exponent, masking, skip_aim_scale] = given;
    const auto& [mode, distance, height, scale, diagonal_scale, straight, diagonal] = sensitivity;
    if (mode < 0 || straight.size() != kScales || diagonal.size() != kScales)
        throw nb::value_error("a sensitivity is a mode and a figure for each of four scales");
    FloatAdmSetting s = {mode, distance, height,       scale,        diagonal_scale, {}, {},
                         gain_limit, noise_weight, exponent, masking, skip_aim_scale};
    std::copy(straight.begin(), straight.end(), s.straight);
    std::copy(diagonal.begin(), diagonal.end(), s.diagonal);
    return s;
}

class PyFloatAdm {
  public:
    PyFloatAdm(std::shared_ptr<Workspace> workspace, int width, int height, int depth, bool skip_scale0,
               const std::vector<Setting>& settings, const std::string& instruction_set)
        : shape_("float_adm", FloatAdm::kMinSize, width, height, depth),
          adm_(std::move(workspace), select_kernels(instruction_set), width, height, skip_scale0, convert(settings)) {}

    std::vector<double> run(const Array& ref, const Array& dis) const {
        const Plane r = shape_.plane(ref), d = shape_.plane(dis);
        nb::gil_scoped_release released;
        return adm_.run(r, d);
    }

  private:
    static std::vector<FloatAdmSetting> convert(const std::vector<Setting>& given) {
        std::vector<FloatAdmSetting> settings;
        for (const Setting& setting : given) settings.push_back(to_setting(setting));
        return settings;
    }

    Shape shape_;
    FloatAdm adm_;
};

}  // namespace

void bind_float_adm(nb::module_& m) {
    nb::class_<PyFloatAdm>(m, "FloatAdm", "ADM in single precision for several settings in one pass.")
        .def(nb::init<std::shared_ptr<Workspace>, int, int, int, bool, const std::vector<Setting>&,
                      const std::string&>(),
             "workspace"_a, "width"_a, "height"_a, "depth"_a, nb::kw_only(), "skip_scale0"_a, "settings"_a,
             "instruction_set"_a = "")
        .def("run", &PyFloatAdm::run, "ref"_a, "dis"_a,
             "FLOAT_ADM_OUTPUTS values a setting: whole, aim, scales 0 to 3, num, den, both of each scale.");
    m.attr("FLOAT_ADM_MIN_SIZE") = FloatAdm::kMinSize;
    m.attr("FLOAT_ADM_OUTPUTS") = FloatAdm::kOutputs;
}

}  // namespace acuity
