#include "core/plain.h"
#include "integer_ssim/table.h"

namespace acuity::plain {

namespace {

struct Moments {
    std::int64_t ref, dis, ref_square, dis_square, product;

    void add(std::int64_t weight, const Moments& other) {
        ref += weight * other.ref;
        dis += weight * other.dis;
        ref_square += weight * other.ref_square;
        dis_square += weight * other.dis_square;
        product += weight * other.product;
    }
};

int weight(int distance) { return kSsimWeights[distance < 0 ? -distance : distance]; }

// Moments around every sample of a row.
void filter_across(const Plane& ref, const Plane& dis, int y, Moments* out) {
    const Row r(ref, y, ref.depth == 8), d(dis, y, ref.depth == 8);
    for (int x = 0; x < ref.width; ++x) {
        Moments sum = {};
        for (int at = std::max(0, x - kSsimReach); at <= std::min(ref.width - 1, x + kSsimReach); ++at) {
            const std::int64_t a = r[at], b = d[at];
            sum.add(weight(at - x), {a, b, a * a, b * b, a * b});
        }
        out[x] = sum;
    }
}

// The similarity of a window of that weight.
double similarity_of(const Moments& m, double window, const SsimStable& stable) {
    const double luminance = stable.luminance * window * window, contrast = stable.contrast * window * window;
    const auto ref = static_cast<double>(m.ref), dis = static_cast<double>(m.dis);
    const double ref_mean = ref * ref, dis_mean = dis * dis, both = ref * dis;
    const double covariance = static_cast<double>(m.product) * window - both;
    const double variances = static_cast<double>(m.ref_square) * window - ref_mean +
                             static_cast<double>(m.dis_square) * window - dis_mean;
    return window * (2 * both + luminance) * (contrast + 2 * covariance) /
           ((ref_mean + dis_mean + luminance) * (variances + contrast));
}

double similarity(const Plane& ref, const Plane& dis, void* scratch) {
    const int width = ref.width, height = ref.height;
    const SsimStable stable(ref.depth);
    auto* rows = static_cast<Moments*>(scratch);  // the last kSsimTaps rows
    auto* sums = reinterpret_cast<double*>(rows + kSsimTaps * width);
    std::fill_n(sums, width, 0.0);
    for (int y = 0; y < height + kSsimReach; ++y) {
        if (y < height) filter_across(ref, dis, y, rows + y % kSsimTaps * width);
        const int middle = y - kSsimReach;
        if (middle < 0) continue;
        const int down = ssim_weight(middle, height);
        for (int x = 0; x < width; ++x) {
            Moments sum = {};
            for (int at = std::max(0, middle - kSsimReach); at <= std::min(height - 1, y); ++at)
                sum.add(weight(at - middle), rows[at % kSsimTaps * width + x]);
            sums[x] += similarity_of(sum, static_cast<double>(ssim_weight(x, width) * down), stable);
        }
    }
    double sum = 0;
    for (int x = 0; x < width; ++x) sum += sums[x];
    return sum;
}

std::size_t scratch_bytes(int width) {
    return static_cast<std::size_t>(width) * (kSsimTaps * sizeof(Moments) + sizeof(double));
}

}  // namespace

extern const IntegerSsimKernels integer_ssim_kernels;
const IntegerSsimKernels integer_ssim_kernels = {.scratch_bytes = scratch_bytes, .similarity = similarity};

}  // namespace acuity::plain
