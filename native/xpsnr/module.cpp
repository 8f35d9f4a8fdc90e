#include <cstring>

#include "core/binding.h"
#include "xpsnr/xpsnr.h"

namespace acuity {

namespace {

using Sums = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

class PyXpsnr {
  public:
    PyXpsnr(int width, int height, int depth, std::pair<int, int> chroma, bool fast, const std::string& instruction_set)
        : luma_("xpsnr", 1, width, height, depth),
          chroma_(chroma.first > 0 ? Shape("xpsnr", 1, chroma.first, chroma.second, depth) : luma_),
          xpsnr_(select_kernels(instruction_set), {width, height, depth, chroma.first, chroma.second, fast}) {}

    std::vector<std::uint64_t> run(const std::vector<Array>& ref, const std::vector<Array>& dis,
                                   const std::vector<Array>& before) {
        const auto count = static_cast<std::size_t>(xpsnr_.planes());
        if (ref.size() < count || dis.size() < count) throw nb::value_error("a picture lacks its chroma planes");
        Plane r[3], d[3], back[2];
        for (std::size_t c = 0; c < count; ++c) {
            const Shape& shape = c == 0 ? luma_ : chroma_;
            r[c] = shape.plane(ref[c]);
            d[c] = shape.plane(dis[c]);
        }
        const std::size_t known = std::min<std::size_t>(before.size(), 2);
        for (std::size_t i = 0; i < known; ++i) back[i] = luma_.plane(before[i]);
        std::vector<std::uint64_t> out(count);
        nb::gil_scoped_release released;
        xpsnr_.run(r, d, known > 0 ? &back[0] : nullptr, known > 1 ? &back[1] : nullptr, out.data());
        return out;
    }

    std::vector<std::uint64_t> outputs(const Sums& sums) {
        constexpr std::size_t kWords = sizeof(XpsnrSums) / sizeof(std::uint64_t);
        if (sums.shape(0) != xpsnr_.blocks().size() * kWords) throw nb::value_error("each block has five sums");
        std::vector<XpsnrSums> of(xpsnr_.blocks().size());
        std::memcpy(of.data(), sums.data(), of.size() * sizeof(XpsnrSums));
        std::vector<std::uint64_t> out(static_cast<std::size_t>(xpsnr_.planes()));
        xpsnr_.outputs(of.data(), out.data());
        return out;
    }

    std::vector<int> areas() const {
        std::vector<int> list;
        const auto add = [&](const XpsnrArea& a) { list.insert(list.end(), {a.left, a.top, a.right, a.bottom}); };
        for (const XpsnrBlock& block : xpsnr_.blocks()) {
            add(block.texture);
            add(block.change);
            for (const XpsnrArea& plane : block.planes) add(plane);
        }
        return list;
    }

    bool halved() const { return xpsnr_.halved(); }

  private:
    Shape luma_, chroma_;
    Xpsnr xpsnr_;
};

}  // namespace

void bind_xpsnr(nb::module_& m) {
    nb::class_<PyXpsnr>(m, "Xpsnr",
        "Weighted squared errors of a picture pair; `chroma` is the size of those planes, (0, 0) without.")
        .def(nb::init<int, int, int, std::pair<int, int>, bool, const std::string&>(), "width"_a, "height"_a,
             "depth"_a, nb::kw_only(), "chroma"_a, "fast"_a, "instruction_set"_a = "")
        .def("run", &PyXpsnr::run, "ref"_a, "dis"_a, "before"_a,
             "The error of each plane; `before` is the luma of earlier references, the nearest first.")
        .def("outputs", &PyXpsnr::outputs, "sums"_a,
             "The same from five sums of each block: texture, change, squared errors of three planes.")
        .def_prop_ro("areas", &PyXpsnr::areas,
                     "Where each block's five sums are taken: left, top, right and bottom of each.")
        .def_prop_ro("halved", &PyXpsnr::halved,
                     "Whether texture and change are those of squares of two by two samples.");
}

}  // namespace acuity
