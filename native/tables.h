// Constants of the metrics' fixed-point arithmetic, shared by every instruction set.
#pragma once

#include <cstdint>

namespace acuity {

// VIF's window at each scale: a Gaussian in Q16, so its taps sum to 65536.
inline constexpr std::uint16_t kVifFilter0[] = {489,  935,  1640, 2640, 3896, 5274, 6547, 7455, 7784,
                                                7455, 6547, 5274, 3896, 2640, 1640, 935,  489};
inline constexpr std::uint16_t kVifFilter1[] = {1244, 3663, 7925, 12590, 14692, 12590, 7925, 3663, 1244};
inline constexpr std::uint16_t kVifFilter2[] = {3571, 16004, 26386, 16004, 3571};
inline constexpr std::uint16_t kVifFilter3[] = {10904, 43728, 10904};
inline constexpr int kVifTaps[] = {17, 9, 5, 3};
inline constexpr const std::uint16_t* kVifFilter[] = {kVifFilter0, kVifFilter1, kVifFilter2, kVifFilter3};

// Below this variance (2.0 in Q16) a place counts as flat.
inline constexpr std::int32_t kVifNoise = 2 << 16;
// Keeps the gain finite; part of the reference arithmetic.
inline constexpr double kVifEpsilon = 65536 * 1.0e-10;

inline constexpr std::uint16_t kMotionFilter[5] = {3571, 16004, 26386, 16004, 3571};

// Daubechies 2 wavelet in Q15; the high-pass taps sum to 0, the low-pass ones to kDwtLowSum.
inline constexpr std::int32_t kDwtLow[4] = {15826, 27411, 7345, -4240};
inline constexpr std::int32_t kDwtHigh[4] = {-4240, -7345, 27411, -15826};
inline constexpr std::int32_t kDwtLowSum = 46342;

// [i]: log2(32768 + i) in 1/2048, for i in 0..32767.
const std::uint16_t* log2_table();

// [i]: 2^30 / i rounded down, for i in 1..32768; [0] is 0.
const std::int32_t* reciprocal_table();

// cos(1 degree)^2, in the single precision the reference keeps it in.
float cos_one_degree_squared();

// Reflects an index into 0..n-1 without repeating the edge: -1 is 1, n is n - 2. n must be at least 2.
constexpr int reflect(int i, int n) {
    while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
    return i;
}

}  // namespace acuity
