#include <cstdlib>

#include "core/plain.h"
#include "xpsnr/table.h"

namespace acuity::plain {

namespace {

// A sample as the filter sees it: words are signed.
int at(const Plane& plane, int x, int y) {
    const std::uint32_t sample = Row(plane, y, plane.depth == 8)[x];
    return plane.depth == 8 ? static_cast<int>(sample) : static_cast<std::int16_t>(sample);
}

int square(const Plane& plane, int x, int y) {
    return at(plane, x, y) + at(plane, x + 1, y) + at(plane, x, y + 1) + at(plane, x + 1, y + 1);
}

// Sum of |value(x, y)| over every `step`-th column and row of the area.
template <class Value>
std::uint64_t sum_over(const XpsnrArea& area, int step, Value&& value) {
    std::uint64_t sum = 0;
    for (int y = area.top; y < area.bottom; y += step)
        for (int x = area.left; x < area.right; x += step) sum += static_cast<std::uint64_t>(std::abs(value(x, y)));
    return sum;
}

std::uint64_t texture(const Plane& plane, const XpsnrArea& area) {
    constexpr int weights[3][3] = {{-1, -2, -1}, {-2, 12, -2}, {-1, -2, -1}};
    return sum_over(area, 1, [&](int x, int y) {
        int sum = 0;
        for (int j = 0; j < 3; ++j)
            for (int i = 0; i < 3; ++i) sum += weights[j][i] * at(plane, x + i - 1, y + j - 1);
        return sum;
    });
}

std::uint64_t texture_halved(const Plane& plane, const XpsnrArea& area) {
    constexpr int weights[6][6] = {{0, -1, -1, -1, -1, 0},   {-1, -2, -3, -3, -2, -1}, {-1, -3, 12, 12, -3, -1},
                                   {-1, -3, 12, 12, -3, -1}, {-1, -2, -3, -3, -2, -1}, {0, -1, -1, -1, -1, 0}};
    return sum_over(area, 2, [&](int x, int y) {
        int sum = 0;
        for (int j = 0; j < 6; ++j)
            for (int i = 0; i < 6; ++i)
                if (weights[j][i] != 0) sum += weights[j][i] * at(plane, x + i - 2, y + j - 2);
        return sum;
    });
}

std::uint64_t change(const Plane& now, const Plane& before, const XpsnrArea& area) {
    return sum_over(area, 1, [&](int x, int y) { return at(now, x, y) - at(before, x, y); });
}

std::uint64_t bend(const Plane& now, const Plane& before, const Plane& earlier, const XpsnrArea& area) {
    return sum_over(area, 1, [&](int x, int y) { return at(now, x, y) - 2 * at(before, x, y) + at(earlier, x, y); });
}

std::uint64_t change_halved(const Plane& now, const Plane& before, const XpsnrArea& area) {
    return sum_over(area, 2, [&](int x, int y) { return square(now, x, y) - square(before, x, y); });
}

std::uint64_t bend_halved(const Plane& now, const Plane& before, const Plane& earlier, const XpsnrArea& area) {
    return sum_over(area, 2, [&](int x, int y) {
        return square(now, x, y) - 2 * square(before, x, y) + square(earlier, x, y);
    });
}

}  // namespace

extern const XpsnrKernels xpsnr_kernels;
const XpsnrKernels xpsnr_kernels = {.texture = texture,
                                    .texture_halved = texture_halved,
                                    .change = change,
                                    .bend = bend,
                                    .change_halved = change_halved,
                                    .bend_halved = bend_halved};

}  // namespace acuity::plain
