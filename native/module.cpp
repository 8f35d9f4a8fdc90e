// The Python module acuity._native. It checks what it is given, releases the interpreter lock and
// calls; src/acuity/_native.pyi is its description for people and type checkers.
#include <cerrno>
#include <system_error>

#include "adm.h"
#include "adm_csf.h"
#include "binding.h"
#include "bridge.h"
#include "module_bridge.h"
#include "motion.h"
#include "range.h"
#include "vif.h"

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

CsfOptions csf_options(int mode, double view_distance, int display_height, double scale, double diagonal_scale) {
    if (mode < 0 || mode > 3) throw nb::value_error("adm_csf_mode must be 0 to 3");
    return {static_cast<CsfMode>(mode), view_distance, display_height, scale, diagonal_scale};
}

class PyAdm {
  public:
    PyAdm(std::shared_ptr<Workspace> workspace, int width, int height, int depth, int csf_mode, double view_distance,
          int display_height, double csf_scale, double csf_diagonal_scale, bool skip_scale0, bool aim,
          const std::vector<std::pair<double, double>>& settings, const std::string& instruction_set)
        : shape_("adm", Adm::kMinSize, width, height, depth),
          adm_(std::move(workspace), select_kernels(instruction_set), width, height, depth,
               csf_options(csf_mode, view_distance, display_height, csf_scale, csf_diagonal_scale), skip_scale0, aim,
               to_settings(settings)) {}

    std::vector<double> run(const Array& ref, const Array& dis) const {
        const Plane r = shape_.plane(ref), d = shape_.plane(dis);
        nb::gil_scoped_release released;
        return adm_.run(r, d);
    }

  private:
    static std::vector<Adm::Setting> to_settings(const std::vector<std::pair<double, double>>& pairs) {
        std::vector<Adm::Setting> settings;
        for (const auto& [gain_limit, noise_weight] : pairs) settings.push_back({gain_limit, noise_weight});
        return settings;
    }

    Shape shape_;
    Adm adm_;
};

class PyMotion {
  public:
    PyMotion(std::shared_ptr<Workspace> workspace, int width, int height, int depth, const std::string& instruction_set)
        : shape_("motion", Motion::kMinSize, width, height, depth),
          motion_(std::move(workspace), select_kernels(instruction_set), width, height) {}

    double run(const Array& before, const Array& now) const {
        const Plane b = shape_.plane(before), n = shape_.plane(now);
        nb::gil_scoped_release released;
        return motion_.run(b, n);
    }

  private:
    Shape shape_;
    Motion motion_;
};

bool array_fits(const Array& array, int depth) {
    const Shape shape("a picture", 1, static_cast<int>(array.shape(1)), static_cast<int>(array.shape(0)), depth);
    const Plane plane = shape.plane(array);
    nb::gil_scoped_release released;
    return samples_fit(plane);
}

std::vector<std::pair<std::string, bool>> instruction_sets() {
    int count = 0;
    const Kernels* const* tables = all_kernels(count);
    std::vector<std::pair<std::string, bool>> out;
    for (int i = 0; i < count; ++i) out.emplace_back(tables[i]->name, kernels_supported(*tables[i]));
    return out;
}

std::vector<std::pair<double, double>> list_csf_factors(int mode, double view_distance, int display_height,
                                                        double scale, double diagonal_scale) {
    const CsfOptions options = csf_options(mode, view_distance, display_height, scale, diagonal_scale);
    std::vector<std::pair<double, double>> out;
    for (int s = 0; s < kScales; ++s) {
        const CsfFactors f = csf_factors(options, s);
        out.emplace_back(static_cast<double>(f.straight), static_cast<double>(f.diagonal));
    }
    return out;
}

// The one place where native errors become Acuity's exceptions.
void translate(const std::exception_ptr& error, void*) {
    const auto raise = [](const char* type, const char* message) {
        PyErr_SetString(nb::module_::import_("acuity.errors").attr(type).ptr(), message);
    };
    try {
        std::rethrow_exception(error);
    } catch (const UnsupportedKernels& e) {
        raise("BackendError", e.what());
    } catch (const UnsupportedOptions& e) {
        raise("FeatureError", e.what());
    } catch (const BridgeClosed& e) {
        raise("ClosedError", e.what());
    } catch (const std::system_error& e) {
        errno = e.code().value();
        PyErr_SetFromErrno(PyExc_OSError);
    }
}

}  // namespace
}  // namespace acuity

NB_MODULE(_native, m) {
    nb::set_leak_warnings(false);  // a process that forks leaves what its parent still uses
    using namespace acuity;
    m.doc() = "Acuity's kernels";
    nb::register_exception_translator(translate);

    nb::class_<Workspace>(m, "Workspace").def(nb::init<>()).def_prop_ro("size", &Workspace::size);

    nb::class_<PyVif>(m, "Vif")
        .def(nb::init<std::shared_ptr<Workspace>, int, int, int, bool, std::vector<double>, const std::string&>(),
             "workspace"_a, "width"_a, "height"_a, "depth"_a, nb::kw_only(), "skip_scale0"_a, "gains"_a,
             "instruction_set"_a = "")
        .def("run", &PyVif::run, "ref"_a, "dis"_a);

    nb::class_<PyAdm>(m, "Adm")
        .def(nb::init<std::shared_ptr<Workspace>, int, int, int, int, double, int, double, double, bool, bool,
                      const std::vector<std::pair<double, double>>&, const std::string&>(),
             "workspace"_a, "width"_a, "height"_a, "depth"_a, nb::kw_only(), "csf_mode"_a, "view_distance"_a,
             "display_height"_a, "csf_scale"_a, "csf_diagonal_scale"_a, "skip_scale0"_a, "aim"_a, "settings"_a,
             "instruction_set"_a = "")
        .def("run", &PyAdm::run, "ref"_a, "dis"_a);

    nb::class_<PyMotion>(m, "Motion")
        .def(nb::init<std::shared_ptr<Workspace>, int, int, int, const std::string&>(), "workspace"_a, "width"_a,
             "height"_a, "depth"_a, nb::kw_only(), "instruction_set"_a = "")
        .def("run", &PyMotion::run, "before"_a, "now"_a);

    m.def("samples_fit", &array_fits, "samples"_a, "depth"_a);
    m.def("instruction_sets", &instruction_sets);
    m.def("select_instruction_set", [](const std::string& name) { return std::string(select_kernels(name).name); },
          "name"_a = "");
    m.def("csf_factors", &list_csf_factors, "mode"_a, "view_distance"_a, "display_height"_a, "scale"_a,
          "diagonal_scale"_a);
    bind_bridge(m);
#define ACUITY_BIND(Type, name) bind_##name(m);
    ACUITY_FAMILIES(ACUITY_BIND)
#undef ACUITY_BIND
    m.attr("VIF_MIN_SIZE") = Vif::kMinSize;
    m.attr("VIF_OUTPUTS") = Vif::kOutputs;
    m.attr("ADM_MIN_SIZE") = Adm::kMinSize;
    m.attr("ADM_OUTPUTS") = Adm::kOutputs;
    m.attr("MOTION_MIN_SIZE") = Motion::kMinSize;
}
