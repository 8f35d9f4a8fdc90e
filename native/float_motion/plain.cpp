// Motion in single precision, plain: blur both pictures and sum how they differ, row by row.
#include <cmath>

#include "core/plain.h"
#include "core/workspace.h"
#include "float_motion/table.h"

namespace acuity::plain {

namespace {

struct Memory {
    float *before, *now, *columns, *before_row, *now_row;
    std::size_t bytes;

    Memory(void* block, int width, int height) {
        Carver carver(block);
        const auto values = [&](int count) {
            return static_cast<float*>(carver.bytes(sizeof(float) * static_cast<std::size_t>(count)));
        };
        before = values(width * height);
        now = values(width * height);
        columns = values(width);
        before_row = values(width);
        now_row = values(width);
        bytes = carver.used();
    }
};

std::size_t scratch_bytes(int width, int height) { return Memory(nullptr, width, height).bytes; }

void blur_row(const float* in, int y, const FloatMotionPair& pair, float* columns, float* out) {
    const int width = pair.now.width, height = pair.now.height, half = pair.taps / 2;
    for (int x = 0; x < width; ++x) {
        float sum = 0;
        for (int k = 0; k < pair.taps; ++k) sum += pair.blur[k] * in[reflect(y - half + k, height) * width + x];
        columns[x] = sum;
    }
    for (int x = 0; x < width; ++x) {
        float sum = 0;
        for (int k = 0; k < pair.taps; ++k) sum += pair.blur[k] * columns[reflect(x - half + k, width)];
        out[x] = sum;
    }
}

float sad(const FloatMotionPair& pair, void* scratch) {
    const Memory m(scratch, pair.now.width, pair.now.height);
    convert(pair.before, m.before);
    convert(pair.now, m.now);
    float total = 0;
    for (int y = 0; y < pair.now.height; ++y) {
        blur_row(m.before, y, pair, m.columns, m.before_row);
        blur_row(m.now, y, pair, m.columns, m.now_row);
        float row = 0;
        for (int x = 0; x < pair.now.width; ++x) {
            row += std::fabs(m.before_row[x] - m.now_row[x]);
            if (pair.before_blurred == nullptr) continue;
            pair.before_blurred[pair.stride * y + x] = m.before_row[x];
            pair.now_blurred[pair.stride * y + x] = m.now_row[x];
        }
        total += row;
    }
    return total;
}

}  // namespace

extern const FloatMotionKernels float_motion_kernels;
const FloatMotionKernels float_motion_kernels = {.scratch_bytes = scratch_bytes, .sad = sad};

}  // namespace acuity::plain
