#include "bridge/wakeup.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <system_error>

namespace acuity {
namespace {

std::atomic<std::uint32_t> fork_count{0};

// Reading the process id at every call would be a system call at every frame.
std::uint32_t watched_forks() {
    static const int refused = pthread_atfork(nullptr, nullptr, [] { ++fork_count; });
    if (refused != 0) throw std::system_error(refused, std::generic_category(), "pthread_atfork");
    return forks();
}

}  // namespace

std::uint32_t forks() { return fork_count.load(std::memory_order_relaxed); }

Wakeup::Wakeup() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), born_(watched_forks()) {
    if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

// In a forked child that never called close(), the descriptor may belong to another file by now.
Wakeup::~Wakeup() {
    if (born_ == forks()) close();
}

void Wakeup::signal() noexcept {
    if (signalled_.exchange(true, std::memory_order_acq_rel)) return;
    assert(descriptor_ >= 0);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(descriptor_, &one, sizeof one);
    assert(written == sizeof one);  // at most one more than was read, so the counter can't overflow
}

// The descriptor first: in the other order, a signal in between would be read from it but stay marked as sent.
void Wakeup::clear() noexcept {
    assert(descriptor_ >= 0);
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(descriptor_, &count, sizeof count);
    assert(got == sizeof count || (got < 0 && errno == EAGAIN));
    signalled_.exchange(false, std::memory_order_acq_rel);
}

void Wakeup::sleep(double seconds) const noexcept {
    seconds = std::clamp(seconds, 0.0, 1e9);
    const double whole = std::floor(seconds);
    const timespec limit = {static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
    pollfd entry = {descriptor_, POLLIN, 0};
    ppoll(&entry, 1, &limit, nullptr);  // after a failure the sleeper checks again
}

void Wakeup::close() noexcept {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
}

}  // namespace acuity
