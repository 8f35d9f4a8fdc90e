// Scratch memory of the kernels: cache-line aligned, reused from frame to frame and between extractors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "core/kernels.h"

namespace acuity {

// Rounds up to whole cache lines.
constexpr std::size_t whole_lines(std::size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// A plane in scratch memory. Rows start on a cache line and one spare line follows the last row, so that
// kernels may read and write whole registers.
template <class Sample>
struct Grid {
    Sample* data = nullptr;
    std::ptrdiff_t stride = 0;  // in samples

    std::ptrdiff_t stride_bytes() const { return stride * static_cast<std::ptrdiff_t>(sizeof(Sample)); }
};

// Cuts one block into aligned pieces. Over a null block it only measures.
class Carver {
  public:
    explicit Carver(void* block) : block_(static_cast<std::byte*>(block)) {}

    void* bytes(std::size_t count) {
        void* piece = block_ == nullptr ? nullptr : block_ + used_;
        used_ += whole_lines(count);
        return piece;
    }

    template <class Sample>
    Grid<Sample> grid(int width, int height) {
        const std::size_t row = whole_lines(sizeof(Sample) * static_cast<std::size_t>(width));
        auto* data = static_cast<Sample*>(bytes(row * static_cast<std::size_t>(height) + kAlign));
        return {data, static_cast<std::ptrdiff_t>(row / sizeof(Sample))};
    }

    std::size_t used() const { return used_; }

  private:
    std::byte* block_;
    std::size_t used_ = 0;
};

// One block that grows to the largest size requested. Used by one thread at a time.
class Workspace {
  public:
    Workspace() = default;
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;
    ~Workspace() { std::free(block_); }

    void reserve(std::size_t bytes) {
        bytes = whole_lines(bytes);
        if (bytes <= size_) return;
        std::free(block_);
        size_ = 0;
        block_ = std::aligned_alloc(kAlign, bytes);
        if (block_ == nullptr) throw std::bad_alloc();
        size_ = bytes;
    }

    void* block() const { return block_; }
    std::size_t size() const { return size_; }

  private:
    void* block_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace acuity
