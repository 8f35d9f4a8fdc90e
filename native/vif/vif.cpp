#include "vif/vif.h"

#include <algorithm>
#include <array>

namespace acuity {

namespace {

struct Ratio {
    float num, den;
};
using Ratios = std::array<Ratio, kScales>;

// From the words of one scale.
Ratio ratio(const std::int64_t* words, std::size_t gain) {
    const auto [den_log, num_flat, den_flat] = std::array{words[0], words[1], words[2]};
    const double flat = static_cast<double>(den_flat);
    return {static_cast<float>(static_cast<double>(words[kVifSharedWords + gain]) / 2048.0 +
                               (flat - (static_cast<double>(num_flat) / 16384.0) / 65025.0)),
            static_cast<float>(static_cast<double>(den_log) / 2048.0 + flat)};
}

// Four scales, the whole, its numerator and denominator, then both of each scale. The scales divide in
// single precision, the whole in double.
void append_outputs(const Ratios& scales, bool skip_scale0, std::vector<double>& out) {
    double num = 0, den = 0;
    for (std::size_t s = 0; s < kScales; ++s) {
        const bool skipped = s == 0 && skip_scale0;
        out.push_back(skipped ? 0.0 : static_cast<double>(scales[s].num / scales[s].den));
        if (skipped) continue;
        num += static_cast<double>(scales[s].num);
        den += static_cast<double>(scales[s].den);
    }
    out.push_back(den == 0.0 ? 1.0 : num / den);
    out.push_back(num);
    out.push_back(den);
    for (std::size_t s = 0; s < kScales; ++s) {
        const bool skipped = s == 0 && skip_scale0;
        out.push_back(skipped ? 0.0 : static_cast<double>(scales[s].num));
        out.push_back(skipped ? -1.0 : static_cast<double>(scales[s].den));
    }
}

}  // namespace

std::vector<double> vif_outputs(const std::int64_t* words, std::size_t gains, bool skip_scale0) {
    std::vector<double> out;
    out.reserve(gains * Vif::kOutputs);
    for (std::size_t g = 0; g < gains; ++g) {
        Ratios scales;
        for (std::size_t s = 0; s < kScales; ++s) scales[s] = ratio(words + s * (kVifSharedWords + gains), g);
        append_outputs(scales, skip_scale0, out);
    }
    return out;
}

// Planes of scales 1 to 3 and the kernels' scratch.
struct Vif::Memory {
    Grid<std::uint16_t> ref[kScales - 1], dis[kScales - 1];
    void* scratch;
    std::size_t bytes;
};

Vif::Memory Vif::carve(Carver carver) const {
    Memory m;
    for (int s = 1; s < kScales; ++s) {
        m.ref[s - 1] = carver.grid<std::uint16_t>(width_ >> s, height_ >> s);
        m.dis[s - 1] = carver.grid<std::uint16_t>(width_ >> s, height_ >> s);
    }
    m.scratch = carver.bytes(kernels_.scratch_bytes(width_, height_));
    m.bytes = carver.used();
    return m;
}

Vif::Vif(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height, int depth,
         bool skip_scale0, std::vector<double> gains)
    : workspace_(std::move(workspace)), kernels_(*kernels.vif), width_(width), height_(height), depth_(depth),
      skip_scale0_(skip_scale0), gains_(std::move(gains)) {
    workspace_->reserve(carve(Carver(nullptr)).bytes);
}

std::vector<double> Vif::run(const Plane& ref, const Plane& dis) const {
    const Memory m = carve(Carver(workspace_->block()));
    std::vector<std::int64_t> words(vif_words(gains_.size()));
    VifLevel level = {ref, dis, 0};
    for (int s = 0; s < kScales; ++s) {
        if (s > 0) {
            const auto &ref_grid = m.ref[s - 1], &dis_grid = m.dis[s - 1];
            kernels_.decimate(level.ref, s - 1, m.scratch, ref_grid.data, ref_grid.stride_bytes());
            kernels_.decimate(level.dis, s - 1, m.scratch, dis_grid.data, dis_grid.stride_bytes());
            const int width = level.ref.width / 2, height = level.ref.height / 2;
            level = {{ref_grid.data, ref_grid.stride_bytes(), width, height, depth_},
                     {dis_grid.data, dis_grid.stride_bytes(), width, height, depth_},
                     s};
        }
        if (s == 0 && skip_scale0_) continue;
        for (std::size_t first = 0; first < gains_.size(); first += kMaxGains) {
            const std::size_t count = std::min<std::size_t>(kMaxGains, gains_.size() - first);
            VifSums sums;
            kernels_.statistic(level, &gains_[first], static_cast<int>(count), m.scratch, sums);
            std::int64_t* at = &words[static_cast<std::size_t>(s) * (kVifSharedWords + gains_.size())];
            at[0] = sums.den_log, at[1] = sums.num_flat, at[2] = sums.den_flat;
            std::copy_n(sums.num_log, count, at + kVifSharedWords + first);
        }
    }
    return vif_outputs(words.data(), gains_.size(), skip_scale0_);
}

}  // namespace acuity
