// Waking a thread that sleeps in poll(), at the price of one system call a sleep however often it is signalled.
#pragma once

#include <atomic>
#include <cstdint>

namespace acuity {

// How often this process came out of a fork() as the child. What was made before belongs to the parent.
std::uint32_t forks();

// A descriptor (eventfd) that becomes readable when signalled. The sleeper calls clear(), looks whether there is
// work, and only then sleeps: a signal that comes after clear() makes the descriptor readable again, so none
// is lost; at worst it wakes once for nothing.
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
