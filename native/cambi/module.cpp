#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>
#include <tuple>

#include "cambi/cambi.h"
#include "core/binding.h"

namespace acuity {

namespace {

using Contrasts = nb::ndarray<const float, nb::ndim<2>, nb::device::cpu, nb::c_contig>;
using Image = nb::ndarray<std::uint16_t, nb::ndim<2>, nb::device::cpu, nb::c_contig>;
using Judged = std::tuple<int, int, int>;            // width, height, window
using Step = std::tuple<double, int, int>;           // weight, lowest, highest
using Memory = std::shared_ptr<Workspace>;

Cambi make(const Memory& workspace, const CambiKernels& kernels, const Shape& shape, const Judged& judged, bool smooth,
           bool halve, double share, const std::vector<Step>& steps, bool heatmaps) {
    const auto [width, height, window] = judged;
    if (width < 1 || height < 1 || width > 65536 || height > 65536)
        throw nb::value_error("pictures can be judged at 1 to 65536 samples a side");
    if (window < 1 || window % 2 == 0 || window > kCambiMaxWindow)
        throw nb::value_error("the window must be odd and not larger than 65");
    const auto size = static_cast<unsigned>(steps.size());
    if (size == 0 || size > kCambiMaxSteps || (size & (size - 1)) != 0)
        throw nb::value_error("the number of steps must be a power of two up to 32");
    std::vector<CambiStep> all;
    for (const auto& [weight, lowest, highest] : steps) all.push_back({static_cast<float>(weight), lowest, highest});
    return {workspace, kernels, shape.width, shape.height, {width, height, window, smooth, halve, share, heatmaps}, all};
}

class PyCambi {
  public:
    PyCambi(const Memory& workspace, int width, int height, int depth, const Judged& judged,
            const std::optional<Judged>& source, bool smooth, bool halve, double share, const std::vector<Step>& steps,
            bool heatmaps, const std::string& instruction_set)
        : shape_("cambi", 1, width, height, depth), heatmaps_(heatmaps) {
        const CambiKernels& kernels = *select_kernels(instruction_set).cambi;
        cambis_.push_back(make(workspace, kernels, shape_, judged, smooth, halve, share, steps, heatmaps));
        if (source.has_value())
            cambis_.push_back(make(workspace, kernels, shape_, *source, smooth, halve, share, steps, false));
    }

    std::vector<double> run(const Array& ref, const Array& dis, const std::vector<Image>& heatmaps) const {
        const Plane r = shape_.plane(ref), d = shape_.plane(dis);
        Cambi::Heatmaps places;
        const bool drawn = to_places(heatmaps, places);
        nb::gil_scoped_release released;
        std::vector<double> scores = {cambis_[0].run(d, drawn ? &places : nullptr)};
        if (cambis_.size() > 1) scores.push_back(cambis_[1].run(r, nullptr));
        return scores;
    }

    std::vector<double> scores(const std::vector<std::int64_t>& sums) const {
        if (sums.size() != 2 * kCambiScales * cambis_.size()) throw nb::value_error("every scale has two sums");
        std::vector<double> all;
        auto part = sums.begin();
        for (const Cambi& cambi : cambis_) {
            Cambi::Sums whole;
            for (auto& sum : whole) {
                sum = static_cast<unsigned __int128>(*part++);
                sum += static_cast<unsigned __int128>(*part++) << 32;
            }
            all.push_back(cambi.score(whole));
        }
        return all;
    }

    void draw(const std::vector<Contrasts>& contrasts, const std::vector<Image>& heatmaps) const {
        Cambi::Heatmaps places;
        if (!to_places(heatmaps, places)) return;
        if (contrasts.size() != kCambiScales) throw nb::value_error("there are contrasts of five scales");
        for (int s = 0; s < kCambiScales; ++s) {
            const auto number = static_cast<std::size_t>(s);
            const auto [width, height] = cambis_[0].size(s);
            const Contrasts& from = contrasts[number];
            if (from.shape(1) < static_cast<std::size_t>(width) || from.shape(0) != static_cast<std::size_t>(height))
                throw nb::value_error("contrasts do not have their scale's size");
            cambis_[0].draw(s, {from.data(), static_cast<std::ptrdiff_t>(from.shape(1))}, places[number]);
        }
    }

