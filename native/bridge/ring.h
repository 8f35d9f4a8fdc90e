// A ring of fixed envelopes between two threads: one pushes, the other pops, and neither ever waits.
//
// Memory is allocated and touched once, when the ring is created. An envelope belongs to the pushing thread until
// the release store to head_, then to the popping thread until the release store to tail_; these stores and their
// acquire loads are the only synchronisation.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace acuity {

constexpr std::size_t kLine = 64;      // a cache line, which values written by two threads must not share
constexpr std::size_t kPayload = 512;  // bytes that an envelope carries at most
constexpr std::int64_t kMinDepth = 2, kMaxDepth = 65536;

using Payload = std::span<const std::byte>;

// A message between the threads. It is copied, so it must not point to memory that a thread owns.
struct alignas(kLine) Envelope {
    std::uint64_t ticket;  // the sender's number for it
    std::uint32_t kind;
    std::uint32_t length;  // of the payload
    std::byte scratch[kPayload];

    Payload payload() const { return {scratch, length}; }
};
static_assert(std::is_trivially_copyable_v<Envelope> && std::is_standard_layout_v<Envelope>);

class Ring {
  public:
    explicit Ring(std::int64_t depth)
        : depth_(checked(depth)), slots_(std::make_unique<Envelope[]>(static_cast<std::size_t>(depth_))) {}
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    // The pushing thread: false if the ring is full. The caller must not pass a payload that is too long.
    bool push(std::uint64_t ticket, std::uint32_t kind, Payload payload) {
        if (payload.size() > kPayload)
            throw std::invalid_argument("a payload of " + std::to_string(payload.size()) + " bytes is too long: " +
                                        std::to_string(kPayload) + " fit into an envelope");
        const std::uint64_t head = head_.load(std::memory_order_relaxed);
        if (head - tail_seen_ == depth_) {
            tail_seen_ = tail_.load(std::memory_order_acquire);
            assert(head - tail_seen_ <= depth_);
            if (head - tail_seen_ == depth_) return false;
        }
        assert(head - tail_seen_ < depth_);
        Envelope& slot = slots_[head & (depth_ - 1)];
        slot.ticket = ticket;
        slot.kind = kind;
        slot.length = static_cast<std::uint32_t>(payload.size());
        if (!payload.empty()) std::memcpy(slot.scratch, payload.data(), payload.size());
        head_.store(head + 1, std::memory_order_release);
        return true;
    }

    // The popping thread: the oldest envelope, to be read in place until pop(), or none.
    const Envelope* front() {
        const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
        if (tail == head_seen_) {
            head_seen_ = head_.load(std::memory_order_acquire);
            assert(head_seen_ - tail <= depth_);
            if (tail == head_seen_) return nullptr;
        }
        const Envelope& slot = slots_[tail & (depth_ - 1)];
        assert(slot.length <= kPayload);
        return &slot;
    }

    // The popping thread, after front() returned an envelope: frees its slot.
    void pop() {
        const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
        assert(tail != head_seen_ && head_seen_ - tail <= depth_);
        tail_.store(tail + 1, std::memory_order_release);
    }

    // Any thread: the number of envelopes a moment ago. The tail is read first, so that it is never ahead.
    std::size_t size() const {
        const std::uint64_t tail = tail_.load(std::memory_order_acquire);
        return std::min<std::uint64_t>(head_.load(std::memory_order_acquire) - tail, depth_);
    }

    std::size_t depth() const { return depth_; }

  private:
    static std::uint64_t checked(std::int64_t depth) {
        if (depth < kMinDepth || depth > kMaxDepth || !std::has_single_bit(static_cast<std::uint64_t>(depth)))
            throw std::invalid_argument("queue depth " + std::to_string(depth) + " must be a power of two from " +
                                        std::to_string(kMinDepth) + " to " + std::to_string(kMaxDepth));
        return static_cast<std::uint64_t>(depth);
    }

    const std::uint64_t depth_;
    const std::unique_ptr<Envelope[]> slots_;
    alignas(kLine) std::atomic<std::uint64_t> head_{0};  // pushed so far
    std::uint64_t tail_seen_ = 0;                        // tail_ as the pushing thread last read it
    alignas(kLine) std::atomic<std::uint64_t> tail_{0};  // popped so far
    std::uint64_t head_seen_ = 0;                        // head_ as the popping thread last read it
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace acuity
