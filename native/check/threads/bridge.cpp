#include <mutex>
#include <thread>

#include "threads.h"

namespace acuity::check {
namespace {

struct NoLock {};

// The measuring side: some boundaries with a few commands each; sleeps when there are none.
void measure(Bridge& bridge, std::uint64_t commands, int most) {
    std::uint64_t answered = 0;
    for (std::int64_t frame = 1; answered < commands; ++frame) {
        if (!bridge.publish(standing(frame))) {
            const double since = seconds();
            if (frame % 16 == 0) bridge.wait<NoLock>(kTooLong);
            expect_awake(since, "no command is slept through");
            continue;
        }
        for (int i = 0; i < most; ++i) {
            const Envelope* command = bridge.command();
            if (command == nullptr) break;
            expect_sample(*command, answered, kind_of(answered));
            bridge.take();
            bridge.answer(answered, kind_of(answered) + 1, Sample(answered).payload());
            ++answered;
        }
    }
}

// A substitute for Python's lock: held except while a wait() sleeps.
std::mutex interpreter;
struct Unlocked {
    Unlocked() { interpreter.unlock(); }
    ~Unlocked() { interpreter.lock(); }
};

}  // namespace

void check_bridge(std::uint64_t commands, std::int64_t depth) {
    Bridge bridge(depth);
    std::thread measuring(measure, std::ref(bridge), commands, 4);
    std::uint64_t collected = 0, refused = 0;
    for (std::uint64_t sent = 0; collected < commands;) {
        if (sent < commands && bridge.send(sent, kind_of(sent), Sample(sent).payload())) {
            if (++sent % 8 != 0) continue;  // now and then, let both sides fall asleep
        } else {
            refused += sent < commands;
        }
        sleep_until_readable(bridge.descriptor(), "no reply is slept through");
        bridge.clear();
        while (const Envelope* reply = bridge.reply()) {
            expect_sample(*reply, collected, kind_of(collected) + 1);
            bridge.collect();
            ++collected;
        }
    }
    measuring.join();
    expect(bridge.outstanding() == 0 && bridge.waiting() == 0, "nothing is left");
    expect(bridge.refused() == refused, "refusals are counted");
}

// A change made before interrupt() is visible to the woken thread, whatever the timing.
void check_interrupt(std::int64_t rounds) {
    Bridge bridge(2);
    std::atomic<std::int64_t> asked{0}, seen{0};
    std::thread measuring([&] {
        while (seen.load() < rounds) {
            const double since = seconds();
            if (asked.load() == seen.load()) bridge.wait<NoLock>(kTooLong);
            expect_awake(since, "no interruption is slept through");
            seen = asked.load();
        }
    });
    for (std::int64_t n = 1; n <= rounds; ++n) {
        asked = n;
        bridge.interrupt();
        while (n % 4 == 0 && seen.load() < n) std::this_thread::yield();
    }
    measuring.join();
}

void check_close(int rounds) {
    for (int round = 0; round < rounds && failures() == 0; ++round) {
        Bridge bridge(2);
        bool entered = false, refused = false;
        std::thread measuring([&] {
            const std::lock_guard held(interpreter);
            entered = true;
            const double since = seconds();
            try {
                while (!bridge.wait<Unlocked>(kTooLong)) continue;
            } catch (const BridgeClosed&) {
                refused = true;
            }
            expect_awake(since, "closing ends a wait");
        });
        for (bool closed = false; !closed;) {
            const std::lock_guard held(interpreter);
            if (!entered) continue;
            if (round % 2) bridge.interrupt();
            bridge.close();
            closed = true;
        }
        measuring.join();
        expect(refused, "a closed bridge refuses");
    }
}

}  // namespace acuity::check
