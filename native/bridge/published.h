// A small value that one thread writes and any number of threads read, never half-written.
//
// The writer fills the next of a few copies and then publishes its number, so a writer that is interrupted
// blocks no reader. A reader reads the latest copy, and repeats only if the writer has reused that copy
// meanwhile, after at least kCopies - 1 more values. Words are stored with release and loaded with acquire, so
// that a reader that sees a word of a later round also sees the count that was stored before it.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "bridge/ring.h"

namespace acuity {

template <class Value>
class Published {
    static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) % sizeof(std::uint64_t) == 0);

  public:
    explicit Published(const Value& first) { write(first); }

    void write(const Value& value) {
        const auto words = std::bit_cast<Words>(value);
        const std::uint64_t next = latest_.load(std::memory_order_relaxed) + 1;
        auto& copy = copies_[next % kCopies].words;
        for (std::size_t i = 0; i < kWords; ++i) copy[i].store(words[i], std::memory_order_release);
        latest_.store(next, std::memory_order_release);
    }

    Value read() const {
        for (;;) {
            const std::uint64_t seen = latest_.load(std::memory_order_acquire);
            const auto& copy = copies_[seen % kCopies].words;
            Words words;
            for (std::size_t i = 0; i < kWords; ++i) words[i] = copy[i].load(std::memory_order_acquire);
            if (latest_.load(std::memory_order_relaxed) - seen < kCopies - 1) return std::bit_cast<Value>(words);
        }
    }

  private:
    static constexpr std::size_t kCopies = 4, kWords = sizeof(Value) / sizeof(std::uint64_t);
    using Words = std::array<std::uint64_t, kWords>;

    struct alignas(kLine) Copy {
        std::array<std::atomic<std::uint64_t>, kWords> words{};
    };

    std::array<Copy, kCopies> copies_;
    alignas(kLine) std::atomic<std::uint64_t> latest_{0};  // how many were written
};

}  // namespace acuity
