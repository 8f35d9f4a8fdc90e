// The Python module acuity._native. It checks arguments, releases the interpreter lock and calls the
// kernels. The docstrings of the bindings also become those of _native.pyi, which the build generates from it.
#include <cerrno>
#include <system_error>

#include "bridge/bridge.h"
#include "core/binding.h"

namespace acuity {

void bind_bridge(nb::module_& m);     // bridge/module.cpp
void bind_reading(nb::module_& m);    // reading/module.cpp
void bind_alignment(nb::module_& m);  // alignment/module.cpp
void bind_nvdec(nb::module_& m);      // nvdec/module.cpp
void bind_models(nb::module_& m);     // models/module.cpp

namespace {

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
    m.doc() = "The kernels and the bridge, compiled from native/.\n\n"
              "Objects here belong to one thread at a time, except Ring and Bridge, which connect two, and LumaLook.";
    nb::register_exception_translator(translate);

    nb::class_<Workspace>(m, "Workspace", "Scratch memory that extractors of one thread share.")
        .def(nb::init<>())
        .def_prop_ro("size", &Workspace::size);

    m.def("instruction_sets", &instruction_sets,
          "Instruction sets of this build, fastest first, and whether this machine runs each.");
    m.def("select_instruction_set", [](const std::string& name) { return std::string(select_kernels(name).name); },
          "name"_a = "",
          "The instruction set for that name; raises BackendError. No name: ACUITY_CPU, or else the fastest.");
    bind_bridge(m);
    bind_reading(m);
    bind_alignment(m);
    bind_nvdec(m);
    bind_models(m);
#define ACUITY_BIND(Type, name) bind_##name(m);
    ACUITY_FAMILIES(ACUITY_BIND)
#undef ACUITY_BIND
}
