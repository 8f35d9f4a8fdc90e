// The part of the Python module that connects a measurement with a server.
#pragma once

#include <nanobind/nanobind.h>

namespace acuity {

void bind_bridge(nanobind::module_& m);

}  // namespace acuity