    std::vector<CambiPlan> plans() const {
        std::vector<CambiPlan> all;
        for (const Cambi& cambi : cambis_) all.push_back(cambi.plan());
        return all;
    }

    std::vector<std::pair<int, int>> sizes() const { return cambis_[0].plan().sizes; }

  private:
    bool to_places(const std::vector<Image>& heatmaps, Cambi::Heatmaps& out) const {
        if (heatmaps.empty() && !heatmaps_) return false;
        if (heatmaps.size() != kCambiScales || !heatmaps_) throw nb::value_error("there are heatmaps of five scales");
        for (int s = 0; s < kCambiScales; ++s) {
            const auto [width, height] = cambis_[0].size(s);
            const Image& image = heatmaps[static_cast<std::size_t>(s)];
            if (image.shape(1) != static_cast<std::size_t>(width) || image.shape(0) != static_cast<std::size_t>(height))
                throw nb::value_error("a heatmap does not have its scale's size");
            out[static_cast<std::size_t>(s)] = {image.data(), width};
        }
        return true;
    }

    Shape shape_;
    bool heatmaps_;
    std::vector<Cambi> cambis_;  // of the distorted picture, and of the reference where it is wanted
};

}  // namespace

void bind_cambi(nb::module_& m) {
    nb::class_<CambiPlan>(m, "CambiPlan", "How a picture is judged: for devices other than the CPU.")
        .def_ro("width", &CambiPlan::width)
        .def_ro("height", &CambiPlan::height)
        .def_ro("radius", &CambiPlan::radius, "of the window")
        .def_ro("flat", &CambiPlan::flat,
                "more of the 7x7 samples around one than this must equal their right and lower neighbours")
        .def_ro("smooth", &CambiPlan::smooth)
        .def_ro("halve", &CambiPlan::halve)
        .def_ro("columns", &CambiPlan::columns, "where each column and row comes from; empty: pictures have this size")
        .def_ro("rows", &CambiPlan::rows)
        .def_ro("sizes", &CambiPlan::sizes, "of each scale")
        .def_ro("strongest", &CambiPlan::strongest, "how many contrasts of each scale count")
        .def_ro("base", &CambiPlan::base, "the smallest value that is counted")
        .def_ro("first", &CambiPlan::first, "of each value from there: the smallest step that can be seen, less 1")
        .def_ro("weights", &CambiPlan::weights, "of each step")
        .def_ro("inverse", &CambiPlan::inverse, "1 / n");
    nb::class_<PyCambi>(m, "Cambi",
        "Banding of pictures, judged at (width, height) in a window that is odd and at most CAMBI_MAX_WINDOW.\n\n"
        "The distorted picture is judged, and the reference where `source` says how. Steps are (weight, lowest "
        "and\n"
        "highest value from which it is seen), from 1 on; their number is a power of two, at most 32.")
        .def(nb::init<const Memory&, int, int, int, const Judged&, const std::optional<Judged>&, bool, bool, double,
                      const std::vector<Step>&, bool, const std::string&>(),
             "workspace"_a, "width"_a, "height"_a, "depth"_a, nb::kw_only(), "judged"_a, "source"_a.none(), "smooth"_a,
             "halve"_a, "share"_a, "steps"_a, "heatmaps"_a = false, "instruction_set"_a = "")
        .def_prop_ro("sizes", &PyCambi::sizes, "Width and height of each scale.")
        .def_prop_ro("plans", &PyCambi::plans, "How the distorted picture is judged, and the reference if it is.")
        .def("run", &PyCambi::run, "ref"_a, "dis"_a, "heatmaps"_a,
             "One score, or two; contrasts of the distorted picture are drawn on the five heatmaps, if given.")
        .def("scores", &PyCambi::scores, "sums"_a,
             "The scores of each scale's sum of strongest contrasts in 2^-24, given as low part and 2^32s.")
        .def("draw", &PyCambi::draw, "contrasts"_a, "heatmaps"_a,
             "Draw contrasts of the five scales; rows may be longer than their scale is wide.");
    m.attr("CAMBI_MAX_WINDOW") = kCambiMaxWindow;
}

}  // namespace acuity
