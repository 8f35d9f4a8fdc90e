// The compiler vectorises these: integer sums may be taken in any order.
#include <algorithm>
#include <cstdlib>

#include "simd/isa.h"
#include "xpsnr/table.h"

namespace acuity::ACUITY_ISA {

namespace {

template <class Sample>
const Sample* row(const Plane& plane, int y) {
    return reinterpret_cast<const Sample*>(static_cast<const unsigned char*>(plane.data) + plane.stride * y);
}

// Calls function.operator()<Sample>() for the picture's samples, which are bytes or words that count as signed.
template <class Function>
std::uint64_t by_sample(const Plane& plane, Function&& function) {
    return plane.depth == 8 ? function(std::uint8_t{}) : function(std::int16_t{});
}

constexpr int kRun = 1024;  // columns whose sum fits 32 bits, for all sums here

// Sum of sum_row(y, left, right) over every `step`-th row.
template <class SumRow>
std::uint64_t sum_rows(const XpsnrArea& area, int step, SumRow&& sum_row) {
    std::uint64_t sum = 0;
    for (int y = area.top; y < area.bottom; y += step)
        for (int x = area.left; x < area.right; x += kRun)
            sum += static_cast<std::uint32_t>(sum_row(y, x, std::min(area.right, x + kRun)));
    return sum;
}

std::uint32_t magnitude(int value) { return static_cast<std::uint32_t>(std::abs(value)); }

std::uint64_t texture(const Plane& plane, const XpsnrArea& area) {
    return by_sample(plane, [&]<class Sample>(Sample) {
        return sum_rows(area, 1, [&](int y, int left, int right) {
            const Sample *up = row<Sample>(plane, y - 1), *on = row<Sample>(plane, y);
            const Sample* down = row<Sample>(plane, y + 1);
            std::uint32_t sum = 0;
            for (int x = left; x < right; ++x)
                sum += magnitude(12 * on[x] - 2 * (on[x - 1] + on[x + 1] + up[x] + down[x]) -
                                 (up[x - 1] + up[x + 1] + down[x - 1] + down[x + 1]));
            return sum;
        });
    });
}

// The high-pass of squares is symmetric: rows 0 and 5, 1 and 4, 2 and 3 have the same weights.
template <class Sample>
std::uint32_t texture_of_squares(const Sample* const* rows, int left, int right) {
    const auto pair = [&](int j, int x) { return rows[j][x] + rows[5 - j][x]; };
    std::uint32_t sum = 0;
    for (int x = left; x < right; x += 2) {
        const int outer = pair(0, x - 1) + pair(0, x) + pair(0, x + 1) + pair(0, x + 2) + pair(1, x - 2) +
                          pair(1, x + 3) + pair(2, x - 2) + pair(2, x + 3);
        const int corners = pair(1, x - 1) + pair(1, x + 2);
        const int edges = pair(1, x) + pair(1, x + 1) + pair(2, x - 1) + pair(2, x + 2);
        const int middle = pair(2, x) + pair(2, x + 1);
        sum += magnitude(12 * middle - 3 * edges - 2 * corners - outer);
    }
    return sum;
}

std::uint64_t texture_halved(const Plane& plane, const XpsnrArea& area) {
    return by_sample(plane, [&]<class Sample>(Sample) {
        return sum_rows(area, 2, [&](int y, int left, int right) {
            const Sample* rows[6];
            for (int j = 0; j < 6; ++j) rows[j] = row<Sample>(plane, y + j - 2);
            return texture_of_squares(rows, left, right);
        });
    });
}

std::uint64_t change(const Plane& now, const Plane& before, const XpsnrArea& area) {
    return by_sample(now, [&]<class Sample>(Sample) {
        return sum_rows(area, 1, [&](int y, int left, int right) {
            const Sample *a = row<Sample>(now, y), *b = row<Sample>(before, y);
            std::uint32_t sum = 0;
            for (int x = left; x < right; ++x) sum += magnitude(a[x] - b[x]);
            return sum;
        });
    });
}

std::uint64_t bend(const Plane& now, const Plane& before, const Plane& earlier, const XpsnrArea& area) {
    return by_sample(now, [&]<class Sample>(Sample) {
        return sum_rows(area, 1, [&](int y, int left, int right) {
            const Sample *a = row<Sample>(now, y), *b = row<Sample>(before, y), *c = row<Sample>(earlier, y);
            std::uint32_t sum = 0;
            for (int x = left; x < right; ++x) sum += magnitude(a[x] - 2 * b[x] + c[x]);
            return sum;
        });
    });
}

// Two rows of a picture, summed in squares.
template <class Sample>
struct Squares {
    const Sample *first, *second;
    Squares(const Plane& plane, int y) : first(row<Sample>(plane, y)), second(row<Sample>(plane, y + 1)) {}
    int operator[](int x) const { return first[x] + first[x + 1] + second[x] + second[x + 1]; }
};

std::uint64_t change_halved(const Plane& now, const Plane& before, const XpsnrArea& area) {
    return by_sample(now, [&]<class Sample>(Sample) {
        return sum_rows(area, 2, [&](int y, int left, int right) {
            const Squares<Sample> a(now, y), b(before, y);
            std::uint32_t sum = 0;
            for (int x = left; x < right; x += 2) sum += magnitude(a[x] - b[x]);
            return sum;
        });
    });
}

std::uint64_t bend_halved(const Plane& now, const Plane& before, const Plane& earlier, const XpsnrArea& area) {
    return by_sample(now, [&]<class Sample>(Sample) {
        return sum_rows(area, 2, [&](int y, int left, int right) {
            const Squares<Sample> a(now, y), b(before, y), c(earlier, y);
            std::uint32_t sum = 0;
            for (int x = left; x < right; x += 2) sum += magnitude(a[x] - 2 * b[x] + c[x]);
            return sum;
        });
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

}  // namespace acuity::ACUITY_ISA
