#include <cstring>

#include "core/binding.h"
#include "ssimulacra2/ssimulacra2.h"

namespace acuity {

namespace {

using Sums = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<float> numbers(const Numbers& array, std::size_t count) {
    if (array.shape(0) != count) throw nb::value_error("a table of colour does not have its size");
    return {array.data(), array.data() + count};
}

class PySsimulacra2 {
  public:
    PySsimulacra2(std::shared_ptr<Workspace> workspace, int width, int height, int depth, std::pair<int, int> chroma,
                  int black, const std::vector<double>& steps, const Numbers& curve, const Numbers& mix,
                  const std::string& instruction_set)
        : luma_("ssimulacra2", Ssimulacra2::kMinSize, width, height, depth),
          chroma_(chroma.first > 0 ? Shape("ssimulacra2", 1, chroma.first, chroma.second, depth) : luma_),
          ssimulacra2_(std::move(workspace), select_kernels(instruction_set), width, height, depth, chroma.first,
                       chroma.second, colour(black, steps, curve, mix)) {}

    double run(const std::vector<Array>& ref, const std::vector<Array>& dis) {
        const std::size_t count = ssimulacra2_.has_chroma() ? 3 : 1;
        if (ref.size() < count || dis.size() < count) throw nb::value_error("a picture lacks its chroma planes");
        Plane r[3], d[3];
        for (std::size_t c = 0; c < count; ++c) {
            const Shape& shape = c == 0 ? luma_ : chroma_;
            r[c] = shape.plane(ref[c]);
            d[c] = shape.plane(dis[c]);
        }
        nb::gil_scoped_release released;
        return ssimulacra2_.run(r, d);
    }

    double outputs(const Sums& sums) const {
        constexpr std::size_t kWords = sizeof(ssimulacra2::Sums) / sizeof(double) * ssimulacra2::kChannels;
        const std::size_t scales = ssimulacra2_.sizes().size();
        if (sums.shape(0) != scales * kWords) throw nb::value_error("the sums of each scale are 288 numbers");
        ssimulacra2::Sums of[ssimulacra2::kScales][ssimulacra2::kChannels];
        std::memcpy(of, sums.data(), scales * kWords * sizeof(double));
        return ssimulacra2_.outputs(of);
    }

    std::vector<std::pair<int, int>> sizes() const { return ssimulacra2_.sizes(); }

    nb::tuple light() const {
        const ssimulacra2::Light& l = ssimulacra2_.light();
        return nb::make_tuple(l.black, l.grey, l.luma, l.red_v, l.green_u, l.green_v, l.blue_u);
    }

    std::vector<float> curve() const { return ssimulacra2_.curve(); }

  private:
    static Ssimulacra2Colour colour(int black, const std::vector<double>& steps, const Numbers& curve,
                                    const Numbers& mix) {
        if (steps.size() != 5) throw nb::value_error("steps are of luma, red by v, green by u and v, blue by u");
        return {black,    steps[0], steps[1], steps[2], steps[3],
                steps[4], numbers(curve, ssimulacra2::kCurve + 1), numbers(mix, 9)};
    }

    Shape luma_, chroma_;
    Ssimulacra2 ssimulacra2_;
};

}  // namespace

void bind_ssimulacra2(nb::module_& m) {
    m.attr("SSIMULACRA2_MIN_SIZE") = Ssimulacra2::kMinSize;
    m.attr("SSIMULACRA2_CURVE") = ssimulacra2::kCurve;
    nb::class_<PySsimulacra2>(m, "Ssimulacra2",
        "SSIMULACRA 2 of a picture pair; `chroma` is the size of those planes, (0, 0) without.\n\n"
        "What samples mean: luma of `black`; `steps` of luma, of red by v, green by u and by v and blue by u; a\n"
        "`curve` of light at SSIMULACRA2_CURVE + 1 values; the `mix` of red, green and blue in kinds of cones.")
        .def(nb::init<std::shared_ptr<Workspace>, int, int, int, std::pair<int, int>, int, const std::vector<double>&,
                      const Numbers&, const Numbers&, const std::string&>(),
             "workspace"_a, "width"_a, "height"_a, "depth"_a, nb::kw_only(), "chroma"_a, "black"_a, "steps"_a,
             "curve"_a, "mix"_a, "instruction_set"_a = "")
        .def("run", &PySsimulacra2::run, "ref"_a, "dis"_a, "The score.")
        .def("outputs", &PySsimulacra2::outputs, "sums"_a,
             "The same from sums by scale, channel, norm and column modulo 16.")
        .def_prop_ro("sizes", &PySsimulacra2::sizes, "Columns and rows of each scale.")
        .def_prop_ro("light", &PySsimulacra2::light,
                     "How samples become light: luma of black, chroma sum of grey, and the five steps of chroma "
                     "sums.")
        .def_prop_ro("curve", &PySsimulacra2::curve,
                     "Light at SSIMULACRA2_CURVE + 1 values, then the step from each to the next.");
}

}  // namespace acuity
