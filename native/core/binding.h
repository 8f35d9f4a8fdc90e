// Helpers for binding kernel families to Python: check arrays and view them as planes.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <vector>

#include "core/dispatch.h"
#include "core/workspace.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace acuity {

using Array = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;

// The checks of every picture that is passed to an extractor.
struct Shape {
    int width, height, depth;

    Shape(const char* extractor, int smallest, int width, int height, int depth)
        : width(width), height(height), depth(depth) {
        if (width < smallest || height < smallest)
            throw UnsupportedOptions(std::string(extractor) + " needs pictures of at least " +
                                     std::to_string(smallest) + "x" + std::to_string(smallest) +
                                     " samples, and these are " + std::to_string(width) + "x" + std::to_string(height));
        if (width > 65536 || height > 65536) throw nb::value_error("pictures are limited to 65536 samples a side");
        if (depth < 8 || depth > 16) throw nb::value_error("bit depth must be 8 to 16");
    }

    Plane plane(const Array& array) const {
        const bool bytes = depth == 8;
        if (array.dtype() != (bytes ? nb::dtype<std::uint8_t>() : nb::dtype<std::uint16_t>()))
            throw nb::type_error(bytes ? "8-bit samples must be a uint8 array"
                                       : "samples deeper than 8 bits must be a uint16 array");
        if (array.shape(0) != static_cast<std::size_t>(height) || array.shape(1) != static_cast<std::size_t>(width))
            throw nb::value_error("the array does not have the picture's size");
        if (width > 1 && array.stride(1) != 1) throw nb::value_error("the samples of a row must be contiguous");
        const auto row = static_cast<std::ptrdiff_t>(array.stride(0)) * (bytes ? 1 : 2);
        return {array.data(), row, width, height, depth};
    }
};

#define ACUITY_BIND(Type, name) void bind_##name(nb::module_& m);
ACUITY_FAMILIES(ACUITY_BIND)
#undef ACUITY_BIND

}  // namespace acuity
