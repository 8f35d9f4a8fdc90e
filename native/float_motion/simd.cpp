// Motion with registers, the same sum as plain.cpp: eight rows at a time are blurred down, then across.
#include <algorithm>

#include "float_motion/table.h"
#include "simd/float_rows.h"

namespace acuity::ACUITY_ISA {

namespace float_motion {

constexpr int kBlock = 8;  // rows blurred together
constexpr int kKept = kFloatMotionTaps + 2 * kBlock;

struct Memory {
    float* rings[2];             // of the picture before, and of the one now
    float* columns[2][kBlock];   // blurred down, with room for the blur's half before and after them
    float* differences[kBlock];
    std::size_t bytes;

    Memory(void* block, int width) {
        Carver carver(block);
        const std::size_t room = row_room(width) + 2 * kLanes32;
        const auto row = [&] {
            auto* p = static_cast<float*>(carver.bytes(room * sizeof(float)));
            return p == nullptr ? nullptr : p + kLanes32;
        };
        for (float*& ring : rings) ring = static_cast<float*>(carver.bytes(FloatRows::bytes(width, kKept)));
        for (auto& picture : columns)
            for (float*& p : picture) p = row();
        for (float*& p : differences) p = row();
        bytes = carver.used();
    }
};

template <int Taps, class At>
[[gnu::always_inline]] inline F32 blur(const float* taps, At&& at) {
    F32 sum = taps[0] * at(0);
    for (int k = 1; k < Taps; ++k) sum += taps[k] * at(k);
    return sum;
}

// Blurs the rows from `first` on down.
template <int Taps>
void blur_down(FloatRows& in, int first, int width, int height, const float* taps, float* const (&out)[kBlock]) {
    const float* rows[Taps + kBlock - 1];
    for (int k = 0; k < Taps + kBlock - 1; ++k)
        rows[k] = in.at(reflect(std::min(first - Taps / 2 + k, height - 1 + Taps / 2), height));
    for (int x = 0; x < width; x += kLanes32) {
        F32 values[Taps + kBlock - 1];
        for (int k = 0; k < Taps + kBlock - 1; ++k) values[k] = load<F32>(rows[k] + x);
        for (int q = 0; q < kBlock; ++q) store(out[q] + x, blur<Taps>(taps, [&](int k) { return values[q + k]; }));
    }
    for (float* row : out) mirror_edges(row, Taps / 2, true, true, width);
}

// Blurs a row of both pictures across and keeps how they differ.
template <int Taps>
void compare_row(const float* before, const float* now, int width, const float* taps, float* before_out,
                 float* now_out, float* differences) {
    for (int x = 0; x < width; x += kLanes32) {
        const auto across = [&](const float* row) {
            return blur<Taps>(taps, [&](int k) { return load<F32>(row + x - Taps / 2 + k); });
        };
        const F32 a = across(before), b = across(now);
        if (before_out != nullptr) {
            store(before_out + x, a);
            store(now_out + x, b);
        }
        store(differences + x, as<F32>(as<I32>(a - b) & 0x7FFFFFFF));
    }
}

template <int Taps>
float sum(const FloatMotionPair& pair, void* scratch) {
    const int width = pair.now.width, height = pair.now.height;
    const Memory m(scratch, width);
    FloatRows before(pair.before, m.rings[0], kKept), now(pair.now, m.rings[1], kKept);
    float total = 0;
    for (int y = 0; y < height; y += kBlock) {
        blur_down<Taps>(before, y, width, height, pair.blur, m.columns[0]);
        blur_down<Taps>(now, y, width, height, pair.blur, m.columns[1]);
        const int rows = std::min(kBlock, height - y);
        const float* differences[kBlock];
        for (int q = 0; q < kBlock; ++q) {
            differences[q] = m.differences[std::min(q, rows - 1)];
            if (q >= rows) continue;
            const std::ptrdiff_t at = pair.stride * (y + q);
            const bool kept = pair.before_blurred != nullptr;
            compare_row<Taps>(m.columns[0][q], m.columns[1][q], width, pair.blur,
                              kept ? pair.before_blurred + at : nullptr, kept ? pair.now_blurred + at : nullptr,
                              m.differences[q]);
        }
        float sums[kBlock];
        sum_rows(differences, 0, width, sums);
        for (int q = 0; q < rows; ++q) total += sums[q];
    }
    return total;
}

float sad(const FloatMotionPair& pair, void* scratch) {
    return (pair.taps == 1 ? sum<1> : pair.taps == 3 ? sum<3> : sum<5>)(pair, scratch);
}

std::size_t scratch_bytes(int width, int) { return Memory(nullptr, width).bytes; }

}  // namespace float_motion

extern const FloatMotionKernels float_motion_kernels;
const FloatMotionKernels float_motion_kernels = {.scratch_bytes = float_motion::scratch_bytes,
                                                 .sad = float_motion::sad};

}  // namespace acuity::ACUITY_ISA
