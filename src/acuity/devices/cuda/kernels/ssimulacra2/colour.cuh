// SSIMULACRA 2: samples to light, light to colour and to the light of the next scale.
#pragma once
#include "ssimulacra2/plan.cuh"

constexpr float kConeBias = 0.0037930732552754493f, kConeBiasRoot = 0.15595419704914093f;

struct Rgb {
    float of[3];
};

// Chroma at a place of the luma plane, as a sum of samples whose weights add up to 2 across and 4 down where
// chroma is halved.
template <class T>
__device__ __forceinline__ int upsampled(const Picture& picture, int plane, const Ssimulacra2Plan& plan, int x, int y) {
    const bool across = plan.chroma_width < plan.width, down = plan.chroma_height < plan.height;
    const int row = down ? min(y / 2, plan.chroma_height - 1) : y;
    const int other = down ? min(max(row + (y % 2 == 0 ? -1 : 1), 0), plan.chroma_height - 1) : y;
    const T *near = row_of<T>(picture, plane, row), *far = row_of<T>(picture, plane, other);
    const auto mixed = [&](int column) {
        const int at = min(column, plan.chroma_width - 1);
        return static_cast<int>(down ? 3 * near[at] + far[at] : near[at]);
    };
    if (!across) return mixed(x);
    return mixed(x / 2) + mixed(x % 2 == 0 ? x / 2 : x / 2 + 1);
}

__device__ __forceinline__ float light_of(float encoded, const float* curve) {
    const float place = fminf(fmaxf(encoded, 0.0f), 1.0f) * static_cast<float>(kCurve);
    const int step = static_cast<int>(place);
    return curve[step] + (place - static_cast<float>(step)) * curve[kCurve + 1 + step];
}

template <class T>
__device__ __forceinline__ Rgb light_of(const Picture& picture, const Ssimulacra2Plan& plan, int x, int y) {
    const float luma = static_cast<float>(static_cast<int>(row_of<T>(picture, 0, y)[x]) - plan.black) * plan.luma;
    float u = 0.0f, v = 0.0f;
    if (plan.chroma_width > 0) {
        u = static_cast<float>(upsampled<T>(picture, 1, plan, x, y) - plan.grey);
        v = static_cast<float>(upsampled<T>(picture, 2, plan, x, y) - plan.grey);
    }
    return {{light_of(luma + v * plan.red_v, plan.curve),
             light_of(luma + (u * plan.green_u + v * plan.green_v), plan.curve),
             light_of(luma + u * plan.blue_u, plan.curve)}};
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
// blockIdx.y, whose last bit is the picture. `light(picture, x, y)` is what there is at a place.
template <class F>
__device__ __forceinline__ void take_slab(const Ssimulacra2Plan& plan, int slab, F&& light) {
    const int picture = blockIdx.y % 2, x = 2 * (blockIdx.x * 32 + threadIdx.x);
    const int y = slab * kSlab + 2 * (blockIdx.y / 2 * 8 + threadIdx.y);
    if (x >= plan.width || y >= plan.height) return;
    Rgb four[2][2];
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
            four[i][j] = light(picture, min(x + j, plan.width - 1), min(y + i, plan.height - 1));
            if (x + j >= plan.width || y + i >= plan.height) continue;
            const Rgb colour = colour_of(four[i][j], plan.mix);
            for (int c = 0; c < 3; ++c)
                ring_row(plan.colour, 2 * kChannels, picture * kChannels + c, y + i, plan)[x + j] = colour.of[c];
        }
    if (plan.halved == nullptr) return;
    const int width = (plan.width + 1) / 2, height = (plan.height + 1) / 2;
    float* out = plan.halved + static_cast<i64>(blockIdx.z) * plan.frame_light + (y / 2) * width + x / 2;
    for (int c = 0; c < 3; ++c) {
        const float sum = ((four[0][0].of[c] + four[0][1].of[c]) + four[1][0].of[c]) + four[1][1].of[c];
        out[static_cast<i64>(picture * 3 + c) * width * height] = sum * 0.25f;
    }
}

template <class T>
__device__ __forceinline__ void take_samples(const Frame* frames, const Ssimulacra2Plan& plan, int slab) {
    const Frame& frame = frames[blockIdx.z];
    take_slab(plan, slab, [&](int picture, int x, int y) {
        return light_of<T>(picture == 0 ? frame.ref : frame.dis, plan, x, y);
    });
}

__device__ __forceinline__ void take_light(const Ssimulacra2Plan& plan, int slab) {
    const i64 area = static_cast<i64>(plan.width) * plan.height;
    const float* const in = plan.light + static_cast<i64>(blockIdx.z) * plan.frame_light;
    take_slab(plan, slab, [&](int picture, int x, int y) {
        const float* at = in + 3 * picture * area + static_cast<i64>(y) * plan.width + x;
        return Rgb{{at[0], at[area], at[2 * area]}};
    });
}
