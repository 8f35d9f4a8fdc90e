#include "adm/adm.h"
#include "adm/plan.h"
#include "core/binding.h"

namespace acuity {

namespace {

CsfOptions csf_options(int mode, double view_distance, int display_height, double scale, double diagonal_scale) {
    if (mode < 0 || mode > 3) throw nb::value_error("adm_csf_mode must be 0 to 3");
    return {static_cast<CsfMode>(mode), view_distance, display_height, scale, diagonal_scale};
}

// A scale as other implementations of its kernels need it.
struct PyAdmPlan {
    AdmScale scale;
    AdmPlan plan;

    explicit PyAdmPlan(const AdmScale& scale) : scale(scale), plan(adm_plan(scale)) {}

    template <class T>
    static std::vector<T> three(const T (&values)[3]) {
        return {values, values + 3};
    }
    static std::pair<int, int> pair(Span span) { return {span.begin, span.end}; }
};

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

    std::vector<double> outputs(const std::vector<std::uint64_t>& sums) const {
        if (sums.size() != kScales * adm_.sums_a_scale()) throw nb::value_error("these are not the sums of a frame");
        return adm_.outputs(sums);
    }

    const std::vector<double>& gains() const { return adm_.gains(); }
    bool aim() const { return adm_.aim(); }

    std::vector<PyAdmPlan> plans() const {
        std::vector<PyAdmPlan> out;
        for (int s = 0; s < kScales; ++s) out.emplace_back(adm_.scale(s));
        return out;
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

void bind_adm_plan(nb::module_& m) {
    const auto field = [](auto read) { return [read](const PyAdmPlan& p) { return read(p.scale, p.plan); }; };
    using Plan = PyAdmPlan;
    nb::class_<Plan>(m, "AdmPlan", "What one scale of ADM reads, sums and shifts.")
        .def_prop_ro("bands", field([](auto& s, auto&) { return s.bands; }),
                     "False: the scale is skipped but for its low-pass band")
        .def_prop_ro("input", field([](auto& s, auto&) { return std::pair(s.width, s.height); }),
                     "columns and rows that the wavelet transform reads")
        .def_prop_ro("size", field([](auto&, auto& p) { return std::pair(p.width, p.height); }), "of the bands")
        .def_prop_ro("rows", field([](auto&, auto& p) { return Plan::pair(p.rows); }),
                     "summed, from the first to before the last")
        .def_prop_ro("columns", field([](auto&, auto& p) { return Plan::pair(p.columns); }))
        .def_prop_ro("factors", field([](auto& s, auto&) { return Plan::three(s.rfactor); }),
                     "contrast sensitivity of the bands in fixed point")
        .def_prop_ro("cos_squared", field([](auto&, auto& p) { return p.cos_squared; }))
        .def_prop_ro("cube_shifts", field([](auto&, auto& p) { return Plan::three(p.shifts.cube); }),
                     "off each masked cube of the bands, after these were added")
        .def_prop_ro("cube_adds", field([](auto&, auto& p) { return Plan::three(p.cube_add); }))
        .def_prop_ro("row_shift", field([](auto&, auto& p) { return p.shifts.row; }),
                     "off each row's masked sums, after these were added")
        .def_prop_ro("row_adds", field([](auto&, auto& p) {
            std::vector<std::uint64_t> adds;
            for (const std::uint64_t flat : p.flat) adds.push_back(flat + static_cast<std::uint64_t>(p.row_add));
            return adds;
        }))
        .def_prop_ro("den_cube_shift", field([](auto&, auto& p) { return p.shifts.den_cube; }),
                     "the same of the denominators")
        .def_prop_ro("den_cube_add", field([](auto&, auto& p) { return p.den_cube_add; }))
        .def_prop_ro("den_row_shift", field([](auto&, auto& p) { return p.shifts.den_row; }))
        .def_prop_ro("den_row_add", field([](auto&, auto& p) { return p.den_flat + p.den_row_add; }));
}

}  // namespace

void bind_adm(nb::module_& m) {
    bind_adm_plan(m);
    nb::class_<PyAdm>(m, "Adm", "ADM for several (gain limit, noise weight) settings in one pass.")
        .def(nb::init<std::shared_ptr<Workspace>, int, int, int, int, double, int, double, double, bool, bool,
                      const std::vector<std::pair<double, double>>&, const std::string&>(),
             "workspace"_a, "width"_a, "height"_a, "depth"_a, nb::kw_only(), "csf_mode"_a, "view_distance"_a,
             "display_height"_a, "csf_scale"_a, "csf_diagonal_scale"_a, "skip_scale0"_a, "aim"_a, "settings"_a,
             "instruction_set"_a = "")
        .def("run", &PyAdm::run, "ref"_a, "dis"_a,
             "ADM_OUTPUTS values a setting: whole, aim, scales 0 to 3, num, den, num and den of each scale.")
        .def("outputs", &PyAdm::outputs, "sums"_a,
             "The same from a frame's sums.\n\n"
             "Each scale has three denominators, then three masked sums for each of `gains`, followed by three of\n"
             "the additive impairment if `aim`.")
        .def_prop_ro("gains", &PyAdm::gains, "The gain limits of all settings, each once.")
        .def_prop_ro("aim", &PyAdm::aim)
        .def_prop_ro("plans", &PyAdm::plans, "The four scales.");
    m.def("csf_factors", &list_csf_factors, "mode"_a, "view_distance"_a, "display_height"_a, "scale"_a,
          "diagonal_scale"_a, "ADM's contrast sensitivity at each scale, (straight, diagonal); raises FeatureError.");
    m.attr("ADM_MIN_SIZE") = Adm::kMinSize;
    m.attr("ADM_OUTPUTS") = Adm::kOutputs;
}

}  // namespace acuity
