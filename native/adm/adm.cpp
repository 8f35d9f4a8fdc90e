#include "adm/adm.h"

#include <algorithm>
#include <cmath>

#include "adm/plan.h"

namespace acuity {

namespace {

// Cube roots are single precision in the reference.
float cube_root(double x) { return std::pow(static_cast<float>(x), 1.0f / 3.0f); }

struct Bands {
    int width, height;
    AdmShifts shifts;

    explicit Bands(const AdmScale& s)
        : width((s.width + 1) / 2), height((s.height + 1) / 2), shifts(adm_shifts(s.scale, width, height)) {}
    int area() const { return adm_inner(width).size() * adm_inner(height).size(); }
};

// Contrast energy of the reference: cube roots of each band's sum, plus the noise floor.
float denominator(const AdmScale& s, const CsfFactors& csf, const std::uint64_t* sums, double noise_weight) {
    static constexpr int kFraction[kScales] = {18, 32, 27, 23};  // bits the unshifted sums are scaled by
    const Bands bands(s);
    const double unit = std::ldexp(1.0, kFraction[s.scale] - bands.shifts.den_row - bands.shifts.den_cube);
    const float noise = cube_root(bands.area() * noise_weight);
    float roots[3];
    for (int b = 0; b < 3; ++b) {
        const double factor = static_cast<double>(b == 2 ? csf.diagonal : csf.straight);
        roots[b] = cube_root(static_cast<double>(sums[b]) / unit * std::pow(factor, 3)) + noise;
    }
    return roots[0] + roots[1] + roots[2];
}

// The same of a masked picture. Scale 0 divides in double precision, the others in single.
float numerator(const AdmScale& s, const std::uint64_t* sums, double noise_weight) {
    static constexpr int kFraction[kScales][3] = {{52, 52, 57}, {45, 45, 45}, {39, 39, 39}, {36, 36, 36}};
    const Bands bands(s);
    const float noise = cube_root(bands.area() * noise_weight);
    float roots[3];
    for (int b = 0; b < 3; ++b) {
        const double unit = std::ldexp(1.0, kFraction[s.scale][b] - bands.shifts.cube[b] - bands.shifts.row);
        const auto sum = static_cast<std::int64_t>(sums[b]);
        const float energy = s.scale == 0 ? static_cast<float>(static_cast<double>(sum) / unit)
                                          : static_cast<float>(sum) / static_cast<float>(unit);
        roots[b] = cube_root(energy) + noise;
    }
    return roots[0] + roots[1] + roots[2];
}

}  // namespace

// Low-pass bands of two scales in turn, and the kernels' scratch.
struct Adm::Memory {
    Grid<std::int32_t> ref[2], dis[2];
    void* scratch;
    std::size_t bytes;
};

Adm::Memory Adm::carve(Carver carver) const {
    Memory m;
    for (int i = 0; i < 2; ++i) {
        const AdmScale& s = scales_[i].kernel;
        m.ref[i] = carver.grid<std::int32_t>((s.width + 1) / 2, (s.height + 1) / 2);
        m.dis[i] = carver.grid<std::int32_t>((s.width + 1) / 2, (s.height + 1) / 2);
    }
    m.scratch = carver.bytes(kernels_.scratch_bytes(width_, height_));
    m.bytes = carver.used();
    return m;
}

Adm::Adm(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height, int depth,
         const CsfOptions& csf, bool skip_scale0, bool aim, std::vector<Setting> settings)
    : workspace_(std::move(workspace)), kernels_(*kernels.adm), width_(width), height_(height), skip_scale0_(skip_scale0),
      aim_(aim), settings_(std::move(settings)) {
    for (const Setting& s : settings_)
        if (std::find(gains_.begin(), gains_.end(), s.gain_limit) == gains_.end()) gains_.push_back(s.gain_limit);
    for (int s = 0; s < kScales; ++s) {
        scales_[s].kernel = {s, width, height, depth, {}, {}, 0, s > 0 || !skip_scale0, aim};
        scales_[s].csf = csf_factors(csf, s);
        fixed_point_factors(csf, s, scales_[s].kernel.rfactor);
        width = (width + 1) / 2;
        height = (height + 1) / 2;
    }
    workspace_->reserve(carve(Carver(nullptr)).bytes);
}

void Adm::sum(const Plane& ref, const Plane& dis, const Memory& m, const double* gains, int n_gains,
              Sums& out) const {
    AdmInput in = {ref, dis, nullptr, nullptr, 0};
    for (int s = 0; s < kScales; ++s) {
        AdmScale scale = scales_[s].kernel;
        scale.n_gains = n_gains;
        std::copy_n(gains, n_gains, scale.gains);
        const auto &ref_low = m.ref[s % 2], &dis_low = m.dis[s % 2];
        const std::ptrdiff_t stride = s == 0 ? 2 * ref_low.stride : ref_low.stride;  // of words at scale 0
        kernels_.scale(scale, in, m.scratch, {ref_low.data, dis_low.data, stride}, out[static_cast<std::size_t>(s)]);
        in.ref_low = ref_low.data;
        in.dis_low = dis_low.data;
        in.low_stride = stride;
    }
}

// The whole, the additive impairment, four scales, then numerator and denominator of the whole and of
// each scale.
void Adm::append_outputs(const std::uint64_t* sums, std::size_t gain, double noise_weight,
                         std::vector<double>& out) const {
    double num = 0, den = 0, aim = 0;
    double scale_num[kScales], scale_den[kScales];
    for (std::size_t s = 0; s < kScales; ++s) {
        const auto& [kernel, csf] = scales_[s];
        if (kernel.bands) {
            const std::uint64_t* here = sums + s * sums_a_scale();
            const std::uint64_t* masked = here + 3 + (aim_ ? 6 : 3) * gain;
            scale_num[s] = static_cast<double>(numerator(kernel, masked, noise_weight));
            scale_den[s] = static_cast<double>(denominator(kernel, csf, here, noise_weight));
            if (aim_) aim += static_cast<double>(numerator(kernel, masked + 3, 0.0));
        } else {
            scale_num[s] = 0.0;
            scale_den[s] = static_cast<double>(1e-10f);  // so that a skipped scale divides to 0
        }
        num += scale_num[s];
        den += scale_den[s];
    }
    const double limit = 1e-10 * (width_ * height_) / (1920.0 * 1080.0);
    num = num < limit ? 0 : num;
    den = den < limit ? 0 : den;
    out.push_back(den == 0.0 ? 1.0 : num / den);
    out.push_back(den == 0.0 ? 0.0 : aim / den);
    for (int s = 0; s < kScales; ++s) out.push_back(scale_num[s] / scale_den[s]);
    out.push_back(num);
    out.push_back(den);
    for (int s = 0; s < kScales; ++s) {
        out.push_back(scale_num[s]);
        out.push_back(scale_den[s]);
    }
}

std::vector<double> Adm::outputs(const std::vector<std::uint64_t>& sums) const {
    std::vector<double> out;
    out.reserve(settings_.size() * kOutputs);
    for (const Setting& s : settings_) {
        const auto found = std::find(gains_.begin(), gains_.end(), s.gain_limit);
        append_outputs(sums.data(), static_cast<std::size_t>(found - gains_.begin()), s.noise_weight, out);
    }
    return out;
}

std::vector<double> Adm::run(const Plane& ref, const Plane& dis) const {
    const Memory m = carve(Carver(workspace_->block()));
    std::vector<std::uint64_t> sums(kScales * sums_a_scale());
    for (std::size_t first = 0; first < gains_.size(); first += kMaxGains) {
        const std::size_t count = std::min<std::size_t>(kMaxGains, gains_.size() - first);
        Sums pass;
        sum(ref, dis, m, &gains_[first], static_cast<int>(count), pass);
        for (std::size_t s = 0; s < kScales; ++s) {
            std::uint64_t* at = &sums[s * sums_a_scale()];
            std::copy_n(pass[s].den, 3, at);
            at += 3 + (aim_ ? 6 : 3) * first;
            for (std::size_t g = 0; g < count; ++g) {
                at = std::copy_n(pass[s].num[g], 3, at);
                if (aim_) at = std::copy_n(pass[s].aim[g], 3, at);
            }
        }
    }
    return outputs(sums);
}

}  // namespace acuity
