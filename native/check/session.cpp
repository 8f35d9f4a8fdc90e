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

}  // namespace

void* Session::scratch(std::size_t bytes) {
    if (memory_ == nullptr || !options.bench) memory_ = std::make_unique<Workspace>();
    memory_->reserve(bytes);
    if (!options.bench && memory_->size() > 0) std::memset(memory_->block(), 0xA5, memory_->size());
    return memory_->block();
}

void Session::run(const std::string& kernel, const std::string& what, int width, int height, const Call& call) {
    if (!options.only_kernel.empty() && options.only_kernel != kernel) return;
    const std::string name = kernel + " " + std::to_string(width) + "x" + std::to_string(height) + " " + what;
    if (options.bench)
        time(name, call);
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

void Session::time(const std::string& name, const Call& call) {
    const auto now = [] {  // CPU time of this thread: what else the machine does doesn't count
        timespec time;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    };
    for (const Kernels* table : tables(options)) {
        double best = 1e300, spent = 0;
        for (int i = 0; i < 3 || (spent < 0.5 && i < 1000); ++i) {
            const double start = now();
            call(*table, nullptr);
            const double seconds = now() - start;
            best = std::min(best, seconds);
            spent += seconds;
            if (spent > 3) break;
        }
        std::printf("%-44s %-12s %14.0f ns a frame\n", name.c_str(), table->name, best * 1e9);
        std::fflush(stdout);
    }
}

}  // namespace acuity::check
