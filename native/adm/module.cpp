#include "adm/adm.h"
#include "core/binding.h"

namespace acuity {

namespace {

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

}  // namespace

void bind_adm(nb::module_& m) {
    nb::class_<PyAdm>(m, "Adm")
        .def(nb::init<std::shared_ptr<Workspace>, int, int, int, int, double, int, double, double, bool, bool,
                      const std::vector<std::pair<double, double>>&, const std::string&>(),
             "workspace"_a, "width"_a, "height"_a, "depth"_a, nb::kw_only(), "csf_mode"_a, "view_distance"_a,
             "display_height"_a, "csf_scale"_a, "csf_diagonal_scale"_a, "skip_scale0"_a, "aim"_a, "settings"_a,
             "instruction_set"_a = "")
        .def("run", &PyAdm::run, "ref"_a, "dis"_a);
    m.def("csf_factors", &list_csf_factors, "mode"_a, "view_distance"_a, "display_height"_a, "scale"_a,
          "diagonal_scale"_a);
    m.attr("ADM_MIN_SIZE") = Adm::kMinSize;
    m.attr("ADM_OUTPUTS") = Adm::kOutputs;
}

}  // namespace acuity
