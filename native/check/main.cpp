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
    "  --rounds N        of random sizes (1)\n";

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
        } else {
            return false;
        }
    }
    return o.width >= 32 && o.height >= 32 && o.depth >= 8 && o.depth <= 16;
}

}  // namespace

int main(int argc, char** argv) {
    acuity::check::Options options;
    if (!parse(argc, argv, options)) {
        std::fputs(kUsage, stderr);
        return 2;
    }
    acuity::check::Session session(options);
#define ACUITY_CHECK(Type, name) acuity::check::check_##name(session);
    ACUITY_FAMILIES(ACUITY_CHECK)
#undef ACUITY_CHECK
    if (!options.bench) std::printf("%d comparisons, %d failed\n", session.compared, session.failed);
    return session.failed == 0 ? 0 : 1;
}
