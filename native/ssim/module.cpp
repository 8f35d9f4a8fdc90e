#include "core/binding.h"
#include "ssim/ssim.h"

namespace acuity {

namespace {

// Sums of both classes are four numbers a scale, in the order of SsimSums.
constexpr std::size_t kTerms = 4;

using Sums = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

SsimSums sums_at(const Sums& sums, std::size_t scale) {
    const double* of = sums.data() + scale * kTerms;
    return {of[0], of[1], of[2], of[3]};
}

void check_scales(const Sums& sums, std::size_t scales) {
    if (sums.shape(0) != scales * kTerms) throw nb::value_error("each scale has four sums");
}

class PySsim {
  public:
    PySsim(std::shared_ptr<Workspace> workspace, int width, int height, int depth, int factor,
           const std::string& instruction_set)
        : shape_("float_ssim", checked(width, height, factor), width, height, depth),
          ssim_(std::move(workspace), select_kernels(instruction_set), width, height, factor) {}

    std::vector<double> run(const Array& ref, const Array& dis) const {
        const Plane r = shape_.plane(ref), d = shape_.plane(dis);
        nb::gil_scoped_release released;
        return list(ssim_.run(r, d));
    }

    std::vector<double> outputs(const Sums& sums) const {
        check_scales(sums, 1);
        return list(ssim_.outputs(sums_at(sums, 0)));
    }

    std::pair<int, int> size() const { return {ssim_.shrunk_width(), ssim_.shrunk_height()}; }

  private:
    static std::vector<double> list(const SsimMeans& mean) {
        return {mean.ssim, mean.luminance, mean.contrast, mean.structure};
    }

    // The smallest side, which only pictures that stay large enough may be below.
    static int checked(int width, int height, int factor) {
        if (factor < 1 || factor > kMaxFactor) throw nb::value_error("the factor must be 1 to 256");
        const auto fits = [factor](int side) {
            return side >= factor && (factor == 1 ? side : shrunk(side, factor)) >= Ssim::kMinSize;
        };
        return fits(width) && fits(height) ? 1 : Ssim::kMinSize * factor;
    }

    Shape shape_;
    Ssim ssim_;
};

class PyMsSsim {
  public:
    PyMsSsim(std::shared_ptr<Workspace> workspace, int width, int height, int depth,
             const std::string& instruction_set)
        : shape_("float_ms_ssim", MsSsim::kMinSize, width, height, depth),
          ssim_(std::move(workspace), select_kernels(instruction_set), width, height) {}

    std::vector<double> run(const Array& ref, const Array& dis) const {
        const Plane r = shape_.plane(ref), d = shape_.plane(dis);
        nb::gil_scoped_release released;
        return ssim_.run(r, d);
    }

    std::vector<double> outputs(const Sums& sums) const {
        check_scales(sums, MsSsim::kScales);
        SsimSums of[MsSsim::kScales];
        for (std::size_t s = 0; s < MsSsim::kScales; ++s) of[s] = sums_at(sums, s);
        return ssim_.outputs(of);
    }

  private:
    Shape shape_;
    MsSsim ssim_;
};

}  // namespace

void bind_ssim(nb::module_& m) {
    nb::class_<PySsim>(m, "FloatSsim", "Structural similarity in single precision, of pictures shrunk by a factor.")
        .def(nb::init<std::shared_ptr<Workspace>, int, int, int, int, const std::string&>(), "workspace"_a, "width"_a,
             "height"_a, "depth"_a, nb::kw_only(), "factor"_a, "instruction_set"_a = "")
        .def("run", &PySsim::run, "ref"_a, "dis"_a, "The figure, luminance, contrast, structure.")
        .def("outputs", &PySsim::outputs, "sums"_a,
             "The same from sums over the shrunk pictures: luminance, contrast, structure, the figure.")
        .def_prop_ro("size", &PySsim::size, "Columns and rows of the shrunk pictures.");

    nb::class_<PyMsSsim>(m, "FloatMsSsim", "Structural similarity at five scales in single precision.")
        .def(nb::init<std::shared_ptr<Workspace>, int, int, int, const std::string&>(), "workspace"_a, "width"_a,
             "height"_a, "depth"_a, nb::kw_only(), "instruction_set"_a = "")
        .def("run", &PyMsSsim::run, "ref"_a, "dis"_a,
             "The figure, luminance of each scale, contrast of each, structure of each.")
        .def("outputs", &PyMsSsim::outputs, "sums"_a,
             "The same from each scale's sums: luminance, contrast, structure, the figure.");
}

}  // namespace acuity
