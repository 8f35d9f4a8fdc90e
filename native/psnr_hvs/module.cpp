#include <nanobind/stl/array.h>

#include <array>

#include "core/binding.h"
#include "psnr_hvs/psnr_hvs.h"

namespace acuity {

namespace {

using Arrays = std::array<Array, 3>;

std::vector<double> hvs_errors(const Arrays& ref, const Arrays& dis, int depth, const std::string& instruction_set) {
    const PsnrHvsKernels& kernels = *select_kernels(instruction_set).psnr_hvs;
    if (depth > kHvsMostDepth) throw nb::value_error("psnr_hvs takes up to 12 bits a sample");
    Plane r[3], d[3];
    for (int p = 0; p < 3; ++p) {
        const Shape shape("psnr_hvs", kHvsBlock, static_cast<int>(ref[p].shape(1)), static_cast<int>(ref[p].shape(0)),
                          depth);
        r[p] = shape.plane(ref[p]);
        d[p] = shape.plane(dis[p]);
    }
    nb::gil_scoped_release released;
    std::vector<double> errors;
    for (int p = 0; p < 3; ++p) errors.push_back(hvs_error(kernels, r[p], d[p], p));
    return errors;
}

double hvs_mean_of(float sum, int width, int height, int depth) {
    if (hvs_blocks(width) < 1 || hvs_blocks(height) < 1) throw nb::value_error("the plane has no block");
    return hvs_mean(sum, width, height, depth);
}

std::vector<float> weights_of(int plane) {
    if (plane < 0 || plane > 2) throw nb::value_error("planes are 0 to 2");
    const HvsWeights& weights = hvs_weights(plane);
    std::vector<float> list(weights.sensitivity, weights.sensitivity + kHvsArea);
    list.insert(list.end(), weights.masking, weights.masking + kHvsArea);
    return list;
}

}  // namespace

void bind_psnr_hvs(nb::module_& m) {
    m.def("hvs_errors", &hvs_errors, "ref"_a, "dis"_a, "depth"_a, "instruction_set"_a = "",
          "Mean visible errors of luma, Cb and Cr, as shares of the squared peak.");
    m.def("hvs_mean", &hvs_mean_of, "sum"_a, "width"_a, "height"_a, "depth"_a,
          "The mean visible error of a plane of this size, from the sum over it.");
    m.def("hvs_weights", &weights_of, "plane"_a,
          "What the frequencies of a plane's blocks count: 64 for errors, 64 for masking.");
}

}  // namespace acuity
