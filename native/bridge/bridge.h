// Connects a measuring thread with the thread of a server that watches and steers it.
//
//     server ── send ──► commands ──► take ── measuring
//            ◄─ collect ── replies ◄── answer ──
//            ◄─ status ── published ◄── publish ──
//
// Neither waits for the other. A command is accepted only if its reply will have a place too, that is while fewer
// than `depth` commands are unanswered or uncollected; so the measuring thread can always answer.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>

#include "bridge/published.h"
#include "bridge/ring.h"
#include "bridge/wakeup.h"

namespace acuity {

// The bridge was closed, or belongs to the process that this one was forked from.
struct BridgeClosed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The progress of the measurement at its last frame boundary.
struct Standing {
    std::int64_t done = 0;  // frames
    double time = 0;        // seconds of the monotonic clock
};

// Each method is called by one of the two threads, or by any. close() may be called by any thread while no other
// method but wait() runs; Python's lock ensures that.
class Bridge {
  public:
    explicit Bridge(std::int64_t depth);
    ~Bridge() = default;
    Bridge(const Bridge&) = delete;
    Bridge& operator=(const Bridge&) = delete;

    // ---- the server's thread ----

    bool send(std::uint64_t ticket, std::uint32_t kind, Payload payload);  // false: full
    const Envelope* reply();                                               // the oldest, to be read until collect()
    void collect();                                                        // after reply() gave one
    void clear();                                                          // descriptor() was readable: before reply()
    int descriptor() const;                                                // readable when a reply came
    std::uint64_t outstanding() const { return accepted_ - collected_; }
    std::uint64_t refused() const { return refused_; }

    // ---- the measuring thread ----

    bool publish(const Standing& standing);  // true: there are commands to take
    const Envelope* command();               // the oldest, to be read until take()
    void take();                             // after command() gave one; it must be answered once
    void answer(std::uint64_t ticket, std::uint32_t kind, Payload payload);

    // Sleeps until there is a command (true), the time is over, interrupt(), close() or a signal. An Unlocked
    // object exists during the sleep.
    template <class Unlocked>
    bool wait(double seconds) {
        check();
        const std::shared_ptr<Wakeup> wakeup = to_measuring_;  // close() may drop the other
        wakeup->clear();
        if (commands_.front() == nullptr && !interrupted_.load(std::memory_order_acquire)) {
            [[maybe_unused]] const Unlocked unlocked;
            wakeup->sleep(seconds);
        }
        check();
        interrupted_.exchange(false, std::memory_order_acq_rel);  // the caller checks its state now
        return commands_.front() != nullptr;
    }

    // ---- any thread ----

    Standing status() const { return standing_.read(); }
    std::size_t waiting() const { return commands_.size(); }  // commands that are not taken yet
    std::size_t depth() const { return commands_.depth(); }
    void interrupt();  // ends a wait(), or else the next one
    void close();      // may be called again; status and counts stay readable
    bool closed() const { return to_server_ == nullptr; }

  private:
    void check() const {
        if (to_server_ == nullptr || born_ != forks()) refuse();
    }
    [[noreturn]] void refuse() const;

    Ring commands_, replies_;
    Published<Standing> standing_;
    std::shared_ptr<Wakeup> to_server_, to_measuring_;
    const std::uint32_t born_;
    alignas(kLine) std::uint64_t accepted_ = 0, collected_ = 0, refused_ = 0;  // the server's
    alignas(kLine) std::uint64_t taken_ = 0, answered_ = 0;                    // the measuring thread's
    alignas(kLine) std::atomic<bool> interrupted_{false};                      // since the last wait()
};

}  // namespace acuity
