#include "core/plain.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "cambi/table.h"

namespace acuity::plain {

namespace {

// One sample in 10 bits.
std::uint16_t sample(const CambiSource& s, int x, int y) {
    const Row row(s.in, s.rows == nullptr ? y : s.rows[y], s.in.depth == 8);
    const std::uint32_t value = row[s.columns == nullptr ? x : s.columns[x]];
    if (s.in.depth <= 10) return static_cast<std::uint16_t>(value << (10 - s.in.depth));
    return static_cast<std::uint16_t>((value + (1u << (s.in.depth - 11))) >> (s.in.depth - 10));
}

// The same, averaged with its right and lower neighbours where they are wanted and there.
std::uint16_t smoothed(const CambiSource& s, int x, int y) {
    if (!s.smooth) return sample(s, x, y);
    const bool right = x + 1 < s.width, below = y + 1 < s.height;
    int sum = sample(s, x, y);
    if (right) sum += sample(s, x + 1, y);
    if (below) sum += sample(s, x, y + 1);
    if (right && below) sum += sample(s, x + 1, y + 1);
    return static_cast<std::uint16_t>(sum >> (right + below));
}

void flatten(const CambiSource& s, void* scratch, CambiPlane out) {
    const std::ptrdiff_t stride = s.width;
    constexpr int kRows = 2 * kCambiFlatRadius + 2;
    auto* values = static_cast<std::uint16_t*>(scratch);  // kRows rows, then as many of `same`
    std::uint16_t* same = values + kRows * stride;
    const auto at = [&](std::uint16_t* rows, int y) { return rows + y % kRows * stride; };
    const int step = s.halve ? 2 : 1;

    for (int x = 0; x < s.width; ++x) at(values, 0)[x] = smoothed(s, x, 0);
    for (int y = 0; y < s.height + kCambiFlatRadius; ++y) {
        if (y < s.height) {
            const bool last = y + 1 == s.height;
            for (int x = 0; x < s.width && !last; ++x) at(values, y + 1)[x] = smoothed(s, x, y + 1);
            const std::uint16_t *row = at(values, y), *below = at(values, last ? y : y + 1);
            for (int x = 0; x < s.width; ++x)
                at(same, y)[x] = row[x] == row[std::min(x + 1, s.width - 1)] && row[x] == below[x];
        }
        const int centre = y - kCambiFlatRadius;
        if (centre < 0 || centre % step != 0) continue;
        std::uint16_t* to = out.data + centre / step * out.stride;
        std::fill(to, to + out.stride, kCambiBusy);
        for (int x = 0; x < s.width; x += step) {
            int count = 0;
            for (int j = std::max(0, centre - kCambiFlatRadius); j <= std::min(y, s.height - 1); ++j)
                for (int i = std::max(0, x - kCambiFlatRadius); i <= std::min(x + kCambiFlatRadius, s.width - 1); ++i)
                    count += at(same, j)[i];
            to[x / step] = static_cast<std::uint16_t>(at(values, centre)[x] | (count > s.flat ? 0 : kCambiBusy));
        }
    }
}

// The value that is there twice or three times, or else the smallest.
std::uint16_t most_frequent(std::uint16_t a, std::uint16_t b, std::uint16_t c) {
    if (a == b || a == c) return a;
    return b == c ? b : std::min({a, b, c});
}

void filter(CambiPlane plane, int width, int height, int step, const CambiLevels& levels, void* scratch,
            CambiSurvey& out) {
    auto* across = static_cast<std::uint16_t*>(scratch);  // three rows filtered across
    const auto row = [&](int y) { return plane.data + y * plane.stride; };
    const auto filtered = [&](int y) { return across + y % 3 * width; };
    out = {0, levels.count, -1};
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) row(y)[x] = row(y * step)[x * step];
        std::fill(row(y) + width, row(y) + plane.stride, kCambiBusy);
    }
    const auto value = [&](int x, int y) { return static_cast<std::uint16_t>(row(y)[x] & ~kCambiBusy); };
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            const bool edge = x == 0 || x + 1 == width;
            filtered(y)[x] = edge ? value(x, y) : most_frequent(value(x - 1, y), value(x, y), value(x + 1, y));
        }
        for (int x = 0; x < width && y > 1; ++x) {
            const std::uint16_t found = most_frequent(filtered(y - 2)[x], filtered(y - 1)[x], filtered(y)[x]);
            row(y - 1)[x] = static_cast<std::uint16_t>((row(y - 1)[x] & kCambiBusy) | found);
        }
    }
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            const int level = row(y)[x] - levels.base;
            if (level < 0 || level >= levels.count) continue;
            ++out.samples;
            out.lowest = std::min(out.lowest, level);
            out.highest = std::max(out.highest, level);
        }
    }
}

