// Strips of columns, from top to bottom. A row's sum with a row of weights serves the results above and below
// it alike, so each is taken once and kept until its last result.
#include <cstdlib>

#include "ssim/simd.h"

namespace acuity::ACUITY_ISA {

namespace {

constexpr int kStrip = 128;                                 // results of a row
constexpr int kSpan = whole_registers(kStrip + kLowReach);  // even or odd samples they need
constexpr int kAhead = 6;                                   // rows

struct Strip {
    alignas(kAlign) float even[kSpan], odd[kSpan];
    alignas(kAlign) float products[kLowReach + 1][kSpan];  // by distance across
    // A ring of rows; of each, its sums with the weights of distances 0, 2, 4 or 1, 3 down.
    alignas(kAlign) double sums[kLowTaps][kLowReach / 2 + 1][kStrip];
};

// Even and odd samples of a row, from kLowReach columns before that of result `first`.
template <class Sample>
void load_row(const Plane& plane, int y, int first, int results, Strip& strip) {
    const Sample* row = row_of<Sample>(plane, reflect_edge(y, plane.height));
    const float scale = unit(plane.depth);
    const int pairs = results + kLowReach, start = 2 * first - kLowReach;
    const int inside = std::max(0, -start / 2), end = std::min(pairs, (plane.width - start) / 2);
    for (int i = inside; i < end; ++i) {
        strip.even[i] = static_cast<float>(row[start + 2 * i]) * scale;
        strip.odd[i] = static_cast<float>(row[start + 2 * i + 1]) * scale;
    }
    const auto over_the_edge = [&](int i) {
        strip.even[i] = static_cast<float>(row[reflect_edge(start + 2 * i, plane.width)]) * scale;
        strip.odd[i] = static_cast<float>(row[reflect_edge(start + 2 * i + 1, plane.width)]) * scale;
    };
    for (int i = 0; i < inside; ++i) over_the_edge(i);
    for (int i = end; i < pairs; ++i) over_the_edge(i);
}

// The sums of the row with the weights `down` rows from the middle.
void sum_row(Strip& strip, int down, int results, double* out) {
    for (int across = 0; across <= kLowReach; ++across)
        weigh(across % 2 == 0 ? strip.even : strip.odd, results + kLowReach, kLowPass[down][across],
              strip.products[across]);
    for (int x = 0; x < results; x += kLanes64) {
        F64 sum = widen(strip.products[kLowReach] + x);
        unroll<kLowTaps - 1>([&](auto k) {
            constexpr int tap = k + 1;
            sum += widen(strip.products[tap < kLowReach ? kLowReach - tap : tap - kLowReach] + x + tap / 2);
        });
        store(out + x, sum);
    }
}

// Result row `y` from the rows around 2 y, which are in the ring.
void sum_rows(const Strip& strip, int y, int results, float* out) {
    const double* rows[kLowTaps];
    for (int k = 0; k < kLowTaps; ++k)
        rows[k] = strip.sums[(2 * y + k) % kLowTaps][std::abs(k - kLowReach) / 2];
    for (int x = 0; x < results; x += kLanes64) {
        F64 sum = load<F64>(rows[0] + x);
        unroll<kLowTaps - 1>([&](auto k) { sum += load<F64>(rows[k + 1] + x); });
        float part[kLanes64];
        store(part, narrow(sum));
        std::memcpy(out + x, part, static_cast<std::size_t>(std::min(kLanes64, results - x)) * sizeof(float));
    }
}

template <class Sample>
void halve_strip(Strip& strip, const Plane& in, int first, int results, float* out, std::ptrdiff_t out_stride) {
    std::fill_n(strip.even, kSpan, 0.0f);
    std::fill_n(strip.odd, kSpan, 0.0f);
    const int height = shrunk(in.height, 2);
    const int start = std::max(0, 2 * first - kLowReach);
    const int samples = std::min(2 * results + 2 * kLowReach, in.width - start);
    for (int y = -kLowReach; y <= 2 * (height - 1) + kLowReach; ++y) {
        load_row<Sample>(in, y, first, results, strip);
        if (y + kAhead >= 0) prefetch_row<Sample>(in, y + kAhead, start, samples);
        auto& sums = strip.sums[(y + kLowReach) % kLowTaps];
        for (int down = y & 1; down <= kLowReach; down += 2) sum_row(strip, down, results, sums[down / 2]);
        const int done = y - kLowReach;
        if (done >= 0 && done % 2 == 0) sum_rows(strip, done / 2, results, out + done / 2 * out_stride + first);
    }
}

}  // namespace

std::size_t halve_scratch_bytes() { return sizeof(Strip); }

void halve(const Plane& in, void* scratch, float* out, std::ptrdiff_t out_stride) {
    auto& strip = *static_cast<Strip*>(scratch);
    const int width = shrunk(in.width, 2);
    with_sample_type(in, [&]<class Sample>(const Sample*) {
        for (int first = 0; first < width; first += kStrip)
            halve_strip<Sample>(strip, in, first, std::min(kStrip, width - first), out, out_stride);
    });
}

}  // namespace acuity::ACUITY_ISA
