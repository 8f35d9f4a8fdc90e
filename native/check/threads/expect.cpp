#include <poll.h>

#include <chrono>
#include <cstdio>
#include <cstring>

#include "threads.h"

namespace acuity::check {
namespace {

std::atomic<int> failed{0};

}  // namespace

int failures() { return failed.load(); }

void expect(bool holds, const char* what, std::uint64_t number) {
    if (holds) return;
    if (failed++ < 20) std::printf("failed: %s (%llu)\n", what, static_cast<unsigned long long>(number));
}

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void expect_awake(double since, const char* who) { expect(seconds() - since < kTooLong, who); }

void sleep_until_readable(int descriptor, const char* who) {
    const double since = seconds();
    pollfd entry = {descriptor, POLLIN, 0};
    poll(&entry, 1, static_cast<int>(kTooLong * 1000));
    expect_awake(since, who);
}

std::uint32_t kind_of(std::uint64_t ticket) { return static_cast<std::uint32_t>(ticket * 2654435761u); }

void expect_sample(const Envelope& envelope, std::uint64_t ticket, std::uint32_t kind) {
    expect(envelope.ticket == ticket, "tickets come in order", ticket);
    expect(envelope.kind == kind, "the kind belongs to the ticket", ticket);
    const Sample sample(ticket);
    expect(envelope.length == sample.length && std::memcmp(envelope.scratch, sample.bytes, sample.length) == 0,
           "the payload arrives whole", ticket);
}

Standing standing(std::int64_t n) {
    return {n, static_cast<double>(n)};
}

}  // namespace acuity::check
