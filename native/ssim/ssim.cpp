#include "ssim/ssim.h"

#include <cmath>

namespace acuity {

namespace {

// The exponents of each scale's terms; luminance counts at the coarsest scale alone.
constexpr float kLuminanceExponent = 0.1333f;
constexpr float kExponents[MsSsim::kScales] = {0.0448f, 0.2856f, 0.3001f, 0.2363f, 0.1333f};

SsimMeans means(const SsimSums& sums, int width, int height) {
    const double places = static_cast<double>(width - kWindow + 1) * (height - kWindow + 1);
    const auto mean = [places](double sum) { return static_cast<float>(sum / places); };
    return {mean(sums.luminance), mean(sums.contrast), mean(sums.structure), mean(sums.ssim)};
}

Plane plane(const Grid<float>& grid, int width, int height) {
    return {grid.data, grid.stride_bytes(), width, height, kSingle};
}

}  // namespace

struct Ssim::Memory {
    Grid<float> ref, dis;
    void* scratch;
    std::size_t bytes;
};

Ssim::Memory Ssim::carve(Carver carver) const {
    Memory m;
    if (factor_ > 1) {
        m.ref = carver.grid<float>(shrunk_width_, shrunk_height_);
        m.dis = carver.grid<float>(shrunk_width_, shrunk_height_);
    }
    m.scratch = carver.bytes(kernels_.scratch_bytes(width_));
    m.bytes = carver.used();
    return m;
}

Ssim::Ssim(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height, int factor)
    : workspace_(std::move(workspace)), kernels_(*kernels.ssim), width_(width), factor_(factor),
      shrunk_width_(factor > 1 ? shrunk(width, factor) : width),
      shrunk_height_(factor > 1 ? shrunk(height, factor) : height) {
    workspace_->reserve(carve(Carver(nullptr)).bytes);
}

SsimMeans Ssim::run(const Plane& ref, const Plane& dis) const {
    const Memory m = carve(Carver(workspace_->block()));
    SsimSums sums;
    if (factor_ == 1) {
        kernels_.statistic(ref, dis, m.scratch, sums);
        return outputs(sums);
    }
    kernels_.shrink(ref, factor_, m.scratch, m.ref.data, m.ref.stride);
    kernels_.shrink(dis, factor_, m.scratch, m.dis.data, m.dis.stride);
    kernels_.statistic(plane(m.ref, shrunk_width_, shrunk_height_), plane(m.dis, shrunk_width_, shrunk_height_),
                       m.scratch, sums);
    return outputs(sums);
}

SsimMeans Ssim::outputs(const SsimSums& sums) const { return means(sums, shrunk_width_, shrunk_height_); }

// Two pictures of each side: a scale's and the next one's, in turns.
struct MsSsim::Memory {
    Grid<float> ref[2], dis[2];
    void* scratch;
    std::size_t bytes;
};

MsSsim::Memory MsSsim::carve(Carver carver) const {
    Memory m;
    int width = width_, height = height_;
    for (int i = 0; i < 2; ++i) {
        width = shrunk(width, 2);
        height = shrunk(height, 2);
        m.ref[i] = carver.grid<float>(width, height);
        m.dis[i] = carver.grid<float>(width, height);
    }
    m.scratch = carver.bytes(kernels_.scratch_bytes(width_));
    m.bytes = carver.used();
    return m;
}

MsSsim::MsSsim(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height)
    : workspace_(std::move(workspace)), kernels_(*kernels.ssim), width_(width), height_(height) {
    workspace_->reserve(carve(Carver(nullptr)).bytes);
}

std::vector<double> MsSsim::run(const Plane& ref, const Plane& dis) const {
    const Memory m = carve(Carver(workspace_->block()));
    SsimSums sums[kScales];
    Plane fine = ref, other = dis;
    for (int s = 0; s < kScales; ++s) {
        if (s > 0) {
            const auto &to = m.ref[(s - 1) % 2], &other_to = m.dis[(s - 1) % 2];
            kernels_.halve(fine, m.scratch, to.data, to.stride);
            kernels_.halve(other, m.scratch, other_to.data, other_to.stride);
            const int width = shrunk(fine.width, 2), height = shrunk(fine.height, 2);
            fine = plane(to, width, height);
            other = plane(other_to, width, height);
        }
        kernels_.statistic(fine, other, m.scratch, sums[s]);
    }
    return outputs(sums);
}

std::vector<double> MsSsim::outputs(const SsimSums (&sums)[kScales]) const {
    std::vector<double> out(1 + 3 * kScales);
    double figure = 1.0;
    int width = width_, height = height_;
    for (int s = 0; s < kScales; ++s) {
        if (s > 0) {
            width = shrunk(width, 2);
            height = shrunk(height, 2);
        }
        const SsimMeans mean = means(sums[s], width, height);
        const double luminance = mean.luminance, contrast = mean.contrast, structure = mean.structure;
        const double exponent = kExponents[s];
        // No real number where the structure is opposite on the whole; the figure is none then either.
        figure *= (s + 1 == kScales ? std::pow(luminance, static_cast<double>(kLuminanceExponent)) : 1.0) *
                  std::pow(contrast, exponent) * std::pow(structure, exponent);
        const auto at = out.begin() + 1 + s;
        at[0] = luminance;
        at[kScales] = contrast;
        at[2 * kScales] = structure;
    }
    out[0] = figure;
    return out;
}

}  // namespace acuity
