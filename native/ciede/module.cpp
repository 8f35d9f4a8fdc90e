#include <nanobind/stl/array.h>

#include <array>

#include "ciede/ciede.h"
#include "core/binding.h"

namespace acuity {

namespace {

using Arrays = std::array<Array, 3>;

class PyCiede {
  public:
    PyCiede(std::shared_ptr<Workspace> workspace, int width, int height, int depth, const std::string& instruction_set)
        : shape_("ciede", 1, width, height, depth),
          ciede_(std::move(workspace), select_kernels(instruction_set), width) {}

    double run(const Arrays& ref, const Arrays& dis, int column_shift, int row_shift) const {
        if (column_shift < 0 || column_shift > 1 || row_shift < 0 || row_shift > 1)
            throw nb::value_error("chroma is shifted by 0 or 1");
        const Shape chroma("ciede", 1, static_cast<int>(ref[1].shape(1)), static_cast<int>(ref[1].shape(0)),
                           shape_.depth);
        const Plane r[3] = {shape_.plane(ref[0]), chroma.plane(ref[1]), chroma.plane(ref[2])};
        const Plane d[3] = {shape_.plane(dis[0]), chroma.plane(dis[1]), chroma.plane(dis[2])};
        nb::gil_scoped_release released;
        return ciede_.run(r, d, {column_shift, row_shift});
    }

  private:
    Shape shape_;
    Ciede ciede_;
};

}  // namespace

void bind_ciede(nb::module_& m) {
    nb::class_<PyCiede>(m, "Ciede", "Colour differences of pictures (CIEDE2000).")
        .def(nb::init<std::shared_ptr<Workspace>, int, int, int, const std::string&>(), "workspace"_a, "width"_a,
             "height"_a, "depth"_a, nb::kw_only(), "instruction_set"_a = "")
        .def("run", &PyCiede::run, "ref"_a, "dis"_a, "column_shift"_a, "row_shift"_a,
             "The sum over all pixels; the shifts lead from a pixel to its chroma sample.");
}

}  // namespace acuity
