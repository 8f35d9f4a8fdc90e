// Vector types of one register's width, built on the compiler's vector extension.
//
// + - * & | ^ ~ << >> and comparisons work lane by lane; a comparison gives all-ones or all-zeros
// lanes, and `mask ? a : b` selects. Each instruction set's header adds what the extension lacks (dot products
// of pairs, packing, table look-ups, …) under the same names. The including file
// defines ACUITY_ISA, the namespace, so that one source compiled several times never clashes.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace acuity::ACUITY_ISA {

constexpr int kBytes = ACUITY_REGISTER_BYTES;

using U8 [[gnu::vector_size(kBytes), gnu::may_alias]] = std::uint8_t;
using I16 [[gnu::vector_size(kBytes), gnu::may_alias]] = std::int16_t;
using U16 [[gnu::vector_size(kBytes), gnu::may_alias]] = std::uint16_t;
using I32 [[gnu::vector_size(kBytes), gnu::may_alias]] = std::int32_t;
using U32 [[gnu::vector_size(kBytes), gnu::may_alias]] = std::uint32_t;
using I64 [[gnu::vector_size(kBytes), gnu::may_alias]] = std::int64_t;
using U64 [[gnu::vector_size(kBytes), gnu::may_alias]] = std::uint64_t;
using F32 [[gnu::vector_size(kBytes), gnu::may_alias]] = float;
using F64 [[gnu::vector_size(kBytes), gnu::may_alias]] = double;

constexpr int kLanes16 = kBytes / 2;
constexpr int kLanes32 = kBytes / 4;
constexpr int kLanes64 = kBytes / 8;

// A register of 16-bit lanes widened to 32 bits. Which half holds which lane depends on the instruction
// set (see `column_offsets`), and is the same for every function that returns a Wide.
struct Wide {
    U32 a, b;
};

// 32-bit lanes as doubles: the first half of them, and the second.
struct F64x2 {
    F64 lo, hi;
};

struct TopBits {
    U32 bits, shift;
};

template <class V>
inline V load(const void* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

template <class V>
inline void store(void* p, V v) {
    std::memcpy(p, &v, sizeof v);
}

template <class V, class T>
inline V splat(T x) {
    return static_cast<std::remove_reference_t<decltype(V{}[0])>>(x) - V{};  // - 0 is nothing, + 0 not of -0.0
}

template <class V, class W>
inline V as(W w) {
    static_assert(sizeof(V) == sizeof(W));
    return reinterpret_cast<V>(w);
}

template <class V>
inline V vmax(V a, V b) {
    return a > b ? a : b;
}

template <class V>
inline V vmin(V a, V b) {
    return a < b ? a : b;
}

// body(integral_constant 0), … body(integral_constant N - 1): a loop whose counter is a constant.
template <int N, class Body>
[[gnu::always_inline]] inline void unroll(Body&& body) {
    [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
        (body(std::integral_constant<int, I>{}), ...);
    }(std::make_integer_sequence<int, N>{});
}

// The even lanes of a, then those of b; and the odd ones.
template <class V>
inline V even_of(V a, V b) {
    return [=]<int... I>(std::integer_sequence<int, I...>) {
        return __builtin_shufflevector(a, b, (2 * I)...);
    }(std::make_integer_sequence<int, sizeof(V) / sizeof(a[0])>{});
}
template <class V>
inline V odd_of(V a, V b) {
    return [=]<int... I>(std::integer_sequence<int, I...>) {
        return __builtin_shufflevector(a, b, (2 * I + 1)...);
    }(std::make_integer_sequence<int, sizeof(V) / sizeof(a[0])>{});
}

// Sum of all lanes in 64 bits.
template <class V>
inline std::int64_t sum_lanes(V v) {
    std::int64_t s = 0;
    for (unsigned i = 0; i < sizeof(V) / sizeof(v[0]); ++i) s += static_cast<std::int64_t>(v[i]);
    return s;
}

// Reflect `half` columns over the picture's own edges; inside the picture the halo is already there.
// `v` points at column 0.
template <class Sample>
inline void mirror_edges(Sample* v, int half, bool left, bool right, int columns) {
    if (!left && !right) return;
    for (int f = 1; f <= half; ++f) {
        if (left) v[-f] = v[f];
        if (right) v[columns - 1 + f] = v[columns - 1 - f];
    }
}

}  // namespace acuity::ACUITY_ISA
