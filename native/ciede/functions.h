// Elementary functions for several numbers at a time, the same bits on every instruction set.
//
// The formula rounds to single precision again and again, and libvmaf takes these functions from the C
// library, in double precision. So that nearly every one of those roundings goes the same way, each function
// here is within about two units in the last place of a double. Polynomials are minimax fits over the range
// stated.
//
// The including file defines ACUITY_ISA, the namespace, and in it:
//   Number, Bits      a double, or a register of them; its bits as unsigned integers
//   Mask              what comparing two Numbers gives; `mask ? a : b` selects
//   every(x)          a Number of equal doubles
//   bits(n), number(b)
//   times(b, k)       the lower 32 bits of each of the Bits, times k
//   root(n)           square root
#pragma once

namespace acuity::ACUITY_ISA {

namespace {  // of the one file that includes this, for each instruction set

// c[0] + c[1] x + c[2] x² + …
template <int N>
[[gnu::always_inline]] inline Number polynomial(Number x, const double (&c)[N]) {
    Number sum = every(c[N - 1]);
    for (int i = N - 2; i >= 0; --i) sum = sum * x + c[i];
    return sum;
}

inline Number magnitude(Number x) { return number(bits(x) & ~(std::uint64_t{1} << 63)); }

inline Number larger(Number a, Number b) { return a > b ? a : b; }
inline Number smaller(Number a, Number b) { return a < b ? a : b; }

// About x^(-1/n), to one part in thirty: dividing the exponent by n, as an integer, with the mantissa behind it.
inline Number inverse_root_start(Number x, std::uint32_t start, std::uint32_t nth_of_one) {
    return number((start - (times(bits(x) >> 32, nth_of_one) >> 32)) << 32);
}

// x^(1/3) of a positive x.
inline Number cube_root(Number x) {
    static constexpr double kStep[] = {0.9999980168834165, 0.33332747552407505, 0.22373762061217767,
                                       0.17474277487564951};  // (1 - h)^(-1/3), |h| < 0.103
    // With y³ x = 1 - h, x^(1/3) = x y² (1 - h)^(-2/3).
    Number y = inverse_root_start(x, 0x553ee8b4, 0x55555556);
    y = y * polynomial(1.0 - x * y * (y * y), kStep);
    const Number about = x * (y * y);
    const Number h = 1.0 - about * y;  // |h| < 6e-6
    return about + about * (h * (0.66666666667546 + h * 0.55555555555556));
}

// x^2.4 of a positive x.
inline Number power_2_4(Number x) {
    static constexpr double kStep[] = {0.999994840994345, 0.19998367007031512, 0.12171372705597784,
                                       0.09016440417954033};  // (1 - h)^(-1/5), |h| < 0.156
    static constexpr double kLast[] = {0.6, 0.48, 0.416};     // ((1 - h)^(-3/5) - 1) / h, |h| < 2.6e-5
    // With y⁵ x = 1 - h, x^2.4 = x³ y³ (1 - h)^(-3/5).
    Number y = inverse_root_start(x, 0x4cb89bb1, 0x33333334);
    const Number y2 = y * y;
    y = y * polynomial(1.0 - x * y * (y2 * y2), kStep);
    const Number square = y * y, xy = x * y, about = xy * (xy * xy);
    const Number h = 1.0 - xy * (square * square);
    return about + about * (h * polynomial(h, kLast));
}

// sin x for |x| up to a little over pi / 2.
inline Number sine(Number x) {
    static constexpr double kSine[] = {-0.16666666666666666, 0.008333333333333194, -0.00019841269841209183,
                                       2.7557319211130795e-06, -2.505210687219311e-08, 1.6058939674520877e-10,
                                       -7.642990654008729e-13, 2.721165978118112e-15};
    const Number z = x * x;
    return x + x * (z * polynomial(z, kSine));
}

// Adding this leaves a whole number in the lower bits of a small Number.
constexpr double kToWhole = 0x1.8p52;

struct SineCosine {
    Number sine, cosine;
};

// For 0 <= x < 10.
inline SineCosine sine_cosine(Number x) {
    static constexpr double kSine[] = {-0.16666666666606056, 0.008333333321923963, -0.00019841262365866196,
                                       2.755509886713488e-06, -2.4745456034778998e-08};
    static constexpr double kCosine[] = {0.04166666666660222, -0.0013888888878270142, 2.4801580969795572e-05,
                                         -2.755556678482594e-07, 2.0647715271854192e-09};
    // The turn to the nearest multiple of pi / 2, which is the sum of these two; the first has few bits.
    constexpr double kQuarter = 0x1.921fb54p+0, kQuarterRest = 0x1.10b4611a62633p-30;
    const Number shifted = x * 0.6366197723675814 + kToWhole;
    const Number quarters = shifted - kToWhole;
    const Number r = (x - quarters * kQuarter) - quarters * kQuarterRest;
    const Number z = r * r;
    const Number s = r + r * (z * polynomial(z, kSine));
    const Number c = 1.0 - (0.5 * z - z * z * polynomial(z, kCosine));
    const Bits turn = bits(shifted);
    const Mask odd = (turn & 1) != 0;
    const Bits sine_sign = (turn & 2) << 62, cosine_sign = ((turn + 1) & 2) << 62;
    return {number(bits(odd ? c : s) ^ sine_sign), number(bits(odd ? s : c) ^ cosine_sign)};
}

// The angle of the point (x, y), -pi to pi; 0 for the origin.
inline Number angle(Number y, Number x) {
    static constexpr double kAngle[] = {-0.33333333333330123, 0.19999999999081466,  -0.14285714194607457,
                                        0.11111106625774084,  -0.09090781746800673, 0.07690058723673782,
                                        -0.0664103666319675,  0.056920911089166144, -0.04357788270934292,
                                        0.02124370498630637};
    constexpr double kPi = 3.141592653589793;
    const Number across = magnitude(x), up = magnitude(y);
    const Number longer = larger(larger(across, up), every(0x1p-100)), shorter = smaller(across, up);
    // Above pi / 8, turned back by pi / 4, so that the tangent is never above that of pi / 8.
    const Mask steep = shorter > longer * 0.41421356237309503;
    const Number t = (steep ? shorter - longer : shorter) / (steep ? shorter + longer : longer);
    const Number z = t * t;
    Number found = (t + t * (z * polynomial(z, kAngle))) + (steep ? every(kPi / 4) : every(0.0));
    found = up > across ? kPi / 2 - found : found;
    found = x < 0.0 ? kPi - found : found;
    return number(bits(found) | (bits(y) & (std::uint64_t{1} << 63)));
}

// exp(-x) for 0 <= x < 100, to 2e-14.
inline Number exp_of_minus(Number x) {
    static constexpr double kExp[] = {1.0000000000000129,    0.9999999999998926,   0.49999999999457545,
                                      0.16666666667827879,   0.041666667032681744, 0.008333333002625638,
                                      0.001388880279453193,  0.00019841596526174991, 2.4884026452993507e-05,
                                      2.7482172529538723e-06};
    const Number shifted = x * -1.4426950408889634 + kToWhole;
    const Number doublings = shifted - kToWhole;
    const Number r = -x - doublings * 0.6931471805599453;
    return number(bits(polynomial(r, kExp)) + (bits(shifted) << 52));
}

}  // namespace

}  // namespace acuity::ACUITY_ISA
