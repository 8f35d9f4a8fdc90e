#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "check.h"

namespace acuity::check {

namespace {

std::vector<const Kernels*> tables(const Options& options) {
    int count = 0;
    const Kernels* const* all = all_kernels(count);
    std::vector<const Kernels*> chosen;
    for (int i = 0; i < count; ++i)
        if (kernels_supported(*all[i]) && (options.only_table.empty() || options.only_table == all[i]->name))
            chosen.push_back(all[i]);
    return chosen;
}

const Kernels& plain_table() {
    int count = 0;
    return *all_kernels(count)[count - 1];
}

// Fresh for each call and exactly as large as asked, so that a sanitizer sees a write past it.
Integers call_fresh(const Kernels& table, int width, int height, const Call& call) {
    Workspace scratch;
    scratch.reserve(table.scratch_bytes(width, height));
    if (scratch.size() > 0) std::memset(scratch.block(), 0xA5, scratch.size());
    Integers out;
    call(table, scratch.block(), &out);
    return out;
}

}  // namespace

void Session::run(const std::string& kernel, const std::string& what, int width, int height, const Call& call) {
    if (!options.only_kernel.empty() && options.only_kernel != kernel) return;
    const std::string name = kernel + " " + std::to_string(width) + "x" + std::to_string(height) + " " + what;
    if (options.bench)
        time(name, width, height, call);
    else
        compare(name, width, height, call);
}

void Session::compare(const std::string& name, int width, int height, const Call& call) {
    const Integers expected = call_fresh(plain_table(), width, height, call);
    for (const Kernels* table : tables(options)) {
        ++compared;
        const Integers got = call_fresh(*table, width, height, call);
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

void Session::time(const std::string& name, int width, int height, const Call& call) {
    using Clock = std::chrono::steady_clock;
    for (const Kernels* table : tables(options)) {
        Workspace scratch;
        scratch.reserve(table->scratch_bytes(width, height));
        double best = 1e300, spent = 0;
        for (int i = 0; i < 3 || (spent < 0.5 && i < 1000); ++i) {
            const auto start = Clock::now();
            call(*table, scratch.block(), nullptr);
            const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
            best = std::min(best, seconds);
            spent += seconds;
            if (spent > 3) break;
        }
        std::printf("%-44s %-12s %14.0f ns a frame\n", name.c_str(), table->name, best * 1e9);
        std::fflush(stdout);
    }
}

}  // namespace acuity::check
