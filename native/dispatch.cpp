#include "dispatch.h"

#include <cstdlib>
#include <iterator>

#include "cpu.h"

namespace acuity {

// Each is defined by the source of its name, where the build has it (see CMakeLists.txt).
extern const Kernels kernels_plain, kernels_sse4, kernels_avx2, kernels_avx512, kernels_avx512vnni, kernels_neon;

namespace {

// Fastest first.
constexpr const Kernels* kTables[] = {
#ifdef ACUITY_WITH_AVX512VNNI
    &kernels_avx512vnni,
#endif
#ifdef ACUITY_WITH_AVX512
    &kernels_avx512,
#endif
#ifdef ACUITY_WITH_AVX2
    &kernels_avx2,
#endif
#ifdef ACUITY_WITH_SSE4
    &kernels_sse4,
#endif
#ifdef ACUITY_WITH_NEON
    &kernels_neon,
#endif
    &kernels_plain,
};

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

const Kernels* const* all_kernels(int& count) {
    count = static_cast<int>(std::size(kTables));
    return kTables;
}

bool kernels_supported(const Kernels& kernels) { return cpu_runs(kernels.name); }

const Kernels& select_kernels(const std::string& name) {
    if (!name.empty()) return find(name, "instruction set");
    const char* forced = std::getenv("ACUITY_CPU");
    if (forced != nullptr && *forced != '\0') return find(forced, "instruction set in ACUITY_CPU");
    for (const Kernels* table : kTables)
        if (kernels_supported(*table)) return *table;
    return kernels_plain;
}

}  // namespace acuity
