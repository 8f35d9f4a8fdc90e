// The binary logarithm of a double or of a register of them, the same bits on every machine.
//
// Good to about one unit of the last place. Everything has internal linkage: each instruction set has its own.
#pragma once

#include <cstdint>
#include <limits>

namespace acuity {

// D: double or a vector of them; U: unsigned integers of the same size.
template <class D, class U>
[[gnu::always_inline]] static inline D speed_log2(D x) {
    constexpr std::uint64_t kOne = 0x3ff0000000000000u, kRootHalf = 0x3fe6a09e667f3bcdu;
    constexpr std::uint64_t kTwo52 = 0x4330000000000000u;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    // 2 / ln 2 / (2 k + 1): the series of the inverse hyperbolic tangent.
    constexpr double kSeries[] = {2.8853900817779268,  0.9617966939259756,  0.5770780163555853,  0.4121985831111324,
                                  0.3205988979753252,  0.2623081892525388,  0.22195308321368667, 0.19235933878519512,
                                  0.16972882833987804, 0.15186263588304877, 0.1373995277037108};
    // x = 2^exponent * m, where m is between the roots of 1/2 and of 2.
    const U bits = __builtin_bit_cast(U, x);
    const U biased = (bits + (kOne - kRootHalf)) >> 52;
    const D exponent = __builtin_bit_cast(D, biased | kTwo52) - (4503599627370496.0 + 1023.0);
    const D m = __builtin_bit_cast(D, bits - ((biased - 1023u) << 52));
    const D s = (m - 1.0) / (m + 1.0), z = s * s;
    D sum = z * kSeries[10] + kSeries[9];
    for (int k = 8; k >= 0; --k) sum = sum * z + kSeries[k];
    const D log = exponent + s * sum;
    const D nan = D{} + std::numeric_limits<double>::quiet_NaN(), least = D{} - kInfinity;
    const D edge = x < 0.0 ? nan : x == 0.0 ? least : x;
    const auto usual = (x > 0.0) & (x < kInfinity);
    return usual ? log : edge;
}

constexpr double kLog2Of2PiE = 4.094191170361282;

}  // namespace acuity
