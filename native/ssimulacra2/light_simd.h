// From samples to light, to half the size, to colour. Rows of our own have room for whole registers; loops over
// rows that have none are left to the compiler.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simd/isa.h"
#include "ssimulacra2/table.h"

namespace acuity::ACUITY_ISA::s2 {

using namespace ssimulacra2;

template <class Sample>
const Sample* row(const Plane& plane, int y) {
    return reinterpret_cast<const Sample*>(static_cast<const unsigned char*>(plane.data) + plane.stride * y);
}

// A row of chroma at luma's size, less grey; `mixed` is room for a row and a few more.
template <class Sample>
void upsample(const Plane& chroma, const Plane& luma, int y, int grey, std::int32_t* mixed, float* out) {
    const int columns = chroma.width;
    if (chroma.height < luma.height) {
        const int near_row = std::min(y / 2, chroma.height - 1);
        const int far_row = std::clamp(near_row + (y % 2 == 0 ? -1 : 1), 0, chroma.height - 1);
        const Sample *near = row<Sample>(chroma, near_row), *far = row<Sample>(chroma, far_row);
        for (int x = 0; x < columns; ++x) mixed[x] = 3 * near[x] + far[x];
    } else {
        const Sample* near = row<Sample>(chroma, y);
        for (int x = 0; x < columns; ++x) mixed[x] = near[x];
    }
    if (columns == luma.width) {
        for (int x = 0; x < columns; ++x) out[x] = static_cast<float>(mixed[x] - grey);
        return;
    }
    mixed[columns] = mixed[columns + 1] = mixed[columns - 1];
    const int pairs = (luma.width + 1) / 2;  // one more than columns where an odd size was rounded down
    for (int x = 0; x < pairs; ++x) {
        out[2 * x] = static_cast<float>(2 * mixed[x] - grey);
        out[2 * x + 1] = static_cast<float>(mixed[x] + mixed[x + 1] - grey);
    }
}

// Values of 0 to 1, in place, by the curve; whole registers of them.
inline void light_up(float* values, int width, const float* curve) {
    const auto look_up = [](const float* table, I32 index) {
        return as<F32>(gather(reinterpret_cast<const std::int32_t*>(table), as<U32>(index)));
    };
    const F32 zero = {}, one = splat<F32>(1.0f);
    for (int x = 0; x < width; x += kLanes32) {
        F32 value = load<F32>(values + x);
        value = value > zero ? value : zero;
        value = value < one ? value : one;
        const F32 place = value * static_cast<float>(kCurve);
        const I32 step = __builtin_convertvector(place, I32);
        const F32 part = place - __builtin_convertvector(step, F32);
        store(values + x, look_up(curve, step) + part * look_up(curve + kCurve + 1, step));
    }
}

// Gamma-coded red, green and blue. Bytes could overlap anything, so parameters say that they don't.
template <class Sample>
void matrix(const Sample* __restrict luma, const float* __restrict u, const float* __restrict v, Light by, int width,
            float* __restrict red, float* __restrict green, float* __restrict blue) {
    for (int x = 0; x < width; ++x) {
        const float bright = static_cast<float>(luma[x] - by.black) * by.luma;
        red[x] = bright + v[x] * by.red_v;
        green[x] = bright + (u[x] * by.green_u + v[x] * by.green_v);
        blue[x] = bright + u[x] * by.blue_u;
    }
}

template <class Sample>
void linear_row(const Plane* planes, bool chroma, const Light& light, int y, float* scratch, float* const rgb[3]) {
    const Plane& luma = planes[0];
    const int width = luma.width, room = width + 2 * kColumns;
    auto* mixed = reinterpret_cast<std::int32_t*>(scratch);
    float *u = scratch + room, *v = u + room;
    if (chroma) {
        upsample<Sample>(planes[1], luma, y, light.grey, mixed, u);
        upsample<Sample>(planes[2], luma, y, light.grey, mixed, v);
    } else {
        std::fill(u, u + width, 0.0f);
        std::fill(v, v + width, 0.0f);
    }
    matrix(row<Sample>(luma, y), u, v, light, width, rgb[0], rgb[1], rgb[2]);
    for (int c = 0; c < 3; ++c) light_up(rgb[c], width, light.curve);
}

inline void linear(const Plane* planes, bool chroma, const Light& light, int y, float* scratch, float* const rgb[3]) {
    if (planes[0].depth == 8) return linear_row<std::uint8_t>(planes, chroma, light, y, scratch, rgb);
    linear_row<std::uint16_t>(planes, chroma, light, y, scratch, rgb);
}

inline void halve(const float* upper, const float* lower, int width, float* __restrict out) {
    for (int x = 0; x < width / 2; ++x)
        out[x] = (((upper[2 * x] + upper[2 * x + 1]) + lower[2 * x]) + lower[2 * x + 1]) * 0.25f;
    if (width % 2 == 1) {
        const float a = upper[width - 1], b = lower[width - 1];
        out[width / 2] = (((a + a) + b) + b) * 0.25f;
    }
}

inline F32 cube_root(F32 x, F32 add) {
    const F32 third = splat<F32>(1.0f / 3), four_thirds = splat<F32>(4.0f / 3);
    const I32 bits = as<I32>(x);
    const I32 estimate = splat<I32>(0x54800000) - (bits >> 23) * splat<I32>(0x002AAAAA);
    F32 r = as<F32>(bits == 0 ? I32{} : estimate);
    const F32 part = -(third * x);
    for (int i = 0; i < 3; ++i) {
        const F32 square = r * r;
        r = fused(part, square * square, four_thirds * r);
    }
    F32 square = r * r;
    r = fused(third, fused(-x, square * square, r), r);
    square = r * r;
    return fused(square, x, add);
}

inline void colour(const float* const rgb[3], const float mix[9], int width, float* const xyb[3]) {
    const F32 zero = {};
    for (int x = 0; x < width; x += kLanes32) {
        const F32 red = load<F32>(rgb[0] + x), green = load<F32>(rgb[1] + x), blue = load<F32>(rgb[2] + x);
        F32 cone[3];
        for (int i = 0; i < 3; ++i) {
            const F32 r = splat<F32>(mix[3 * i]), g = splat<F32>(mix[3 * i + 1]), b = splat<F32>(mix[3 * i + 2]);
            const F32 sum = fused(r, red, fused(g, green, fused(b, blue, splat<F32>(kConeBias))));
            cone[i] = cube_root(sum > zero ? sum : zero, splat<F32>(-kConeBiasRoot));
        }
        const F32 opposed = (cone[0] - cone[1]) * 0.5f, bright = (cone[0] + cone[1]) * 0.5f;
        store(xyb[0] + x, opposed * 14.0f + 0.42f);
        store(xyb[1] + x, bright + 0.01f);
        store(xyb[2] + x, (cone[2] - bright) + 0.55f);
    }
}

}  // namespace acuity::ACUITY_ISA::s2