// How many samples of each value a column has within the rows of the window.
class Columns {
  public:
    Columns(const CambiScale& scale, void* memory) : scale_(scale), counts_(static_cast<std::uint16_t*>(memory)) {
        std::fill_n(counts_, std::size_t(scale.width) * std::size_t(scale.levels.count), std::uint16_t{0});
    }

    void add_row(int y, int sign) {
        if (y < 0 || y >= scale_.height) return;
        for (int x = 0; x < scale_.width; ++x) {
            const int level = scale_.plane.data[y * scale_.plane.stride + x] - scale_.levels.base;
            if (level >= 0 && level < scale_.levels.count) *at(level, x) += static_cast<std::uint16_t>(sign);
        }
    }

    // In the window around column x.
    int count(int level, int x) const {
        if (level < 0 || level >= scale_.levels.count) return 0;
        int sum = 0;
        for (int i = std::max(0, x - scale_.radius); i <= std::min(x + scale_.radius, scale_.width - 1); ++i)
            sum += *at(level, i);
        return sum;
    }

  private:
    std::uint16_t* at(int level, int x) const { return counts_ + std::ptrdiff_t(level) * scale_.width + x; }

    const CambiScale& scale_;
    std::uint16_t* counts_;
};

std::uint64_t in_units(float contrast) { return static_cast<std::uint64_t>(std::ldexp(contrast, 24)); }

float contrast_of(const Columns& columns, const CambiLevels& levels, int level, int x) {
    const int here = columns.count(level, x);
    float largest = 0;
    for (int d = levels.first[level]; d < levels.steps; ++d) {
        const int there = std::max(columns.count(level + d + 1, x), columns.count(level - d - 1, x));
        // Weighed counts below 2^24 are exact, larger ones are rounded once.
        const float product = levels.weights[d] * static_cast<float>(here * there);
        largest = std::max(largest, product * levels.inverse[here + there]);
    }
    return largest;
}

void contrast(const CambiScale& scale, void* scratch, CambiContrasts& out) {
    const CambiLevels& levels = scale.levels;
    Columns columns(scale, scratch);
    out.sum = 0;
    out.listed = 0;
    for (int y = 0; y < scale.radius; ++y) columns.add_row(y, 1);
    for (int y = 0; y < scale.height; ++y) {
        columns.add_row(y + scale.radius, 1);
        columns.add_row(y - scale.radius - 1, -1);
        for (int x = 0; x < scale.width; ++x) {
            const int level = scale.plane.data[y * scale.plane.stride + x] - levels.base;
            if (level < 0 || level >= levels.count) continue;
            const float found = contrast_of(columns, levels, level, x);
            if (found == 0) continue;
            out.sum += in_units(found);
            if (out.list != nullptr) out.list[out.listed++] = std::bit_cast<std::uint32_t>(found);
            if (out.map.data != nullptr) out.map.data[y * out.map.stride + x] = found;
        }
    }
}

unsigned __int128 largest(std::uint32_t* list, std::int64_t listed, std::int64_t count, std::uint32_t*) {
    std::uint32_t* end = list + std::min(count, listed);
    std::nth_element(list, end, list + listed, std::greater<>());  // positive floats are ordered as their bits are
    unsigned __int128 sum = 0;
    std::for_each(list, end, [&](std::uint32_t bits) { sum += in_units(std::bit_cast<float>(bits)); });
    return sum;
}

}  // namespace

extern const CambiKernels cambi_kernels;
const CambiKernels cambi_kernels = {
    .flatten = flatten, .filter = filter, .contrast = contrast, .largest = largest};

}  // namespace acuity::plain
