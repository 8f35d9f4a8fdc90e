#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "ssim/table.h"

namespace acuity::plain {

namespace {

float sample(const Plane& plane, int x, int y) {
    const char* row = static_cast<const char*>(plane.data) + plane.stride * y;
    if (plane.depth == kSingle) return reinterpret_cast<const float*>(row)[x];
    if (plane.depth == 8) return static_cast<float>(static_cast<unsigned char>(row[x]));
    return static_cast<float>(reinterpret_cast<const std::uint16_t*>(row)[x]) * unit(plane.depth);
}

float weight(int tap) { return kGaussian[std::abs(tap - kReach)]; }

float moment(int which, float ref, float dis) {
    const float of[kMoments] = {ref, dis, ref * ref, dis * dis, ref * dis};
    return of[which];
}

// A row of each moment, filtered from left to right.
void filter_across(const Plane& ref, const Plane& dis, int y, float* const rows[kMoments]) {
    for (int m = 0; m < kMoments; ++m) {
        for (int x = 0; x + kWindow <= ref.width; ++x) {
            double sum = 0;
            for (int k = 0; k < kWindow; ++k)
                sum += static_cast<double>(moment(m, sample(ref, x + k, y), sample(dis, x + k, y)) * weight(k));
            rows[m][x] = static_cast<float>(sum);
        }
    }
}

// The terms of one place, added to its column's sums.
void add_place(const float (&of)[kMoments], SsimSums& out) {
    const float mean = of[kRefMean], other = of[kDisMean];
    const float variance = std::max(0.0f, of[kRefSquare] - mean * mean);
    const float other_variance = std::max(0.0f, of[kDisSquare] - other * other);
    const float covariance = of[kProduct] - mean * other;
    const float deviations = std::sqrt(variance * other_variance);
    const double luminance = (2.0 * mean * other + kStableLuminance) /
                             static_cast<double>(mean * mean + other * other + kStableLuminance);
    const double contrast =
        (2.0 * deviations + kStableContrast) / static_cast<double>(variance + other_variance + kStableContrast);
    // Where nothing varies, a negative covariance is but a rounding error.
    const float shared = covariance < 0.0f && deviations <= 0.0f ? 0.0f : covariance;
    const double structure = (shared + kStableStructure) / (deviations + kStableStructure);
    out.luminance += luminance;
    out.contrast += contrast;
    out.structure += structure;
    out.ssim += luminance * contrast * structure;
}

void statistic(const Plane& ref, const Plane& dis, void* scratch, SsimSums& out) {
    const int columns = ref.width - kWindow + 1;
    auto* sums = static_cast<SsimSums*>(scratch);
    std::fill_n(sums, columns, SsimSums{});
    auto* filtered = reinterpret_cast<float*>(sums + columns);  // the last kWindow rows of each moment
    const auto row = [&](int y, int m) { return filtered + ((y % kWindow) * kMoments + m) * columns; };
    for (int y = 0; y < ref.height; ++y) {
        float* const rows[kMoments] = {row(y, 0), row(y, 1), row(y, 2), row(y, 3), row(y, 4)};
        filter_across(ref, dis, y, rows);
        if (y + 1 < kWindow) continue;
        for (int x = 0; x < columns; ++x) {
            float of[kMoments];
            for (int m = 0; m < kMoments; ++m) {
                double sum = 0;
                for (int k = 0; k < kWindow; ++k)
                    sum += static_cast<double>(row(y - kWindow + 1 + k, m)[x] * weight(k));
                of[m] = static_cast<float>(sum);
            }
            add_place(of, sums[x]);
        }
    }
    out = {};
    for (int x = 0; x < columns; ++x) {
        out.luminance += sums[x].luminance;
        out.contrast += sums[x].contrast;
        out.structure += sums[x].structure;
        out.ssim += sums[x].ssim;
    }
}

void halve(const Plane& in, void*, float* out, std::ptrdiff_t out_stride) {
    for (int y = 0; y < shrunk(in.height, 2); ++y) {
        for (int x = 0; x < shrunk(in.width, 2); ++x) {
            double sum = 0;  // of sums of rows, which several results share
            for (int v = -kLowReach; v <= kLowReach; ++v) {
                double row = 0;
                for (int u = -kLowReach; u <= kLowReach; ++u)
                    row += static_cast<double>(
                        sample(in, reflect_edge(2 * x + u, in.width), reflect_edge(2 * y + v, in.height)) *
                        kLowPass[std::abs(v)][std::abs(u)]);
                sum += row;
            }
            out[y * out_stride + x] = static_cast<float>(sum);
        }
    }
}

void shrink(const Plane& in, int factor, void*, float* out, std::ptrdiff_t out_stride) {
    const float share = 1.0f / static_cast<float>(factor * factor);
    for (int y = 0; y < shrunk(in.height, factor); ++y) {
        for (int x = 0; x < shrunk(in.width, factor); ++x) {
            double sum = 0;  // of sums of columns; exact, like these, up to factors beyond the options'
            for (int u = 0; u < factor; ++u) {
                double column = 0;
                for (int v = 0; v < factor; ++v)
                    column += static_cast<double>(sample(in, reflect_edge(x * factor - factor / 2 + u, in.width),
                                                         reflect_edge(y * factor - factor / 2 + v, in.height)) *
                                                  share);
                sum += column;
            }
            out[y * out_stride + x] = static_cast<float>(sum);
        }
    }
}

std::size_t scratch_bytes(int width) {
    return static_cast<std::size_t>(width) * (sizeof(SsimSums) + kWindow * kMoments * sizeof(float));
}

}  // namespace

extern const SsimKernels ssim_kernels;
const SsimKernels ssim_kernels = {
    .scratch_bytes = scratch_bytes, .statistic = statistic, .halve = halve, .shrink = shrink};

}  // namespace acuity::plain
