// Pictures of another size, row by row. The compiler vectorises: every new sample is a sum of its own.
#pragma once

#include "float_vif/resampling.h"
#include "simd/float_rows.h"

namespace acuity::ACUITY_ISA::float_vif {

struct ResampleMemory {
    float *rows, *sums, *weights;
    std::size_t bytes;

    ResampleMemory(void* block, int width, int height, int out_width) {
        Carver carver(block);
        rows = static_cast<float*>(carver.bytes(FloatRows::bytes(width, height)));
        sums = static_cast<float*>(carver.bytes(row_room(out_width) * sizeof(float)));
        weights = static_cast<float*>(carver.bytes(row_room(out_width) * sizeof(float)));
        bytes = carver.used();
    }
};

// Adds one tap of one old row to a new row.
inline void add_tap(const float* __restrict row, const std::int32_t* __restrict index, const float* __restrict weight,
                    float row_weight, int size, float* __restrict sums, float* __restrict weights) {
    for (int x = 0; x < size; ++x) {
        const float w = weight[x] * row_weight;
        weights[x] += w;
        sums[x] += row[index[x]] * w;
    }
}

inline std::size_t resample_bytes(int width, int height, int out_width) {
    return ResampleMemory(nullptr, width, height, out_width).bytes;
}

inline void resample(const FloatPicture& in, const Resampling& to, void* scratch, float* out,
                     std::ptrdiff_t out_stride) {
    const ResampleMemory m(scratch, in.width, in.height, to.x.size);
    FloatRows rows(in, m.rows, in.height);
    const int width = to.x.size;
    for (int y = 0; y < to.y.size; ++y, out += out_stride) {
        for (int x = 0; x < width; ++x) m.sums[x] = m.weights[x] = 0.0f;
        for (int v = 0; v < to.y.taps; ++v) {
            const int at = v * to.y.size + y;
            const float* row = rows.at(to.y.index[static_cast<std::size_t>(at)]);
            const float row_weight = to.y.weight[static_cast<std::size_t>(at)];
            for (int h = 0; h < to.x.taps; ++h)
                add_tap(row, to.x.index.data() + h * width, to.x.weight.data() + h * width, row_weight, width, m.sums,
                        m.weights);
        }
        for (int x = 0; x < width; ++x) out[x] = to.normalise ? m.sums[x] / m.weights[x] : m.sums[x];
    }
}

}  // namespace acuity::ACUITY_ISA::float_vif
