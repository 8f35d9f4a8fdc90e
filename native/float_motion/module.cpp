#include "core/binding.h"
#include "float_motion/float_motion.h"

namespace acuity {

namespace {

class PyFloatMotion {
  public:
    PyFloatMotion(std::shared_ptr<Workspace> workspace, const std::vector<std::pair<int, int>>& planes, int depth,
                  int filter_size, bool add_scale1, const std::string& instruction_set)
        : shapes_(make_shapes(planes, depth)),
          motion_(std::move(workspace), select_kernels(instruction_set), sizes(planes), filter_size, add_scale1) {}

    double run(const std::vector<Array>& before, const std::vector<Array>& now) const {
        const std::vector<Plane> b = see(before), n = see(now);
        nb::gil_scoped_release released;
        return motion_.run(b, n);
    }

  private:
    static std::vector<Shape> make_shapes(const std::vector<std::pair<int, int>>& planes, int depth) {
        if (planes.empty()) throw nb::value_error("motion is of one plane at least");
        std::vector<Shape> shapes;
        for (const auto& [width, height] : planes)
            shapes.emplace_back("float_motion", FloatMotion::kMinSize, width, height, depth);
        return shapes;
    }

    static std::vector<FloatMotion::Size> sizes(const std::vector<std::pair<int, int>>& planes) {
        std::vector<FloatMotion::Size> found;
        for (const auto& [width, height] : planes) found.push_back({width, height});
        return found;
    }

    std::vector<Plane> see(const std::vector<Array>& arrays) const {
        if (arrays.size() < shapes_.size()) throw nb::value_error("a picture lacks a plane");
        std::vector<Plane> planes;
        for (std::size_t i = 0; i < shapes_.size(); ++i) planes.push_back(shapes_[i].plane(arrays[i]));
        return planes;
    }

    std::vector<Shape> shapes_;
    FloatMotion motion_;
};

}  // namespace

void bind_float_motion(nb::module_& m) {
    nb::class_<PyFloatMotion>(m, "FloatMotion", "Motion in single precision between two pictures.")
        .def(nb::init<std::shared_ptr<Workspace>, const std::vector<std::pair<int, int>>&, int, int, bool,
                      const std::string&>(),
             "workspace"_a, "planes"_a, "depth"_a, nb::kw_only(), "filter_size"_a, "add_scale1"_a,
             "instruction_set"_a = "")
        .def("run", &PyFloatMotion::run, "before"_a, "now"_a,
             "Mean absolute difference of the blurred planes, whose sizes were given, summed.");
    m.attr("FLOAT_MOTION_MIN_SIZE") = FloatMotion::kMinSize;
}

}  // namespace acuity
