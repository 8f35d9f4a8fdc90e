// The compiler vectorises these: integer sums may be taken in any order.
#include <algorithm>

#include "moment/table.h"
#include "simd/isa.h"

namespace acuity::ACUITY_ISA {

namespace {

// Columns whose sums of squares fit 32 bits.
constexpr int kByteRun = 65536;
constexpr int kWordRun = 256;  // of 12 bits

constexpr int kExactDepth = 12;  // up to which squares fit single precision

template <class Sample>
const Sample* row_of(const Plane& plane, int row) {
    return reinterpret_cast<const Sample*>(static_cast<const unsigned char*>(plane.data) + plane.stride * row);
}

// Squares of value(x) for x from 0 to width, exact in 32 bits, and the values themselves.
template <int Run, class Value>
[[gnu::always_inline]] inline void add_row(int width, Moments& to, const Value& value) {
    for (int start = 0; start < width; start += Run) {
        const int end = std::min(width, start + Run);
        std::uint32_t sum = 0, squares = 0;
        for (int x = start; x < end; ++x) {
            const std::uint32_t v = value(x);
            sum += v;
            squares += v * v;
        }
        to.sum += sum;
        to.squares += squares;
    }
}

// The same where squares must be rounded.
template <class Value>
[[gnu::always_inline]] inline void add_deep_row(int width, Moments& to, const Value& value) {
    std::uint64_t sum = 0;
    std::int64_t squares = 0;
    for (int x = 0; x < width; ++x) {
        const std::int32_t v = value(x);
        const float single = static_cast<float>(v);
        sum += static_cast<std::uint32_t>(v);
        squares += static_cast<std::int64_t>(single * single);
    }
    to.sum += sum;
    to.squares += static_cast<std::uint64_t>(squares);
}

Moments moments(const Plane& plane) {
    Moments found = {};
    for (int y = 0; y < plane.height; ++y) {
        const auto* bytes = row_of<std::uint8_t>(plane, y);
        const auto* words = row_of<std::uint16_t>(plane, y);
        if (plane.depth == 8)
            add_row<kByteRun>(plane.width, found, [&](int x) { return std::uint32_t{bytes[x]}; });
        else if (plane.depth <= kExactDepth)
            add_row<kWordRun>(plane.width, found, [&](int x) { return std::uint32_t{words[x]}; });
        else
            add_deep_row(plane.width, found, [&](int x) { return std::int32_t{words[x]}; });
    }
    return found;
}

std::uint64_t rounded_error(const Plane& ref, const Plane& dis) {
    Moments found = {};  // of the differences
    for (int y = 0; y < ref.height; ++y) {
        const auto *a = row_of<std::uint16_t>(ref, y), *b = row_of<std::uint16_t>(dis, y);
        add_deep_row(ref.width, found, [&](int x) { return a[x] - b[x]; });
    }
    return found.squares;
}

}  // namespace

extern const MomentKernels moment_kernels;
const MomentKernels moment_kernels = {.moments = moments, .rounded_error = rounded_error};

}  // namespace acuity::ACUITY_ISA
