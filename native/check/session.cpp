#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "check/check.h"

namespace acuity::check {

namespace {

std::vector<const Kernels*> tables(const Options& options) {
    std::vector<const Kernels*> chosen;
    for (const Kernels* table : all_kernels())
        if (kernels_supported(*table) && (options.only_table.empty() || options.only_table == table->name))
            chosen.push_back(table);
    return chosen;
}

Integers results(const Kernels& table, const Call& call) {
    Integers out;
    call(table, &out);
    return out;
}

// Registers of an instruction set, and how many instructions a common core begins with them in a cycle; two of them may
// multiply. NEON's are those of a Neoverse N1; newer cores have twice as many.
struct Width {
    const char* table;
    int bytes;
    double a_cycle;
};
constexpr Width kWidths[] = {{"avx512vnni", 64, 2}, {"avx512", 64, 2}, {"avx2", 32, 3}, {"sse4", 16, 3}, {"neon", 16, 2}};

// Cycles a pixel below which arithmetic can't be done; 0: not known.
double least_cycles(const Least& least, const char* table) {
    for (const Width& width : kWidths) {
        if (std::strcmp(width.table, table) != 0) continue;
        const double lanes = width.bytes / 2;
        return std::max(least.products / lanes / 2, (least.products + least.operations) / lanes / width.a_cycle);
    }
    return 0;
}

}  // namespace

void* Session::scratch(std::size_t bytes) {
    if (memory_ == nullptr || !options.bench) memory_ = std::make_unique<Workspace>();
    memory_->reserve(bytes);
    if (!options.bench && memory_->size() > 0) std::memset(memory_->block(), 0xA5, memory_->size());
    return memory_->block();
}

void Session::run(const std::string& kernel, const std::string& what, int width, int height, const Call& call,
                  const Least& least) {
    if (!options.only_kernel.empty() && options.only_kernel != kernel) return;
    const std::string name = kernel + " " + std::to_string(width) + "x" + std::to_string(height) + " " + what;
    if (options.bench)
        time(name, call, static_cast<double>(width) * height, least);
    else
        compare(name, call);
}

void Session::compare(const std::string& name, const Call& call) {
    const Integers expected = results(plain::kernels, call);
    for (const Kernels* table : tables(options)) {
        ++compared;
        const Integers got = results(*table, call);
        if (got == expected) continue;
        ++failed;
        if (failed > 20) continue;
        const auto at = std::mismatch(expected.begin(), expected.end(), got.begin(), got.end());
        const long index = at.first - expected.begin();
        std::printf("FAIL %-10s %s: value %ld is %lld, plain says %lld\n", table->name, name.c_str(), index,
                    static_cast<long long>(at.second == got.end() ? 0 : *at.second),
                    static_cast<long long>(at.first == expected.end() ? 0 : *at.first));
    }
}

void Session::time(const std::string& name, const Call& call, double pixels, const Least& least) {
    const auto now = [] {  // CPU time of this thread: what else the machine does doesn't count
        timespec time;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    };
    for (const Kernels* table : tables(options)) {
        double best = 1e300, spent = 0;
        Counts fewest = {1e300, 1e300};
        for (int i = 0; i < 3 || (spent < 0.5 && i < 1000); ++i) {
            const Counts before = counters_.read();
            const double start = now();
            call(*table, nullptr);
            const double seconds = now() - start;
            const Counts after = counters_.read();
            best = std::min(best, seconds);
            fewest.cycles = std::min(fewest.cycles, after.cycles - before.cycles);
            fewest.instructions = std::min(fewest.instructions, after.instructions - before.instructions);
            spent += seconds;
            if (spent > 3) break;
        }
        std::printf("%-60s %-10s %11.0f ns", name.c_str(), table->name, best * 1e9);
        if (counters_.counting())
            std::printf("  a pixel: %7.2f instructions, %6.2f cycles", fewest.instructions / pixels, fewest.cycles / pixels);
        if (const double cycles = least_cycles(least, table->name); cycles > 0) std::printf(", at least %.2f", cycles);
        if (least.bytes > 0) std::printf(", %.2f bytes", least.bytes);
        std::printf("\n");
        std::fflush(stdout);
    }
}

}  // namespace acuity::check
