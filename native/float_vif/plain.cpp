// VIF in single precision, plain: the terms of each place, summed row by row.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/plain.h"
#include "core/workspace.h"
#include "float_vif/resampling.h"
#include "float_vif/table.h"

namespace acuity::plain {

namespace {

// The pictures in single precision, and rows to filter in.
struct Memory {
    float *ref, *dis, *columns, *moments[5];
    std::size_t bytes;

    Memory(void* block, int width, int height) {
        Carver carver(block);
        const auto values = [&](int count) {
            return static_cast<float*>(carver.bytes(sizeof(float) * static_cast<std::size_t>(count)));
        };
        ref = values(width * height);
        dis = values(width * height);
        columns = values(width);
        for (float*& row : moments) row = values(width);
        bytes = carver.used();
    }
};

std::size_t scratch_bytes(int width, int height, int) { return Memory(nullptr, width, height).bytes; }

// Filters the product of two pictures down and across, for one row; a null picture is 1 everywhere.
void filter_row(const float* a, const float* b, int y, int width, int height, const float* taps, int count,
                float* columns, float* out) {
    for (int x = 0; x < width; ++x) {
        float sum = 0;
        for (int k = 0; k < count; ++k) {
            const int at = reflect(y - count / 2 + k, height) * width + x;
            sum += taps[k] * (b == nullptr ? a[at] : a[at] * b[at]);
        }
        columns[x] = sum;
    }
    for (int x = 0; x < width; ++x) {
        float sum = 0;
        for (int k = 0; k < count; ++k) sum += taps[k] * columns[reflect(x - count / 2 + k, width)];
        out[x] = sum;
    }
}

// log2 by a polynomial of the fraction.
float log2_of(float x) {
    constexpr float kPolynomial[] = {-0.012671635276421f, 0.064841182402670f, -0.157048836463065f,
                                     0.257167726303123f,  -0.353800560300520f, 0.480131410397451f,
                                     -0.721314327952201f, 1.442694803896991f,  0.0f};
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    const std::uint32_t one_to_two = (bits & 0x007FFFFFu) | 0x3F800000u;
    float fraction;
    std::memcpy(&fraction, &one_to_two, sizeof fraction);
    float sum = 0;
    for (const float c : kPolynomial) sum = sum * (fraction - 1.0f) + c;
    return static_cast<float>(static_cast<int>((bits & 0x7F800000u) >> 23) - 127) + sum;
}

// log2(1 + a / b), the quotient in double precision.
float log2_ratio(float a, double b) { return log2_of(static_cast<float>(1.0 + static_cast<double>(a) / b)); }

// One place's terms: num by gain limit, then den.
void add_place(const Memory& m, int x, const FloatVifNoise& noise, const float* gains, int n_gains, FloatVifSums& row) {
    constexpr float kEpsilon = 1.0e-10f;
    const float mu1 = m.moments[0][x], mu2 = m.moments[1][x];
    float ref = std::max(0.0f, m.moments[2][x] - mu1 * mu1);
    const float dis = std::max(0.0f, m.moments[3][x] - mu2 * mu2);
    const float both = m.moments[4][x] - mu1 * mu2;
    float gain = both / (ref + kEpsilon), rest = dis - gain * both;
    if (ref < kEpsilon) {
        gain = 0;
        rest = dis;
        ref = 0;
    }
    if (dis < kEpsilon) {
        gain = 0;
        rest = 0;
    }
    if (gain < 0) {
        rest = dis;
        gain = 0;
    }
    rest = std::max(rest, kEpsilon);
    const bool flat = static_cast<double>(ref) < noise.variance;
    for (int i = 0; i < n_gains; ++i) {
        const float limited = std::min(gain, gains[i]);
        const float log = log2_ratio(limited * limited * ref, static_cast<double>(rest) + noise.variance);
        row.num[i] += flat ? 1.0f - dis * noise.flat_slope : (both < 0 ? 0.0f : log);
    }
    row.den += flat ? 1.0f : log2_ratio(ref, noise.variance);
}

void sum_scale(const FloatVifScale& s, const Memory& m, const FloatVifNoise& noise, const float* gains, int n_gains,
               FloatVifSums& out) {
    const int width = s.ref.width, height = s.ref.height;
    for (int y = 0; y < height; ++y) {
        const float* const factors[5][2] = {
            {m.ref, nullptr}, {m.dis, nullptr}, {m.ref, m.ref}, {m.dis, m.dis}, {m.ref, m.dis}};
        for (int i = 0; i < 5; ++i)
            filter_row(factors[i][0], factors[i][1], y, width, height, s.window, s.taps, m.columns, m.moments[i]);
        FloatVifSums row{};
        for (int x = 0; x < width; ++x) add_place(m, x, noise, gains, n_gains, row);
        for (int i = 0; i < n_gains; ++i) out.num[i] += row.num[i];
        out.den += row.den;
    }
}

void halve(const FloatVifScale& s, const Memory& m, const float* in, float* out) {
    for (int y = 0; y < s.ref.height / 2; ++y) {
        filter_row(in, nullptr, 2 * y, s.ref.width, s.ref.height, s.low_pass, s.low_pass_taps, m.columns, m.moments[0]);
        for (int x = 0; x < s.ref.width / 2; ++x) out[y * s.low_stride + x] = m.moments[0][2 * x];
    }
}

void scale(const FloatVifScale& s, const FloatVifNoise& noise, const float* gains, int n_gains, void* scratch,
           FloatVifSums& out) {
    const Memory m(scratch, s.ref.width, s.ref.height);
    convert(s.ref, m.ref);
    convert(s.dis, m.dis);
    out = {};
    if (s.statistic) sum_scale(s, m, noise, gains, n_gains, out);
    if (s.low_pass_taps == 0) return;
    halve(s, m, m.ref, s.ref_low);
    halve(s, m, m.dis, s.dis_low);
}

std::size_t resample_bytes(int width, int height, int) {
    return sizeof(float) * static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
}

void resample(const FloatPicture& in, const Resampling& to, void* scratch, float* out, std::ptrdiff_t out_stride) {
    auto* old = static_cast<float*>(scratch);
    convert(in, old);
    for (int y = 0; y < to.y.size; ++y) {
        for (int x = 0; x < to.x.size; ++x) {
            float sum = 0, weights = 0;
            for (int v = 0; v < to.y.taps; ++v) {
                for (int h = 0; h < to.x.taps; ++h) {
                    const auto row = static_cast<std::size_t>(v * to.y.size + y);
                    const auto column = static_cast<std::size_t>(h * to.x.size + x);
                    const float weight = to.x.weight[column] * to.y.weight[row];
                    weights += weight;
                    sum += old[to.y.index[row] * in.width + to.x.index[column]] * weight;
                }
            }
            out[y * out_stride + x] = to.normalise ? sum / weights : sum;
        }
    }
}

}  // namespace

extern const FloatVifKernels float_vif_kernels;
const FloatVifKernels float_vif_kernels = {
    .scratch_bytes = scratch_bytes, .scale = scale, .resample_bytes = resample_bytes, .resample = resample};

}  // namespace acuity::plain
