#include "core/binding.h"
#include <nanobind/stl/tuple.h>

#include "speed/speed.h"

namespace acuity {

namespace {

using Settings = std::vector<std::tuple<double, double, int>>;  // sigma_nn, nn_floor, weight_var_mode

std::vector<Speed::Weighing> weighings(const Settings& settings) {
    std::vector<Speed::Weighing> all;
    for (const auto& [sigma_nn, nn_floor, mode] : settings)
        all.push_back({static_cast<float>(sigma_nn), static_cast<float>(nn_floor), mode});
    return all;
}

// Either extractor: planes of one size, compared.
class PySpeed {
  public:
    PySpeed(std::shared_ptr<Workspace> workspace, int width, int height, int depth, double kernelscale,
            double prescale, std::string prescale_method, const Settings& settings, const std::string& instruction_set)
        : shape_("speed", 1, width, height, depth),
          speed_(std::move(workspace), select_kernels(instruction_set), width, height,
                 {kernelscale, prescale, std::move(prescale_method)}, weighings(settings)) {}

    using Scores = std::vector<std::vector<double>>;
    using Plain = std::pair<bool, std::vector<float>>;  // a result as Python has it: unstable, scores

    Scores chroma(const Array& ref_u, const Array& ref_v, const Array& dis_u, const Array& dis_v) const {
        const SpeedSource sources[] = {source(ref_u), source(ref_v), source(dis_u), source(dis_v)};
        nb::gil_scoped_release released;
        return join(speed_.run(sources[0], sources[2]), speed_.run(sources[1], sources[3]));
    }

    static Scores joined(const Plain& u, const Plain& v) {
        if (u.second.size() != v.second.size()) throw nb::value_error("both planes have the same settings");
        return join({u.first, u.second}, {v.first, v.second});
    }

    std::vector<double> change(const Array& ref_before, const Array& ref, const Array& dis_before,
                               const Array& dis) const {
        const SpeedSource r = {shape_.plane(ref_before), shape_.plane(ref)};
        const SpeedSource d = {shape_.plane(dis_before), shape_.plane(dis)};
        nb::gil_scoped_release released;
        const Speed::Result result = speed_.run(r, d);
        return {result.scores.begin(), result.scores.end()};
    }

  private:
    static Scores join(const Speed::Result& u, const Speed::Result& v) {
        Scores scores;
        for (std::size_t i = 0; i < u.scores.size(); ++i) {
            // A plane that can't be described, such as a flat one, is left out.
            float both = static_cast<float>(static_cast<double>(u.scores[i] + v.scores[i]) / 2.0);
            if (u.unstable != v.unstable) both = u.unstable ? v.scores[i] : u.scores[i];
            scores.push_back({u.scores[i], v.scores[i], both});
        }
        return scores;
    }

    SpeedSource source(const Array& array) const { return {shape_.plane(array), {}}; }

    Shape shape_;
    Speed speed_;
};

// The tables of one axis: outputs, which samples, their weights.
using Axis = std::tuple<int, std::vector<std::int32_t>, std::vector<float>>;

Axis tables(const SpeedAxis& axis, const SpeedReduction& reduction) {
    const std::ptrdiff_t size = static_cast<std::ptrdiff_t>(axis.entries) * (reduction.blend > 0 ? reduction.blend : 1);
    return {axis.outputs, {axis.at, axis.at + size}, {axis.weights, axis.weights + size}};
}

std::vector<float> taps(const float* first, int count) { return {first, first + count}; }

}  // namespace

void bind_speed(nb::module_& m) {
    nb::class_<PySpeed>(m, "Speed",
        "SpEED of planes of one size, for several (sigma_nn, nn_floor, weight_var_mode) settings in one pass.")
        .def(nb::init<std::shared_ptr<Workspace>, int, int, int, double, double, std::string, const Settings&,
                      const std::string&>(),
             "workspace"_a, "width"_a, "height"_a, "depth"_a, nb::kw_only(), "kernelscale"_a, "prescale"_a,
             "prescale_method"_a, "settings"_a, "instruction_set"_a = "")
        .def_static("joined", &PySpeed::joined, "u"_a, "v"_a,
                    "What `chroma` gives, of each plane's results: whether a covariance is singular, and the "
                    "scores.")
        .def("chroma", &PySpeed::chroma, "ref_u"_a, "ref_v"_a, "dis_u"_a, "dis_v"_a,
             "For each setting the scores of u, of v and of both.")
        .def("change", &PySpeed::change, "ref_before"_a, "ref"_a, "dis_before"_a, "dis"_a,
             "For each setting the score of what changed.");

    nb::class_<SpeedPlan>(m, "SpeedPlan",
        "How SpEED reduces planes of one size: its filters, and which samples they read.")
        .def(
            "__init__",
            [](SpeedPlan* self, int width, int height, double kernelscale, double prescale, std::string prescale_method) {
                const Shape shape("speed", 1, width, height, 8);
                new (self) SpeedPlan(shape.width, shape.height, {kernelscale, prescale, std::move(prescale_method)});
            },
            "width"_a, "height"_a, nb::kw_only(), "kernelscale"_a, "prescale"_a, "prescale_method"_a)
        .def_prop_ro("columns", [](const SpeedPlan& p) { return tables(p.reduction().columns, p.reduction()); },
                     "Outputs of a row, the samples that their taps read, and their weights: see "
                     "native/speed/table.h.")
        .def_prop_ro("rows", [](const SpeedPlan& p) { return tables(p.reduction().rows, p.reduction()); })
        .def_prop_ro("blend", [](const SpeedPlan& p) { return p.reduction().blend; },
                     "Samples blended along each axis; 0 if planes are not rescaled.")
        .def_prop_ro("normalised", [](const SpeedPlan& p) { return p.reduction().normalised; },
                     "Whether a blend is divided by the sum of its weights.")
        .def_prop_ro("low_pass", [](const SpeedPlan& p) { return taps(p.reduction().low_pass, p.reduction().taps); })
        .def_prop_ro("mean", [](const SpeedPlan& p) { return taps(p.reduction().mean, p.reduction().mean_taps); })
        .def_prop_ro("across", &SpeedPlan::across, "Blocks in a row.")
        .def_prop_ro("down", &SpeedPlan::down);
}

}  // namespace acuity
