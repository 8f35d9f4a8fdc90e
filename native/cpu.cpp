#include "cpu.h"

namespace acuity {

namespace {

#if defined(__x86_64__)
// One line for each -march or -m flag that CMakeLists.txt gives the table's source.
bool runs_sse4() { return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"); }
bool runs_avx2() {
    return runs_sse4() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("movbe") && __builtin_cpu_supports("f16c");
}
bool runs_avx512() {
    return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
bool runs_avx512vnni() {
    return runs_avx512() && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi");
}
#elif defined(__aarch64__)
bool runs_neon() { return true; }  // part of the base architecture
#endif

bool runs_plain() { return true; }

struct InstructionSet {
    std::string_view name;
    bool (*runs)();
};

constexpr InstructionSet kInstructionSets[] = {
#if defined(__x86_64__)
    {"avx512vnni", runs_avx512vnni}, {"avx512", runs_avx512}, {"avx2", runs_avx2}, {"sse4", runs_sse4},
#elif defined(__aarch64__)
    {"neon", runs_neon},
#endif
    {"plain", runs_plain},
};

}  // namespace

bool cpu_runs(std::string_view instruction_set) {
    for (const auto& set : kInstructionSets)
        if (set.name == instruction_set) return set.runs();
    return false;
}

}  // namespace acuity
