// Wakes a thread that sleeps in poll(), with one system call for each sleep, however often it is signalled.
#pragma once

#include <atomic>
#include <cstdint>

namespace acuity {

// How often this process was forked as a child. Objects created before a fork belong to the parent.
std::uint32_t forks();

// A descriptor (eventfd) that becomes readable when signalled. The sleeper calls clear(), checks for work, and
// only then sleeps: a signal after clear() makes the descriptor readable again, so none is lost; at worst the
// sleeper wakes once without work.
class Wakeup {
  public:
    Wakeup();  // std::system_error when the system has no descriptor left
    ~Wakeup();
    Wakeup(const Wakeup&) = delete;
    Wakeup& operator=(const Wakeup&) = delete;

    void signal() noexcept;
    void clear() noexcept;
    void sleep(double seconds) const noexcept;  // until signalled; may end early
    void close() noexcept;                      // may be called again
    int descriptor() const { return descriptor_; }

  private:
    int descriptor_;
    const std::uint32_t born_;
    std::atomic<bool> signalled_{false};  // since the last clear()
};

}  // namespace acuity
