// Strips of columns, from top to bottom in blocks of as many rows as the window has: a block's moments are
// filtered across, then down. On the way down each value meets the windows of that many results, whose sums
// wait in as many registers, and its product with a weight serves two of them.
#include "ssim/simd.h"

namespace acuity::ACUITY_ISA {

namespace {

constexpr int kStrip = 96;                                   // places of a row
constexpr int kSpan = whole_registers(kStrip + kWindow - 1);  // samples they need
constexpr int kAhead = 4;                                     // rows

struct Strip {
    alignas(kAlign) float row[kMoments][kSpan];
    alignas(kAlign) float products[2][kReach + 1][kSpan];     // of a row with each weight, by distance
    alignas(kAlign) float block[kWindow][kMoments][kStrip];   // moments filtered across, then down as well
    alignas(kAlign) double begun[kMoments][kWindow][kStrip];  // sums of results that windows end below
    alignas(kAlign) double sums[4][kStrip];                   // of each column, in the order of SsimSums
};

template <class Sample>
void load_row(const Plane& plane, int y, int first, int count, float* out) {
    const Sample* row = row_of<Sample>(plane, y) + first;
    const float scale = unit(plane.depth);
    for (int x = 0; x < count; ++x) out[x] = static_cast<float>(row[x]) * scale;
}

void multiply(const float* a, const float* b, int count, float* out) {
    for (int x = 0; x < count; x += kLanes32) store(out + x, load<F32>(a + x) * load<F32>(b + x));
}

void weigh_row(const float* in, int places, float (&products)[kReach + 1][kSpan]) {
    for (int d = 0; d <= kReach; ++d) weigh(in, places + kWindow - 1, kGaussian[d], products[d]);
}

void filter_across(const float (&products)[kReach + 1][kSpan], int places, float* out) {
    for (int x = 0; x < places; x += kLanes64) {
        F64 sum = widen(products[kReach] + x);
        unroll<kWindow - 1>([&](auto k) {
            constexpr int tap = k + 1;
            sum += widen(products[tap < kReach ? kReach - tap : tap - kReach] + x + tap);
        });
        store(out + x, narrow(sum));
    }
}

template <class Sample>
void push_row(Strip& strip, const Plane& ref, const Plane& dis, int y, int first, int places) {
    const int samples = places + kWindow - 1;
    auto& row = strip.row;
    load_row<Sample>(ref, y, first, samples, row[kRefMean]);
    load_row<Sample>(dis, y, first, samples, row[kDisMean]);
    prefetch_row<Sample>(ref, y + kAhead, first, samples);
    prefetch_row<Sample>(dis, y + kAhead, first, samples);
    multiply(row[kRefMean], row[kRefMean], samples, row[kRefSquare]);
    multiply(row[kDisMean], row[kDisMean], samples, row[kDisSquare]);
    multiply(row[kRefMean], row[kDisMean], samples, row[kProduct]);
    // A moment's products are made while those of the one before are summed: what was just written can't be
    // read at once in other pieces.
    weigh_row(row[0], places, strip.products[0]);
    for (int m = 0; m < kMoments; ++m) {
        if (m + 1 < kMoments) weigh_row(row[m + 1], places, strip.products[(m + 1) % 2]);
        filter_across(strip.products[m % 2], places, strip.block[y % kWindow][m]);
    }
}

// Filters a moment of the block's rows down, in place: each row becomes the result whose window it ends.
void filter_down(Strip& strip, int moment, int rows, int places) {
    for (int x = 0; x < places; x += kLanes64) {
        F64 sums[kWindow];
        unroll<kWindow>([&](auto i) { sums[i] = load<F64>(strip.begun[moment][i] + x); });
        unroll<kWindow>([&](auto r) {
            if (r >= rows) return;
            float* const at = strip.block[r][moment] + x;
            const F32h value = load<F32h>(at);
            F64 products[kReach + 1];
            unroll<kReach + 1>([&](auto d) { products[d] = widen(value * kGaussian[d]); });
            // It is the first row of one result's window, and the tap-th of the result begun so many rows before.
            sums[r] = products[kReach];
            unroll<kWindow - 1>([&](auto k) {
                constexpr int tap = k + 1;
                sums[(r - tap + kWindow) % kWindow] += products[tap < kReach ? kReach - tap : tap - kReach];
            });
            store(at, narrow(sums[(r + 1) % kWindow]));
        });
        unroll<kWindow>([&](auto i) { store(strip.begun[moment][i] + x, sums[i]); });
    }
}

// The terms of some places, added to their columns' sums; the arithmetic is plain.cpp's.
inline void add_places(const F32h (&of)[kMoments], int x, double (&sums)[4][kStrip]) {
    const F32h zero = {};
    const F32h mean = of[kRefMean], other = of[kDisMean];
    const F32h variance = vmax(of[kRefSquare] - mean * mean, zero);
    const F32h other_variance = vmax(of[kDisSquare] - other * other, zero);
    const F32h covariance = of[kProduct] - mean * other;
    const F32h deviations = root(variance * other_variance);
    const F64 luminance = (2.0 * widen(mean) * widen(other) + static_cast<double>(kStableLuminance)) /
                          widen(mean * mean + other * other + kStableLuminance);
    const F64 contrast = (2.0 * widen(deviations) + static_cast<double>(kStableContrast)) /
                         widen(variance + other_variance + kStableContrast);
    const auto noise = (covariance < zero) & (deviations <= zero);
    const F32h shared = noise ? zero : covariance;
    const F64 structure = widen((shared + kStableStructure) / (deviations + kStableStructure));
    const F64 terms[4] = {luminance, contrast, structure, luminance * contrast * structure};
    unroll<4>([&](auto t) { store(sums[t] + x, load<F64>(sums[t] + x) + terms[t]); });
}

void add_row(Strip& strip, int y, int places) {
    const auto& row = strip.block[y % kWindow];
    for (int x = 0; x < places; x += kLanes64) {
        F32h of[kMoments];
        unroll<kMoments>([&](auto m) { of[m] = load<F32h>(row[m] + x); });
        add_places(of, x, strip.sums);
    }
}

template <class Sample>
void add_strip(Strip& strip, const Plane& ref, const Plane& dis, int first, int places, SsimSums& out) {
    // Registers are whole also where the last strip ends.
    std::memset(strip.row, 0, sizeof strip.row);
    std::memset(strip.begun, 0, sizeof strip.begun);
    std::memset(strip.sums, 0, sizeof strip.sums);
    for (int top = 0; top < ref.height; top += kWindow) {
        const int rows = std::min(kWindow, ref.height - top);
        for (int y = top; y < top + rows; ++y) push_row<Sample>(strip, ref, dis, y, first, places);
        for (int m = 0; m < kMoments; ++m) filter_down(strip, m, rows, places);
        for (int y = std::max(top, kWindow - 1); y < top + rows; ++y) add_row(strip, y, places);
    }
    for (int x = 0; x < places; ++x) {
        out.luminance += strip.sums[0][x];
        out.contrast += strip.sums[1][x];
        out.structure += strip.sums[2][x];
        out.ssim += strip.sums[3][x];
    }
}

void statistic(const Plane& ref, const Plane& dis, void* scratch, SsimSums& out) {
    auto& strip = *static_cast<Strip*>(scratch);
    const int columns = ref.width - kWindow + 1;
    out = {};
    with_sample_type(ref, [&]<class Sample>(const Sample*) {
        for (int first = 0; first < columns; first += kStrip)
            add_strip<Sample>(strip, ref, dis, first, std::min(kStrip, columns - first), out);
    });
}

std::size_t scratch_bytes(int width) {
    return std::max({sizeof(Strip), halve_scratch_bytes(), shrink_scratch_bytes(width)});
}

}  // namespace

extern const SsimKernels ssim_kernels;
const SsimKernels ssim_kernels = {
    .scratch_bytes = scratch_bytes, .statistic = statistic, .halve = halve, .shrink = shrink};

}  // namespace acuity::ACUITY_ISA
