// ring_check: what two threads exchange arrives once, complete and in order, and no wake-up is lost.
//
// Files that threads read ahead, and videos that they decode, are checked here too. It is meant for ThreadSanitizer,
// which also reports every access that is not ordered.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bridge/bridge.h"

namespace acuity::check {

constexpr double kTooLong = 20;  // seconds after which a wake-up must have been lost

int failures();
void expect(bool holds, const char* what, std::uint64_t number = 0);
void expect_awake(double since, const char* who);
double seconds();

// Sleeps as an event loop does: it checks for work only after a wake-up.
void sleep_until_readable(int descriptor, const char* who);

// An envelope and a standing whose every part follows from a number.
struct Sample {
    std::byte bytes[kPayload];
    std::size_t length;

    explicit Sample(std::uint64_t number) : length(number * 7919 % 8 ? number % 40 : number * 31 % (kPayload + 1)) {
        for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(number * 13 + i);
    }
    Payload payload() const { return {bytes, length}; }
};

std::uint32_t kind_of(std::uint64_t ticket);
void expect_sample(const Envelope& envelope, std::uint64_t ticket, std::uint32_t kind);
Standing standing(std::int64_t n);

void check_ring(std::uint64_t messages, std::int64_t depth);
void check_published(std::int64_t rounds);
void check_wakeup(std::int64_t signals);

void check_bridge(std::uint64_t commands, std::int64_t depth);
void check_interrupt(std::int64_t rounds);
void check_close(int rounds);

void check_reading(std::int64_t frames, int threads, int ahead, int wake);
void check_leaving(int rounds);

void check_decoding(std::int64_t packets, int sessions, int most, std::size_t room);
void check_ending(int rounds);

}  // namespace acuity::check
