// The colour difference of one pixel, as libvmaf computes it: in doubles, most results rounded to single
// precision, at these very places. See functions.h for what the including file defines; besides,
//   single(n)         rounded to single precision
//   somewhere(mask)   whether it holds for any lane
#pragma once

#include "ciede/functions.h"

namespace acuity::ACUITY_ISA {

namespace {  // of the one file that includes this, for each instruction set

struct Lab {
    Number l, a, b;
};

// Of video samples in the range of studio video.
struct Scale {
    explicit Scale(int depth)
        : step(1 << (depth - 8)), luma(1.0 / (219.0 * step)), chroma(1.0 / (224.0 * step)) {}
    double step, luma, chroma;
};

inline Number linear_light(Number c) {
    constexpr double kLinear = 10.0 / 255.0;
    const Number curve = power_2_4((larger(c, every(kLinear)) + 0.055) * (1.0 / 1.055));
    return c > kLinear ? curve : c * (1.0 / 12.92);
}

inline Number lightness_of(Number c) {
    constexpr double kKappa = 24389.0 / 27.0, kEpsilon = 216.0 / 24389.0;
    const Number curve = cube_root(larger(c, every(kEpsilon)));
    return single(c > kEpsilon ? curve : (kKappa * c + 16.0) * (1.0 / 116.0));
}

// BT.709 samples in CIE L*a*b*.
inline Lab lab(Number luma, Number cb, Number cr, const Scale& scale) {
    const Number y = (luma - 16.0 * scale.step) * scale.luma;
    const Number u = (cb - 128.0 * scale.step) * scale.chroma;
    const Number v = (cr - 128.0 * scale.step) * scale.chroma;
    const Number r = linear_light(y + 1.28033 * v);
    const Number g = linear_light(y - 0.21482 * u - 0.38059 * v);
    const Number b = linear_light(y + 2.12798 * u);
    const Number fx = lightness_of((r * 0.4124564390896921 + g * 0.357576077643909 + b * 0.18043748326639894) *
                                   (1.0 / 0.95047));
    const Number fy =
        lightness_of(r * 0.21267285140562248 + g * 0.715152155287818 + b * 0.07217499330655958);
    const Number fz = lightness_of((r * 0.019333895582329317 + g * 0.119192025881303 + b * 0.9503040785363677) *
                                   (1.0 / 1.08883));
    return {single(116.0 * fy - 16.0), single(500.0 * (fx - fy)), single(200.0 * (fy - fz))};
}

inline Number length(Number a, Number b) { return single(root(a * a + b * b)); }

inline Number power_7(Number x) {
    const Number x2 = x * x;
    return x2 * x2 * x2 * x;
}

constexpr double kPi = 3.141592653589793;
constexpr double k25To7 = 6103515625.0;

// 0 to 2 pi.
inline Number hue(const Number b, const Number a) {
    const Number found = single(angle(b, a));
    return found < 0.0 ? single(found + 2.0 * kPi) : found;
}

// 1 - 0.17 cos(h - 30°) + 0.24 cos 2h + 0.32 cos(3h + 6°) - 0.2 cos(4h - 63°)
inline Number hue_weight(Number h) {
    constexpr double kCos30 = 0.8660254037844387, kCos6 = 0.9945218953682733, kSin6 = 0.10452846326765347;
    constexpr double kCos63 = 0.45399049973954675, kSin63 = 0.8910065241883679;
    const auto [s, c] = sine_cosine(h);
    const Number s2 = 2.0 * s * c, c2 = 1.0 - 2.0 * s * s;
    const Number s3 = s * c2 + c * s2, c3 = c * c2 - s * s2;
    const Number s4 = 2.0 * s2 * c2, c4 = 1.0 - 2.0 * s2 * s2;
    return single(1.0 - (0.17 * kCos30 * c + 0.17 * 0.5 * s) + 0.24 * c2 +
                  (0.32 * kCos6 * c3 - 0.32 * kSin6 * s3) - (0.2 * kCos63 * c4 + 0.2 * kSin63 * s4));
}

// The rotation term, which matters to blue colours. Where it is far below the last digit of what it is added
// to, it is 0: single precision has no such small numbers, or is slow with them.
inline Number rotation(Number chroma, Number h) {
    const Number degrees = single((single(h * (180.0 / kPi)) - 275.0) * (1.0 / 25.0));
    const Number square = single(degrees * degrees);
    const Mask matters = (square < 40.0) & (chroma > 1e-3);
    if (!somewhere(matters)) return every(0.0);
    const Number turn = single(single(60.0 * exp_of_minus(smaller(square, every(40.0)))) * (kPi / 180.0));
    const Number c7 = single(power_7(larger(chroma, every(1e-3))));
    const Number share = single(c7 / single(c7 + static_cast<double>(static_cast<float>(k25To7))));
    return matters ? single(-2.0 * root(share) * sine(turn)) : every(0.0);
}

inline Number difference(const Lab& one, const Lab& two) {
    const Number l_mean = single(one.l + two.l) * 0.5;
    const Number c_mean = single(length(one.a, one.b) + length(two.a, two.b)) * 0.5;
    const Number c7 = power_7(c_mean);
    const Number stretch = 1.0 - root(c7 / (c7 + k25To7));
    const Number a1 = single(one.a + one.a * 0.5 * stretch), a2 = single(two.a + two.a * 0.5 * stretch);
    const Number c1 = length(a1, one.b), c2 = length(a2, two.b);
    const Number chroma_mean = single(c1 + c2) * 0.5;

    const Number h1 = hue(one.b, a1), h2 = hue(two.b, a2);
    const Number apart = single(h2 - h1), sum = single(h1 + h2);
    const Mask over = magnitude(apart) > kPi;  // the shorter way round is through zero
    const Number round = apart > 0.0 ? every(-2.0 * kPi) : every(2.0 * kPi);
    const Number turn = over ? single(apart + round) : apart;  // counts for nothing where a colour is grey
    const Number h_mean = single((over ? sum + 2.0 * kPi : sum) * 0.5);

    const Number off = single(l_mean - 50.0), off2 = off * off;
    const Number s_l = single(1.0 + 0.015 * off2 / root(20.0 + off2));
    const Number s_c = single(1.0 + 0.045 * chroma_mean);
    const Number s_h = single(1.0 + 0.015 * chroma_mean * hue_weight(h_mean));
    const Number d_h = single(2.0 * root(single(c1 * c2)) * sine(turn * 0.5));

    const Number light = single(single(two.l - one.l) / single(static_cast<double>(0.65f) * s_l));
    const Number chroma = single(single(c2 - c1) / s_c);
    const Number hue = single(d_h / (4.0 * s_h));
    const Number crossed = single(single(rotation(chroma_mean, h_mean) * chroma) * hue);
    return root(light * light + chroma * chroma + hue * hue + crossed);
}

}  // namespace

}  // namespace acuity::ACUITY_ISA
