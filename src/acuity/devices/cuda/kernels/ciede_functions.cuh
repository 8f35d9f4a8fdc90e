// Elementary functions of native/ciede/functions.h, step for step: their results have the same bits on the CPU.
#pragma once

#include "pictures.cuh"

namespace {

__device__ __forceinline__ u64 bits(double number) { return static_cast<u64>(__double_as_longlong(number)); }
__device__ __forceinline__ double number(u64 bits) { return __longlong_as_double(static_cast<i64>(bits)); }
__device__ __forceinline__ double single(double number) { return static_cast<float>(number); }

// c[0] + c[1] x + c[2] x² + …
template <int N>
__device__ __forceinline__ double polynomial(double x, const double (&c)[N]) {
    double sum = c[N - 1];
#pragma unroll
    for (int i = N - 2; i >= 0; --i) sum = sum * x + c[i];
    return sum;
}

__device__ __forceinline__ double magnitude(double x) { return number(bits(x) & ~(u64(1) << 63)); }
__device__ __forceinline__ double larger(double a, double b) { return a > b ? a : b; }
__device__ __forceinline__ double smaller(double a, double b) { return a < b ? a : b; }

// About x^(-1/n), to one part in thirty: dividing the exponent by n, as an integer, with the mantissa behind it.
__device__ __forceinline__ double inverse_root_start(double x, u32 start, u32 nth_of_one) {
    return number(static_cast<u64>(start - __umulhi(static_cast<u32>(bits(x) >> 32), nth_of_one)) << 32);
}

// x^(1/3) of a positive x.
__device__ __forceinline__ double cube_root(double x) {
    const double step[] = {0.9999980168834165, 0.33332747552407505, 0.22373762061217767, 0.17474277487564951};
    double y = inverse_root_start(x, 0x553ee8b4, 0x55555556);
    y = y * polynomial(1.0 - x * y * (y * y), step);
    const double about = x * (y * y);
    const double h = 1.0 - about * y;
    return about + about * (h * (0.66666666667546 + h * 0.55555555555556));
}

// x^2.4 of a positive x.
__device__ __forceinline__ double power_2_4(double x) {
    const double step[] = {0.999994840994345, 0.19998367007031512, 0.12171372705597784, 0.09016440417954033};
    const double last[] = {0.6, 0.48, 0.416};
    double y = inverse_root_start(x, 0x4cb89bb1, 0x33333334);
    const double y2 = y * y;
    y = y * polynomial(1.0 - x * y * (y2 * y2), step);
    const double square = y * y, xy = x * y, about = xy * (xy * xy);
    const double h = 1.0 - xy * (square * square);
    return about + about * (h * polynomial(h, last));
}

// sin x for |x| up to a little over pi / 2.
__device__ __forceinline__ double sine(double x) {
    const double of[] = {-0.16666666666666666,    0.008333333333333194,    -0.00019841269841209183,
                         2.7557319211130795e-06,  -2.505210687219311e-08,  1.6058939674520877e-10,
                         -7.642990654008729e-13,  2.721165978118112e-15};
    const double z = x * x;
    return x + x * (z * polynomial(z, of));
}

// Adding this leaves a whole number in the lower bits of a small number.
constexpr double kToWhole = 0x1.8p52;

struct SineCosine {
    double sine, cosine;
};

// For 0 <= x < 10.
__device__ __forceinline__ SineCosine sine_cosine(double x) {
    const double sines[] = {-0.16666666666606056, 0.008333333321923963, -0.00019841262365866196,
                            2.755509886713488e-06, -2.4745456034778998e-08};
    const double cosines[] = {0.04166666666660222, -0.0013888888878270142, 2.4801580969795572e-05,
                              -2.755556678482594e-07, 2.0647715271854192e-09};
    constexpr double kQuarter = 0x1.921fb54p+0, kQuarterRest = 0x1.10b4611a62633p-30;
    const double shifted = x * 0.6366197723675814 + kToWhole;
    const double quarters = shifted - kToWhole;
    const double r = (x - quarters * kQuarter) - quarters * kQuarterRest;
    const double z = r * r;
    const double s = r + r * (z * polynomial(z, sines));
    const double c = 1.0 - (0.5 * z - z * z * polynomial(z, cosines));
    const u64 turn = bits(shifted);
    const bool odd = (turn & 1) != 0;
    const u64 sine_sign = (turn & 2) << 62, cosine_sign = ((turn + 1) & 2) << 62;
    return {number(bits(odd ? c : s) ^ sine_sign), number(bits(odd ? s : c) ^ cosine_sign)};
}

// The angle of the point (x, y), -pi to pi; 0 for the origin.
__device__ __forceinline__ double angle(double y, double x) {
    const double of[] = {-0.33333333333330123, 0.19999999999081466,  -0.14285714194607457, 0.11111106625774084,
                         -0.09090781746800673, 0.07690058723673782,  -0.0664103666319675,  0.056920911089166144,
                         -0.04357788270934292, 0.02124370498630637};
    constexpr double kPi = 3.141592653589793;
    const double across = magnitude(x), up = magnitude(y);
    const double longer = larger(larger(across, up), 0x1p-100), shorter = smaller(across, up);
    // Above pi / 8, turned back by pi / 4, so that the tangent is never above that of pi / 8.
    const bool steep = shorter > longer * 0.41421356237309503;
    const double t = (steep ? shorter - longer : shorter) / (steep ? shorter + longer : longer);
    const double z = t * t;
    double found = (t + t * (z * polynomial(z, of))) + (steep ? kPi / 4 : 0.0);
    found = up > across ? kPi / 2 - found : found;
    found = x < 0.0 ? kPi - found : found;
    return number(bits(found) | (bits(y) & (u64(1) << 63)));
}

// exp(-x) for 0 <= x < 100.
__device__ __forceinline__ double exp_of_minus(double x) {
    const double of[] = {1.0000000000000129,   0.9999999999998926,     0.49999999999457545,    0.16666666667827879,
                         0.041666667032681744, 0.008333333002625638,   0.001388880279453193,   0.00019841596526174991,
                         2.4884026452993507e-05, 2.7482172529538723e-06};
    const double shifted = x * -1.4426950408889634 + kToWhole;
    const double doublings = shifted - kToWhole;
    const double r = -x - doublings * 0.6931471805599453;
    return number(bits(polynomial(r, of)) + (bits(shifted) << 52));
}

}  // namespace
