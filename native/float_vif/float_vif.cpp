#include "float_vif/float_vif.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/dispatch.h"

namespace acuity {

namespace {

constexpr double kPi = 3.14159265358979323846;

// The factors that windows may be scaled by; the reference refuses others as well.
constexpr float kWindowScales[] = {1.0f,           1.0f / 2.0f,    3.0f / 2.0f, 2.0f,        2.0f / 3.0f, 24.0f / 10.0f,
                                   360.0f / 97.0f, 4.0f / 3.0f,    3.5f / 3.0f, 3.75f / 3.0f, 4.25f / 3.0f, 5.0f / 3.0f,
                                   3.0f,           1.0f / 2.25f,   1.4746f,     1.54f,       1.6f,        1.06667f,
                                   0.711111f,      0.740740f,      1.111111f};

void check_window_scale(float scale) {
    for (const float known : kWindowScales)
        if (static_cast<double>(std::fabs(scale - known)) < 1e-3) return;
    std::vector<float> sorted(std::begin(kWindowScales), std::end(kWindowScales));
    std::sort(sorted.begin(), sorted.end());
    const auto show = [](float value) {
        std::string text = std::to_string(value);
        text.erase(text.find_last_not_of('0') + 1);
        return text.back() == '.' ? text + "0" : text;
    };
    std::string list;
    for (const float known : sorted) list += (list.empty() ? "" : ", ") + show(known);
    throw UnsupportedOptions("float_vif: vif_kernelscale cannot be " + show(scale) + ": it must be one of " + list);
}

int window_taps(int scale, float window_scale) {
    const int taps = static_cast<int>(std::ceil(static_cast<float>((1 << (4 - scale)) + 1) * window_scale));
    return std::max(taps % 2 == 0 ? taps + 1 : taps, 3);
}

// A Gaussian that the reference takes partly in single precision.
std::vector<float> window(int taps) {
    std::vector<float> out;
    const float deviation = static_cast<float>(taps) / 5.0f;
    const double wide = static_cast<double>(deviation);
    float sum = 0;
    for (int i = 0; i < taps; ++i) {
        const double x = i - (taps - 1) / 2;
        const auto num = static_cast<float>(std::exp(-0.5 * x / wide * x / wide));
        const auto den = static_cast<float>(1 / (wide * std::sqrt(2 * kPi)));
        out.push_back(num / den);
        sum += out.back();
    }
    for (float& tap : out) tap /= sum;
    return out;
}

// Four scales, the whole, its numerator and denominator, then both of each scale; all in double precision.
void append_outputs(const std::array<FloatVifSums, kScales>& scales, std::size_t gain, bool skip_scale0,
                    std::vector<double>& out) {
    const auto num = [&](std::size_t s) { return static_cast<double>(scales[s].num[gain]); };
    const auto den = [&](std::size_t s) { return static_cast<double>(scales[s].den); };
    double whole_num = 0, whole_den = 0;
    for (std::size_t s = 0; s < kScales; ++s) {
        const bool skipped = s == 0 && skip_scale0;
        out.push_back(skipped ? 0.0 : num(s) / den(s));
        if (skipped) continue;
        whole_num += num(s);
        whole_den += den(s);
    }
    out.push_back(whole_den == 0.0 ? 1.0 : whole_num / whole_den);
    out.push_back(whole_num);
    out.push_back(whole_den);
    for (std::size_t s = 0; s < kScales; ++s) {
        const bool skipped = s == 0 && skip_scale0;
        out.push_back(skipped ? 0.0 : num(s));
        out.push_back(skipped ? -1.0 : den(s));
    }
}

int resized(int size, double scale) { return static_cast<int>(size * scale + 0.5); }

}  // namespace

FloatVifNoise::FloatVifNoise(double v)
    : variance(v), flat_below(static_cast<float>(v)),
      flat_slope(static_cast<float>(static_cast<double>(std::pow(static_cast<float>(v), 2.0f)) / (255.0 * 255.0))),
      inverse(0.0f) {
    if (static_cast<double>(flat_below) < v)
        flat_below = std::nextafter(flat_below, std::numeric_limits<float>::infinity());
    int exponent;
    if (std::frexp(v, &exponent) == 0.5) inverse = static_cast<float>(1.0 / v);
}

FloatVifWindows::FloatVifWindows(double scale) {
    check_window_scale(static_cast<float>(scale));
    for (int s = 0; s < kScales; ++s) at[s] = window(window_taps(s, static_cast<float>(scale)));
}

int FloatVifWindows::smallest() const {
    int size = 1;
    for (int s = 0; s < kScales; ++s)
        size = std::max(size, (static_cast<int>(at[s].size()) / 2 + 1) << s);
    return size;
}

// The resized pictures, those of scales 1 to 3, and the kernels' scratch.
struct FloatVif::Memory {
    Grid<float> ref[kScales], dis[kScales];
    void* scratch;
    std::size_t bytes;
};

FloatVif::Memory FloatVif::carve(Carver carver) const {
    Memory m;
    for (int s = resampling_ ? 0 : 1; s < kScales; ++s) {
        m.ref[s] = carver.grid<float>(scaled_width_ >> s, scaled_height_ >> s);
        m.dis[s] = carver.grid<float>(scaled_width_ >> s, scaled_height_ >> s);
    }
    std::size_t most = 0;
    for (int s = 0; s < kScales; ++s)
        most = std::max(most, kernels_.scratch_bytes(scaled_width_ >> s, scaled_height_ >> s,
                                                     static_cast<int>(windows_.at[s].size())));
    if (resampling_) most = std::max(most, kernels_.resample_bytes(width_, height_, scaled_width_));
    m.scratch = carver.bytes(most);
    m.bytes = carver.used();
    return m;
}

FloatVif::FloatVif(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height,
                   const FloatVifOptions& o, std::vector<double> gains)
    : workspace_(std::move(workspace)), kernels_(*kernels.float_vif), width_(width), height_(height),
      scaled_width_(resized(width, o.size_scale)), scaled_height_(resized(height, o.size_scale)),
      skip_scale0_(o.skip_scale0), windows_(o.window_scale), noise_(o.noise_variance) {
    for (const double gain : gains) gains_.push_back(static_cast<float>(gain));
    const Resampling::Method method = resampling_method(o.resampling);
    const int smallest = windows_.smallest();
    if (scaled_width_ < smallest || scaled_height_ < smallest)
        throw UnsupportedOptions("float_vif needs pictures of at least " + std::to_string(smallest) + "x" +
                                 std::to_string(smallest) + " samples with these options, and these are " +
                                 std::to_string(scaled_width_) + "x" + std::to_string(scaled_height_));
    if (scaled_width_ != width || scaled_height_ != height)
        resampling_.emplace(method, width, height, scaled_width_, scaled_height_);
    workspace_->reserve(carve(Carver(nullptr)).bytes);
}

FloatVifSums FloatVif::sums(FloatVifScale& scale, int s, const Memory& m, const float* gains, int n_gains) const {
    const bool last = s + 1 == kScales;
    scale.window = windows_.at[s].data();
    scale.taps = static_cast<int>(windows_.at[s].size());
    scale.statistic = s > 0 || !skip_scale0_;
    scale.low_pass = last ? nullptr : windows_.at[s + 1].data();
    scale.low_pass_taps = last ? 0 : static_cast<int>(windows_.at[s + 1].size());
    scale.ref_low = last ? nullptr : m.ref[s + 1].data;
    scale.dis_low = last ? nullptr : m.dis[s + 1].data;
    scale.low_stride = last ? 0 : m.ref[s + 1].stride;
    FloatVifSums found;
    kernels_.scale(scale, noise_, gains, n_gains, m.scratch, found);
    if (!last) {
        const int width = scale.ref.width / 2, height = scale.ref.height / 2;
        scale.ref = FloatPicture::of(scale.ref_low, scale.low_stride, width, height);
        scale.dis = FloatPicture::of(scale.dis_low, scale.low_stride, width, height);
    }
    return found;
}

std::vector<double> FloatVif::run(const Plane& ref, const Plane& dis) const {
    const Memory m = carve(Carver(workspace_->block()));
    FloatVifScale first{};
    first.ref = FloatPicture::of(ref);
    first.dis = FloatPicture::of(dis);
    if (resampling_) {
        kernels_.resample(first.ref, *resampling_, m.scratch, m.ref[0].data, m.ref[0].stride);
        kernels_.resample(first.dis, *resampling_, m.scratch, m.dis[0].data, m.dis[0].stride);
        first.ref = FloatPicture::of(m.ref[0].data, m.ref[0].stride, scaled_width_, scaled_height_);
        first.dis = FloatPicture::of(m.dis[0].data, m.dis[0].stride, scaled_width_, scaled_height_);
    }
    std::vector<double> out;
    out.reserve(gains_.size() * kOutputs);
    for (std::size_t at = 0; at < gains_.size(); at += kMaxGains) {
        const std::size_t count = std::min<std::size_t>(kMaxGains, gains_.size() - at);
        std::array<FloatVifSums, kScales> found;
        FloatVifScale scale = first;
        for (int s = 0; s < kScales; ++s)
            found[static_cast<std::size_t>(s)] = sums(scale, s, m, &gains_[at], static_cast<int>(count));
        for (std::size_t g = 0; g < count; ++g) append_outputs(found, g, skip_scale0_, out);
    }
    return out;
}

}  // namespace acuity
