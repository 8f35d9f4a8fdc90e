#include "check/counters.h"

#include <unistd.h>

#include <cstdint>
#include <initializer_list>

#if defined(__linux__)
#include <linux/perf_event.h>
#include <sys/syscall.h>
#endif

namespace acuity::check {

namespace {

#if defined(__linux__)
int open_counter(std::uint64_t event, int group) {
    perf_event_attr wanted = {};
    wanted.type = PERF_TYPE_HARDWARE;
    wanted.size = sizeof wanted;
    wanted.config = event;
    wanted.read_format = PERF_FORMAT_GROUP;
    wanted.exclude_kernel = 1;
    wanted.exclude_hv = 1;
    return static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, group, 0));
}
#endif

}  // namespace

Counters::Counters() {
#if defined(__linux__)
    cycles_ = open_counter(PERF_COUNT_HW_CPU_CYCLES, -1);
    if (cycles_ >= 0) instructions_ = open_counter(PERF_COUNT_HW_INSTRUCTIONS, cycles_);
#endif
}

Counters::~Counters() {
    for (const int file : {instructions_, cycles_})
        if (file >= 0) close(file);
}

Counts Counters::read() const {
    std::uint64_t group[3];  // how many, and each
    if (!counting() || ::read(cycles_, group, sizeof group) != sizeof group) return {};
    return {static_cast<double>(group[1]), static_cast<double>(group[2])};
}

}  // namespace acuity::check
