#include "core/dispatch.h"

#include <cstdlib>
#include <iterator>

#include "core/cpu.h"

namespace acuity {

namespace {

#define ACUITY_TABLE(set) &set::kernels,
constexpr const Kernels* kTables[] = {ACUITY_INSTRUCTION_SETS(ACUITY_TABLE)};
#undef ACUITY_TABLE

// Whether this machine runs the table at the same index.
#define ACUITY_RUNS(set) cpu::set,
constexpr bool (*kRuns[])() = {ACUITY_INSTRUCTION_SETS(ACUITY_RUNS)};
#undef ACUITY_RUNS

std::string names(bool supported_only) {
    std::string list;
    for (const Kernels* table : kTables) {
        if (supported_only && !kernels_supported(*table)) continue;
        list += list.empty() ? "" : ", ";
        list += table->name;
    }
    return list;
}

const Kernels& find(const std::string& name, const std::string& asker) {
    for (const Kernels* table : kTables) {
        if (name != table->name) continue;
        if (kernels_supported(*table)) return *table;
        throw UnsupportedKernels(asker + " '" + name + "' does not run on this machine's processor: use one of " +
                                 names(true));
    }
    throw UnsupportedKernels(asker + " '" + name + "' is not in this build: use one of " + names(true));
}

}  // namespace

std::span<const Kernels* const> all_kernels() { return kTables; }

bool kernels_supported(const Kernels& kernels) {
    for (std::size_t i = 0; i < std::size(kTables); ++i)
        if (kTables[i] == &kernels) return kRuns[i]();
    return false;
}

const Kernels& select_kernels(const std::string& name) {
    if (!name.empty()) return find(name, "instruction set");
    const char* forced = std::getenv("ACUITY_CPU");
    if (forced != nullptr && *forced != '\0') return find(forced, "instruction set in ACUITY_CPU");
    for (const Kernels* table : kTables)
        if (kernels_supported(*table)) return *table;
    return plain::kernels;
}

}  // namespace acuity
