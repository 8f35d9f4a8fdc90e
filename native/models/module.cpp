#include "models/svr.h"

#include <algorithm>

#include "core/binding.h"

namespace acuity {

namespace {

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<double> copied(const Doubles& values) { return {values.data(), values.data() + values.shape(0)}; }

Exponential::Table table(const Doubles& values) {
    if (values.shape(0) != Exponential::kSteps) throw nb::value_error("the table of powers has another size");
    Exponential::Table found;
    std::copy_n(values.data(), found.size(), found.begin());
    return found;
}

std::vector<double> decide(const Svr& svr, const nb::list& columns, const Exponential& exp) {
    std::vector<Doubles> given;
    for (const nb::handle column : columns) given.push_back(nb::cast<Doubles>(column));
    const std::size_t features = given.size(), frames = given.empty() ? 0 : given[0].shape(0);
    for (const Doubles& column : given)
        if (column.shape(0) != frames) throw nb::value_error("columns have one length");
    if (features * svr.coefficients.size() != svr.vectors.size()) throw nb::value_error("a feature is missing");
    std::vector<double> node(features), out(frames);
    nb::gil_scoped_release released;
    for (std::size_t frame = 0; frame < frames; ++frame) {
        for (std::size_t i = 0; i < features; ++i) node[i] = given[i].data()[frame];
        out[frame] = svr.decide(node, exp);
    }
    return out;
}

}  // namespace

void bind_models(nb::module_& m) {
    nb::class_<Exponential>(m, "Exponential", "e to the power of numbers up to 0, the same on every machine.")
        .def("__init__",
             [](Exponential* self, const Doubles& high, const Doubles& low, double coarse, double fine) {
                 new (self) Exponential(table(high), table(low), coarse, fine);
             },
             "high"_a, "low"_a, "coarse"_a, "fine"_a,
             "From 2^(j/128) as two doubles each, and ln 2 / 128 as two doubles.")
        .def("__call__", &Exponential::operator(), "value"_a);
    nb::class_<Svr>(m, "Svr", "A trained nu-SVR with an RBF kernel.")
        .def("__init__",
             [](Svr* self, const Doubles& coefficients, const Doubles& vectors, double gamma, double rho) {
                 new (self) Svr{copied(coefficients), copied(vectors), gamma, rho};
             },
             "coefficients"_a, "vectors"_a, "gamma"_a, "rho"_a, "`vectors` has one support vector after the other.")
        .def("decide", &decide, "columns"_a, "exp"_a,
             "The decision value of each frame, from one column a feature; a NaN makes it NaN.");
}

}  // namespace acuity
