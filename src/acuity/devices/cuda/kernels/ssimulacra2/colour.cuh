// SSIMULACRA 2: samples to light, light to colour and to the light of the next scale.
#pragma once
#include "ssimulacra2/colour.cuh"

constexpr float kConeBias = 0.0037930732552754493f, kConeBiasRoot = 0.15595419704914093f;

struct Rgb {
    float of[3];
};

// Chroma at a place of the luma plane, as a sum of samples whose weights add up to 2 across and 4 down where
// chroma is halved.
template <class T>
__device__ __forceinline__ int upsampled(const Picture& picture, int plane, const Ssimulacra2Colour& colour,
                                          const Ssimulacra2Scale& of, int x, int y) {
    const bool across = colour.chroma_width < of.width, down = colour.chroma_height < of.height;
    const int row = down ? min(y / 2, colour.chroma_height - 1) : y;
    const int other = down ? min(max(row + (y % 2 == 0 ? -1 : 1), 0), colour.chroma_height - 1) : y;
    const T *near = row_of<T>(picture, plane, row), *far = row_of<T>(picture, plane, other);
    const auto mixed = [&](int column) {
        const int at = min(column, colour.chroma_width - 1);
        return static_cast<int>(down ? 3 * near[at] + far[at] : near[at]);
    };
    if (!across) return mixed(x);
    return mixed(x / 2) + mixed(x % 2 == 0 ? x / 2 : x / 2 + 1);
}

__device__ __forceinline__ float light_of(float encoded, const float2* curve) {
    const float place = fminf(fmaxf(encoded, 0.0f), 1.0f) * static_cast<float>(kCurve);
    const int step = static_cast<int>(place);
    const float2 light = __ldg(curve + step);
    return light.x + (place - static_cast<float>(step)) * light.y;
}

template <class T>
__device__ __forceinline__ Rgb light_of(const Picture& picture, const Ssimulacra2Colour& colour, const Ssimulacra2Scale& of,
                                        int x, int y) {
    const float luma = static_cast<float>(static_cast<int>(row_of<T>(picture, 0, y)[x]) - colour.black) * colour.luma;
    float u = 0.0f, v = 0.0f;
    if (colour.chroma_width > 0) {
        u = static_cast<float>(upsampled<T>(picture, 1, colour, of, x, y) - colour.grey);
        v = static_cast<float>(upsampled<T>(picture, 2, colour, of, x, y) - colour.grey);
    }
    return {{light_of(luma + v * colour.red_v, colour.curve),
             light_of(luma + (u * colour.green_u + v * colour.green_v), colour.curve),
             light_of(luma + u * colour.blue_u, colour.curve)}};
}

// By Newton's method on 1 / cube root, from an estimate that divides the exponent.
__device__ __forceinline__ float cube_root(float x, float add) {
    const i32 bits = __float_as_int(x);
    float r = __int_as_float(bits == 0 ? 0 : 0x54800000 - (bits >> 23) * 0x002AAAAA);
    constexpr float third = 1.0f / 3, four_thirds = 4.0f / 3;
    for (int i = 0; i < 3; ++i) {
        const float square = r * r;
        r = __fmaf_rn(-(third * x), square * square, four_thirds * r);
    }
    float square = r * r;
    r = __fmaf_rn(third, __fmaf_rn(-x, square * square, r), r);
    square = r * r;
    return __fmaf_rn(square, x, add);
}

// X, Y and B - Y.
__device__ __forceinline__ Rgb colour_of(const Rgb& light, const float (&mix)[9]) {
    float cone[3];
    for (int i = 0; i < 3; ++i) {
        const float* m = mix + 3 * i;
        const float blue = __fmaf_rn(m[2], light.of[2], kConeBias);
        const float sum = __fmaf_rn(m[0], light.of[0], __fmaf_rn(m[1], light.of[1], blue));
        cone[i] = cube_root(fmaxf(sum, 0.0f), -kConeBiasRoot);
    }
    const float opposed = 0.5f * (cone[0] - cone[1]), bright = 0.5f * (cone[0] + cone[1]);
    return {{opposed * 14.0f + 0.42f, bright + 0.01f, (cone[2] - bright) + 0.55f}};
}

// Two by two places of a slab for each thread. Blocks are of 32 x 8 threads: columns by blockIdx.x, rows by half of
// blockIdx.y, whose last bit is the picture. `light(picture, x, y, j)` is what there is at a place, in row j of the slab.
// What is made of places beyond the picture is never read.
template <class F>
__device__ __forceinline__ void take_slab(const Ssimulacra2Scale& of, const Ssimulacra2Scale* next, const float (&mix)[9],
                                          int slab, F&& light) {
    const int picture = blockIdx.y % 2, x = 2 * (blockIdx.x * 32 + threadIdx.x);
    const int j = 2 * (blockIdx.y / 2 * 8 + threadIdx.y), y = slab * of.rows + j;
    if (x >= of.width || j >= of.rows || y >= of.height) return;
    const int start = slab * of.rows % of.ring;
    float* const out = ring_plane(of.colour, 2 * kChannels, picture * kChannels, of) + x;
    const i64 plane = static_cast<i64>(of.ring) * of.stride;
    Rgb four[2][2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        Rgb colour[2];
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            const int column = min(x + k, of.width - 1), row = min(y + i, of.height - 1);
            four[i][k] = light(picture, column, row, j + row - y);
            colour[k] = colour_of(four[i][k], mix);
        }
        const i64 row = static_cast<i64>(in_ring(start + j + i, of)) * of.stride;
        for (int c = 0; c < kChannels; ++c)
            *reinterpret_cast<float2*>(out + c * plane + row) = make_float2(colour[0].of[c], colour[1].of[c]);
    }
    if (next == nullptr) return;
    const i64 half = static_cast<i64>(next->rows) * next->stride;
    float* const halved = next->light + (static_cast<i64>(blockIdx.z) * 2 + picture) * kChannels * half +
                          static_cast<i64>(j / 2) * next->stride + x / 2;
    for (int c = 0; c < kChannels; ++c) {
        const float sum = ((four[0][0].of[c] + four[0][1].of[c]) + four[1][0].of[c]) + four[1][1].of[c];
        halved[c * half] = sum * 0.25f;
    }
}

template <class T>
__device__ __forceinline__ void take_samples(const Frame* frames, const Ssimulacra2Colour& colour,
                                             const Ssimulacra2Scale& of, const Ssimulacra2Scale* next, int slab) {
    const Frame& frame = frames[blockIdx.z];
    take_slab(of, next, colour.mix, slab, [&](int picture, int x, int y, int) {
        return light_of<T>(picture == 0 ? frame.ref : frame.dis, colour, of, x, y);
    });
}

__device__ __forceinline__ void take_light(const Ssimulacra2Colour& colour, const Ssimulacra2Scale& of,
                                           const Ssimulacra2Scale* next, int slab) {
    const i64 plane = static_cast<i64>(of.rows) * of.stride;
    const float* const in = of.light + static_cast<i64>(blockIdx.z) * 2 * kChannels * plane;
    take_slab(of, next, colour.mix, slab, [&](int picture, int x, int, int j) {
        const float* at = in + kChannels * picture * plane + static_cast<i64>(j) * of.stride + x;
        return Rgb{{at[0], at[plane], at[2 * plane]}};
    });
}
