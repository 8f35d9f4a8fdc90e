// Row by row. Each row of the distorted picture meets three rows of taps and is kept with all three; the
// compiler vectorises along the row. Sums, which go one by one, are taken of several rows side by side.
#include <algorithm>
#include <utility>

#include "ansnr/table.h"
#include "simd/isa.h"

namespace acuity::ACUITY_ISA {

namespace {

constexpr int kKept = 5;    // rows of the distorted picture
constexpr int kBeside = 4;  // rows summed at a time

// The scratch memory's rows.
struct Rows {
    float* padded;              // a row of samples, with two columns before it
    std::int32_t* column_sums;  // of the reference, with one column before it
    float* tapped[kKept][3];    // by row modulo kKept, and the tap row's distance from the outermost
    float *signal[kBeside], *noise[kBeside];

    Rows(void* scratch, int width) {
        constexpr std::size_t kBefore = 16;
        auto* at = static_cast<float*>(scratch);
        const auto next = [&] { return std::exchange(at, at + ansnr_row(width)); };
        padded = next() + kBefore;
        column_sums = reinterpret_cast<std::int32_t*>(next()) + kBefore;
        for (auto& row : tapped)
            for (float*& taps : row) taps = next();
        for (float*& row : signal) row = next();
        for (float*& row : noise) row = next();
    }
};
static_assert(kAnsnrRows >= 2 + 3 * kKept + 2 * kBeside);

template <class Sample>
const Sample* row_of(const Plane& plane, int row) {
    return reinterpret_cast<const Sample*>(static_cast<const unsigned char*>(plane.data) + plane.stride * row);
}

template <class Number>
void mirror_ends(Number* row, int width, int reach) {
    for (int i = 1; i <= reach; ++i) {
        row[-i] = row[ansnr_mirror(-i, width)];
        row[width - 1 + i] = row[ansnr_mirror(width - 1 + i, width)];
    }
}

constexpr float tap(int i, int j) { return static_cast<float>(kAnsnrTaps[i][j]) / kAnsnrWhole; }

template <int I>
void tap_row(const float* __restrict in, float* __restrict out, int width) {
    for (int x = 0; x < width; ++x)
        out[x] = tap(I, 0) * in[x - 2] + tap(I, 1) * in[x - 1] + tap(I, 2) * in[x] + tap(I, 3) * in[x + 1] +
                 tap(I, 4) * in[x + 2];
}

template <class Sample>
void take_row(const Plane& dis, int y, const Rows& rows) {
    const Sample* __restrict from = row_of<Sample>(dis, y);
    float* __restrict padded = rows.padded;
    const float scale = 1.0f / static_cast<float>(1 << (dis.depth - 8));
    for (int x = 0; x < dis.width; ++x) padded[x] = static_cast<float>(std::int32_t{from[x]}) * scale - 128.0f;
    mirror_ends(padded, dis.width, 2);
    tap_row<0>(padded, rows.tapped[y % kKept][0], dis.width);
    tap_row<1>(padded, rows.tapped[y % kKept][1], dis.width);
    tap_row<2>(padded, rows.tapped[y % kKept][2], dis.width);
}

// Integers are exact here, as single precision is with this filter.
template <class Sample>
void add_columns(const Plane& ref, int y, std::int32_t* __restrict sums) {
    const Sample* above = row_of<Sample>(ref, ansnr_mirror(y - 1, ref.height));
    const Sample* at = row_of<Sample>(ref, y);
    const Sample* below = row_of<Sample>(ref, ansnr_mirror(y + 1, ref.height));
    for (int x = 0; x < ref.width; ++x) sums[x] = above[x] + 2 * at[x] + below[x];
    mirror_ends(sums, ref.width, 1);
}

// The squares of row y.
template <class Sample>
void square_row(const Plane& ref, int y, const Rows& rows, float* __restrict signal, float* __restrict noise) {
    const auto tapped = [&](int row, int tap) {
        return static_cast<const float*>(rows.tapped[ansnr_mirror(row, ref.height) % kKept][tap]);
    };
    const float *__restrict a = tapped(y - 2, 0), *__restrict b = tapped(y - 1, 1), *__restrict c = tapped(y, 2);
    const float *__restrict d = tapped(y + 1, 1), *__restrict e = tapped(y + 2, 0);
    const std::int32_t* __restrict v = rows.column_sums;
    const float scale = 1.0f / static_cast<float>(16 << (ref.depth - 8));
    for (int x = 0; x < ref.width; ++x) {
        const float value = static_cast<float>(v[x - 1] + 2 * v[x] + v[x + 1]) * scale - 128.0f;
        const float error = value - (a[x] + b[x] + c[x] + d[x] + e[x]);
        signal[x] = value * value;
        noise[x] = error * error;
    }
}

// The rows side by side: one after the other, each addition would wait for the one before it. Those past `count`
// are left from before and count for nothing.
void add_rows(const Rows& rows, int count, int width, AnsnrSums& out) {
    float signal[kBeside] = {}, noise[kBeside] = {};
    for (int x = 0; x < width; ++x)
        for (int row = 0; row < kBeside; ++row) {
            signal[row] += rows.signal[row][x];
            noise[row] += rows.noise[row][x];
        }
    for (int row = 0; row < count; ++row) {
        out.signal += signal[row];
        out.noise += noise[row];
    }
}

template <class Sample>
void sums_of(const Plane& ref, const Plane& dis, const Rows& rows, AnsnrSums& out) {
    const int width = ref.width, height = ref.height;
    int taken = 0;
    for (int first = 0; first < height; first += kBeside) {
        const int count = std::min(kBeside, height - first);
        for (int row = 0; row < count; ++row) {
            const int y = first + row;
            for (; taken <= std::min(y + 2, height - 1); ++taken) take_row<Sample>(dis, taken, rows);
            add_columns<Sample>(ref, y, rows.column_sums);
            square_row<Sample>(ref, y, rows, rows.signal[row], rows.noise[row]);
        }
        add_rows(rows, count, width, out);
    }
}

void sums(const Plane& ref, const Plane& dis, void* scratch, AnsnrSums& out) {
    const Rows rows(scratch, ref.width);
    out = {};
    if (ref.depth == 8)
        sums_of<std::uint8_t>(ref, dis, rows, out);
    else
        sums_of<std::uint16_t>(ref, dis, rows, out);
}

}  // namespace

extern const AnsnrKernels ansnr_kernels;
const AnsnrKernels ansnr_kernels = {.sums = sums};

}  // namespace acuity::ACUITY_ISA
