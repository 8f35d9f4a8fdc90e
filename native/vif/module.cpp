#include "core/binding.h"
#include "vif/log2.h"
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

using Words = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<double> outputs(const Words& words, std::size_t gains, bool skip_scale0) {
    if (words.shape(0) != vif_words(gains)) throw nb::value_error("the words don't fit the number of gain limits");
    return vif_outputs(words.data(), gains, skip_scale0);
}

}  // namespace

void bind_vif(nb::module_& m) {
    nb::class_<PyVif>(m, "Vif", "VIF for several gain limits in one pass.")
        .def(nb::init<std::shared_ptr<Workspace>, int, int, int, bool, std::vector<double>, const std::string&>(),
             "workspace"_a, "width"_a, "height"_a, "depth"_a, nb::kw_only(), "skip_scale0"_a, "gains"_a,
             "instruction_set"_a = "")
        .def("run", &PyVif::run, "ref"_a, "dis"_a,
             "VIF_OUTPUTS values a gain limit: scales 0 to 3, whole, num, den, num and den of each scale.");
    m.def("vif_outputs", &outputs, "words"_a, nb::kw_only(), "gains"_a, "skip_scale0"_a,
          "What Vif.run gives, from sums: for each scale den_log, num_flat, den_flat, num_log of each gain.");
    m.def("vif_log2_steps", [] {
        std::vector<std::int32_t> steps(std::begin(log2_steps.entry), std::end(log2_steps.entry));
        for (auto& step : steps) step += 8 * kLog2Least;
        return steps;
    }, "VIF's logarithm: of 32768 + 8 * group + place it is (steps[group] + place) >> 3, in 1/2048.");
    m.attr("VIF_MIN_SIZE") = Vif::kMinSize;
    m.attr("VIF_OUTPUTS") = Vif::kOutputs;
}

}  // namespace acuity
