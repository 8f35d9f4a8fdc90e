#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "threads.h"

namespace {

using namespace acuity;
using namespace acuity::check;

template <class Call>
void time_call(const char* what, Call&& call) {
    constexpr int kCalls = 100000;
    double best = 1e9;
    for (int round = 0; round < 20; ++round) {
        const double start = seconds();
        for (int i = 0; i < kCalls; ++i) call(i);
        best = std::min(best, (seconds() - start) / kCalls);
    }
    std::printf("%-40s %6.1f ns\n", what, best * 1e9);
}

// The calls that a measuring thread makes at a frame boundary, and what a command costs in all.
void bench() {
    Bridge bridge(64);
    Ring ring(64);
    const Sample small(24);
    time_call("publish, no command waiting", [&](int i) { bridge.publish(standing(i)); });
    time_call("command, none waiting", [&](int) { bridge.command(); });
    time_call("status", [&](int) { bridge.status(); });
    time_call("push and pop, 24 bytes", [&](int i) {
        ring.push(static_cast<std::uint64_t>(i), 1, small.payload());
        ring.front();
        ring.pop();
    });
    time_call("send, take, answer and collect", [&](int i) {
        const auto ticket = static_cast<std::uint64_t>(i);
        bridge.send(ticket, 1, small.payload());
        bridge.command();
        bridge.take();
        bridge.answer(ticket, 2, small.payload());
        bridge.reply();
        bridge.collect();
    });
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "--bench") == 0) {
        bench();
        return 0;
    }
    const long messages = argc == 2 ? std::atol(argv[1]) : 1000000;
    if (argc > 2 || messages < 1) {
        std::fputs("ring_check [MESSAGES | --bench]: 1000000 messages unless told\n", stderr);
        return 2;
    }
    check_ring(static_cast<std::uint64_t>(messages), 64);
    check_ring(static_cast<std::uint64_t>(messages) / 10, 2);
    check_published(messages);
    check_wakeup(messages);
    check_bridge(static_cast<std::uint64_t>(messages), 64);
    check_bridge(static_cast<std::uint64_t>(messages) / 10, 2);
    check_interrupt(messages / 10);
    check_close(200);
    check_reading(messages / 100, 4, 8, 1);
    check_reading(messages / 100, 1, 32, 16);
    check_reading(messages / 1000, 3, 1, 1);
    check_leaving(200);
    check_decoding(messages / 200, 4, 100, 1000);
    check_decoding(messages / 500, 1, 8, 1000);
    check_decoding(messages / 500, 3, 8, 1000);
    check_decoding(messages / 500, 4, 100, 48);
    check_ending(100);
    std::printf("%ld messages, %d failed\n", messages, failures());
    return failures() == 0 ? 0 : 1;
}
