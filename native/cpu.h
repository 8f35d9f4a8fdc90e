// What this machine's processor can do.
#pragma once

#include <string_view>

namespace acuity {

// Whether code compiled for a kernel table's instruction set runs here. Unknown names: no.
bool cpu_runs(std::string_view instruction_set);

}  // namespace acuity
