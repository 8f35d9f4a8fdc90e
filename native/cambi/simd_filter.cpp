// The compiler vectorises the simpler loops over columns.
#include <algorithm>

#include "cambi/simd_kernels.h"

namespace acuity::ACUITY_ISA {

namespace {

using Word = std::uint16_t;

constexpr Word kValue = static_cast<Word>(~kCambiBusy);

// The value that is there twice or three times, or else the smallest.
inline Word most_frequent(Word a, Word b, Word c) {
    const Word least = std::min(std::min(a, b), c);
    const Word of_two = b == c ? b : least;
    return ((a == b) | (a == c)) ? a : of_two;
}

void filter_across(const Word* __restrict in, Word* __restrict out, int width) {
    for (int x = 1; x < width - 1; ++x)
        out[x] = most_frequent(in[x - 1] & kValue, in[x] & kValue, in[x + 1] & kValue);
    out[0] = in[0] & kValue;
    out[width - 1] = in[width - 1] & kValue;
}

// The marks stay where they are.
void filter_down(const Word* a, const Word* b, const Word* c, const Word* in, Word* out, int width) {
#pragma GCC ivdep
    for (int x = 0; x < width; ++x)
        out[x] = static_cast<Word>(most_frequent(a[x], b[x], c[x]) | (in[x] & kCambiBusy));
}

void take_every_other(const Word* __restrict in, Word* __restrict out, int width) {
    for (int x = 0; x < width; ++x) out[x] = in[2 * x];
}

// The row is padded with samples that aren't counted.
void survey_row(const Word* row, int width, const CambiLevels& levels, CambiSurvey& out) {
    const U16 base = splat<U16>(levels.base), count = splat<U16>(levels.count);
    U16 lowest = splat<U16>(0xffff), above_highest{}, samples{};
    for (int x = 0; x < width; x += kLanes16) {
        const U16 level = load<U16>(row + x) - base;
        const U16 counted = as<U16>(level < count);
        samples -= counted;
        lowest = vmin(lowest, level);  // what isn't counted is larger than all that is
        above_highest = vmax(above_highest, (level + 1) & counted);
    }
    for (int i = 0; i < kLanes16; ++i) {
        if (samples[i] == 0) continue;
        out.samples += samples[i];
        out.lowest = std::min<int>(out.lowest, lowest[i]);
        out.highest = std::max<int>(out.highest, above_highest[i] - 1);
    }
}

}  // namespace

void cambi_filter(CambiPlane plane, int width, int height, int step, const CambiLevels& levels, void* scratch,
                  CambiSurvey& out) {
    Carver carver(scratch);
    Word *across[3], *taken[3];
    for (Word*& row : across) row = carver.grid<Word>(width, 1).data;
    for (Word*& row : taken) row = carver.grid<Word>(width, 1).data;
    const auto input = [&](int y) { return step == 1 ? plane.data + y * plane.stride : taken[y % 3]; };
    out = {0, levels.count, -1};

    const auto finish = [&](int y) {
        Word* row = plane.data + y * plane.stride;
        std::fill(row + width, row + plane.stride, kCambiBusy);
        survey_row(row, width, levels, out);
    };
    for (int y = 0; y < height; ++y) {
        if (step == 2) take_every_other(plane.data + 2 * y * plane.stride, taken[y % 3], width);
        filter_across(input(y), across[y % 3], width);
        if (y > 1) {
            Word* row = plane.data + (y - 1) * plane.stride;
            filter_down(across[0], across[1], across[2], input(y - 1), row, width);
            finish(y - 1);
        }
        if (y == 0 || y == height - 1) {  // stay as they are
            if (step == 2) std::copy_n(taken[y % 3], width, plane.data + y * plane.stride);
            finish(y);
        }
    }
}

}  // namespace acuity::ACUITY_ISA
