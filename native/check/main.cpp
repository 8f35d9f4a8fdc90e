#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "check/check.h"

namespace {

constexpr const char* kUsage =
    "native_check: compare every kernel table with the plain one, or time them\n"
    "  --bench           time instead of comparing\n"
    "  --size WxH        of the timed pictures (1920x1080)\n"
    "  --depth N         of the timed pictures (8)\n"
    "  --kernel NAME     only this one: vif_statistic, adm_scale, motion_sad, squared_error, …\n"
    "  --table NAME      only this table\n"
    "  --seed N          of the random inputs (1)\n"
    "  --rounds N        of random sizes (1)\n"
    "  --pixels N        of the largest picture compared (all)\n";

bool parse(int argc, char** argv, acuity::check::Options& o) {
    for (int i = 1; i < argc; ++i) {
        const char* name = argv[i];
        if (std::strcmp(name, "--bench") == 0) {
            o.bench = true;
            continue;
        }
        if (i + 1 >= argc) return false;
        const char* value = argv[++i];
        if (std::strcmp(name, "--size") == 0) {
            if (std::sscanf(value, "%dx%d", &o.width, &o.height) != 2) return false;
        } else if (std::strcmp(name, "--depth") == 0) {
            o.depth = std::atoi(value);
        } else if (std::strcmp(name, "--kernel") == 0) {
            o.only_kernel = value;
        } else if (std::strcmp(name, "--table") == 0) {
            o.only_table = value;
        } else if (std::strcmp(name, "--seed") == 0) {
            o.seed = static_cast<unsigned>(std::atoi(value));
        } else if (std::strcmp(name, "--rounds") == 0) {
            o.rounds = std::atoi(value);
        } else if (std::strcmp(name, "--pixels") == 0) {
            o.pixels = std::atoi(value);
        } else {
            return false;
        }
    }
    return o.width >= 32 && o.height >= 32 && o.depth >= 8 && o.depth <= 16;
}

struct Family {
    const char* name;
    void (*check)(acuity::check::Session&);
};

constexpr Family kFamilies[] = {
#define ACUITY_CHECK(Type, name) {#name, acuity::check::check_##name},
    ACUITY_FAMILIES(ACUITY_CHECK)
#undef ACUITY_CHECK
};

struct Counts {
    int compared = 0;
    int failed = 0;
};

// Compares each family in a process of its own, one for each processor at a time. A process that dies, for
// example because a sanitizer stopped it, counts as one failure.
Counts compare_all(const acuity::check::Options& options) {
    int results[2];
    if (pipe(results) != 0) std::abort();
    const long at_once = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
    Counts total;
    long running = 0;
    const auto wait_for_one = [&] {
        int status = 0;
        if (wait(&status) < 0) std::abort();
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) ++total.failed;
        --running;
    };
    std::fflush(nullptr);
    for (const Family& family : kFamilies) {
        if (running == at_once) wait_for_one();
        const pid_t child = fork();
        if (child < 0) std::abort();
        if (child == 0) {
            acuity::check::Session session(options);
            family.check(session);
            const Counts counts{session.compared, session.failed};
            if (write(results[1], &counts, sizeof counts) != sizeof counts) std::abort();
            std::exit(0);
        }
        ++running;
    }
    while (running > 0) wait_for_one();
    close(results[1]);
    Counts counts;
    while (read(results[0], &counts, sizeof counts) == sizeof counts) {
        total.compared += counts.compared;
        total.failed += counts.failed;
    }
    close(results[0]);
    return total;
}

}  // namespace

int main(int argc, char** argv) {
    acuity::check::Options options;
    if (!parse(argc, argv, options)) {
        std::fputs(kUsage, stderr);
        return 2;
    }
    if (options.bench) {
        acuity::check::Session session(options);
        for (const Family& family : kFamilies) family.check(session);
        return session.failed == 0 ? 0 : 1;
    }
    const Counts total = compare_all(options);
    std::printf("%d comparisons, %d failed\n", total.compared, total.failed);
    return total.failed == 0 ? 0 : 1;
}
