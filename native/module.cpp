// The Python module acuity._native. It checks arguments, releases the interpreter lock and calls the
// kernels; src/acuity/_native.pyi describes it for people and type checkers.
#include <cerrno>
#include <system_error>

#include "bridge/bridge.h"
#include "core/binding.h"

namespace acuity {

void bind_bridge(nb::module_& m);  // bridge/module.cpp

namespace {

// Whether no sample exceeds its plane's depth, which kernels rely on.
bool samples_fit(const Plane& plane) {
    if (plane.depth == 8 || plane.depth == 16) return true;  // the type holds nothing else
    const auto* row = static_cast<const unsigned char*>(plane.data);
    for (int y = 0; y < plane.height; ++y, row += plane.stride) {
        const auto* samples = reinterpret_cast<const std::uint16_t*>(row);
        std::uint16_t bits = 0;
        for (int x = 0; x < plane.width; ++x) bits = static_cast<std::uint16_t>(bits | samples[x]);
        if (bits >> plane.depth != 0) return false;
    }
    return true;
}

bool array_fits(const Array& array, int depth) {
    const Shape shape("a picture", 1, static_cast<int>(array.shape(1)), static_cast<int>(array.shape(0)), depth);
    const Plane plane = shape.plane(array);
    nb::gil_scoped_release released;
    return samples_fit(plane);
}

std::vector<std::pair<std::string, bool>> instruction_sets() {
    std::vector<std::pair<std::string, bool>> out;
    for (const Kernels* kernels : all_kernels()) out.emplace_back(kernels->name, kernels_supported(*kernels));
    return out;
}

// The one place where native errors become Acuity's exceptions.
void translate(const std::exception_ptr& error, void*) {
    const auto raise = [](const char* type, const char* message) {
        PyErr_SetString(nb::module_::import_("acuity.errors").attr(type).ptr(), message);
    };
    try {
        std::rethrow_exception(error);
    } catch (const UnsupportedKernels& e) {
        raise("BackendError", e.what());
    } catch (const UnsupportedOptions& e) {
        raise("FeatureError", e.what());
    } catch (const BridgeClosed& e) {
        raise("ClosedError", e.what());
    } catch (const std::system_error& e) {
        errno = e.code().value();
        PyErr_SetFromErrno(PyExc_OSError);
    }
}

}  // namespace
}  // namespace acuity

NB_MODULE(_native, m) {
    nb::set_leak_warnings(false);  // a forked process doesn't free what its parent still uses
    using namespace acuity;
    m.doc() = "Acuity's kernels";
    nb::register_exception_translator(translate);

    nb::class_<Workspace>(m, "Workspace").def(nb::init<>()).def_prop_ro("size", &Workspace::size);

    m.def("samples_fit", &array_fits, "samples"_a, "depth"_a);
    m.def("instruction_sets", &instruction_sets);
    m.def("select_instruction_set", [](const std::string& name) { return std::string(select_kernels(name).name); },
          "name"_a = "");
    bind_bridge(m);
#define ACUITY_BIND(Type, name) bind_##name(m);
    ACUITY_FAMILIES(ACUITY_BIND)
#undef ACUITY_BIND
}
