#include "cambi/cambi.h"

#include <algorithm>
#include <bit>
#include <tuple>

namespace acuity {

namespace {

constexpr int kWeights[kCambiScales] = {16, 8, 4, 2, 1};
constexpr double kUnit = 0x1p24;  // of sums of contrasts

// 1 / n to nine decimal digits, which is how the reference writes its table.
float written_inverse(int n) {
    std::int64_t scale = 100'000'000;
    double digits = 1e8;
    for (; scale / n < 100'000'000; scale *= 10) digits *= 10;
    return static_cast<float>(static_cast<double>((2 * scale + n) / (2 * n)) / digits);
}

// Nearest samples of `in` for each of `out`, stepping in single precision as the reference does.
std::vector<std::int32_t> nearest(int in, int out) {
    const float ratio = static_cast<float>(in) / static_cast<float>(out);
    float at = static_cast<float>(static_cast<double>(ratio / 2) - 0.5);
    std::vector<std::int32_t> found;
    for (int i = 0; i < out; ++i, at += ratio)
        found.push_back(std::clamp(static_cast<int>(static_cast<double>(at) + 0.5), 0, in - 1));
    return found;
}

// How many of a sample's 7x7 surroundings may differ from their neighbours: fewer in larger pictures.
int flat_limit(int width, int height) {
    const auto area = static_cast<unsigned>((width >> 6) * (height >> 6));
    const int size = area == 0 ? 0 : std::bit_width(area - 1);
    constexpr int side = 2 * kCambiFlatRadius + 1;
    return (side * side + 3 * (size - 11) - 1) >> 1;
}

}  // namespace

std::size_t cambi_scratch_bytes(int width, const CambiLevels& levels) {
    Carver carver(nullptr);
    for (int i = 0; i < 24; ++i) carver.grid<std::uint16_t>(width + 64, 1);  // rows of samples
    const std::ptrdiff_t columns = std::max(width, kCambiStripBefore + kCambiStrip + kCambiStripAfter);
    carver.bytes(static_cast<std::size_t>(columns * (levels.count + 2 * levels.steps)) * sizeof(std::uint16_t));
    return carver.used();
}

CambiTables::CambiTables(const std::vector<CambiStep>& steps) {
    const int size = static_cast<int>(steps.size());
    int lowest = 0xffff, highest = 0;
    for (int d = 0; d < size; ++d) {
        const CambiStep& step = steps[static_cast<std::size_t>(d)];
        weights_.push_back(step.weight);
        lowest = std::min(lowest, step.lowest - d - 1);
        highest = std::max(highest, step.highest + d + 1);
    }
    base_ = std::max(0, lowest);
    count_ = std::max(1, highest - base_ + 1);
    for (int value = base_; value < base_ + count_; ++value) {
        const auto seen = [value](const CambiStep& s) { return s.lowest <= value && value <= s.highest; };
        first_.push_back(static_cast<std::uint8_t>(std::find_if(steps.begin(), steps.end(), seen) - steps.begin()));
    }
    inverse_.push_back(0);
    for (int n = 1; n <= kCambiMaxWindow * kCambiMaxWindow; ++n) inverse_.push_back(written_inverse(n));
}

CambiLevels CambiTables::levels() const {
    return {base_, count_, static_cast<int>(weights_.size()), first_.data(), weights_.data(), inverse_.data()};
}

struct Cambi::Memory {
    CambiPlane plane;
    Grid<float> map;
    std::uint32_t* list;
    void* scratch;
    std::size_t bytes;
};

Cambi::Memory Cambi::carve(Carver carver) const {
    const auto [width, height] = sizes_[0];
    Memory m;
    m.plane = carver.grid<std::uint16_t>(width, height);
    const int padded = static_cast<int>(m.plane.stride);
    m.map = options_.heatmaps ? carver.grid<float>(padded, height) : Grid<float>{};
    m.list = carver.grid<std::uint32_t>(padded, height + 1).data;
    const std::size_t kernels = cambi_scratch_bytes(options_.width, tables_.levels());
    m.scratch = carver.bytes(std::max(kernels, kCambiBins * sizeof(std::uint32_t)));
    m.bytes = carver.used();
    return m;
}

Cambi::Cambi(std::shared_ptr<Workspace> workspace, const CambiKernels& kernels, int width, int height,
             const CambiOptions& options, const std::vector<CambiStep>& steps)
    : workspace_(std::move(workspace)), kernels_(kernels), options_(options), tables_(steps) {
    if (width != options.width || height != options.height) {
        columns_ = nearest(width, options.width);
        rows_ = nearest(height, options.height);
    }
    const auto half = [](std::pair<int, int> size) { return std::pair((size.first + 1) / 2, (size.second + 1) / 2); };
    std::pair<int, int> size(options.width, options.height);
    if (options.halve) size = half(size);
    for (auto& scale : sizes_) {
        scale = size;
        size = half(size);
    }
    workspace_->reserve(carve(Carver(nullptr)).bytes);
}

CambiPlan Cambi::plan() const {
    const CambiLevels levels = tables_.levels();
    CambiPlan plan{options_.width,
                   options_.height,
                   options_.window / 2,
                   flat_limit(options_.width, options_.height),
                   options_.smooth,
                   options_.halve,
                   columns_,
                   rows_,
                   {sizes_.begin(), sizes_.end()},
                   {},
                   levels.base,
                   {levels.first, levels.first + levels.count},
                   {levels.weights, levels.weights + levels.steps},
                   {levels.inverse, levels.inverse + kCambiMaxWindow * kCambiMaxWindow + 1}};
    for (int s = 0; s < kCambiScales; ++s) plan.strongest.push_back(strongest(s));
    return plan;
}

std::int64_t Cambi::strongest(int scale) const {
    const auto [width, height] = size(scale);
    const std::int64_t samples = std::int64_t{width} * height;
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(options_.share * static_cast<double>(samples)), 1, samples);
}

unsigned __int128 Cambi::pool(const CambiScale& scale, std::int64_t count, const Memory& m) const {
    if (scale.survey.samples == 0) return 0;
    CambiContrasts contrasts{};
    contrasts.list = scale.survey.samples > count ? m.list : nullptr;  // else the strongest are all there are
    contrasts.map = m.map;
    kernels_.contrast(scale, m.scratch, contrasts);
    if (contrasts.list == nullptr) return contrasts.sum;
    return kernels_.largest(m.list, contrasts.listed, count, static_cast<std::uint32_t*>(m.scratch));
}

double Cambi::score(const Sums& sums) const {
    double score = 0;
    for (int s = 0; s < kCambiScales; ++s) {
        const auto sum = static_cast<double>(sums[static_cast<std::size_t>(s)]);
        score += sum / kUnit / static_cast<double>(strongest(s)) * kWeights[s];
    }
    return score / (options_.window * options_.window);
}

void Cambi::draw(int scale, const Grid<const float>& contrasts, const Heatmap& out) const {
    const CambiLevels levels = tables_.levels();
    const int side = options_.window;
    const float weight = *std::max_element(levels.weights, levels.weights + levels.steps);
    const double full = 65535.0 / (static_cast<int>(weight) * side * side / 4);
    for (int y = 0; y < size(scale).second; ++y) {
        const float* row = contrasts.data + y * contrasts.stride;
        std::transform(row, row + size(scale).first, out.data + y * out.stride, [full](float contrast) {
            return static_cast<std::uint16_t>(std::min(full * static_cast<double>(contrast), 65535.0));
        });
    }
}

double Cambi::run(const Plane& picture, const Heatmaps* heatmaps) const {
    const Memory m = carve(Carver(workspace_->block()));
    CambiSource source{picture, options_.width, options_.height, nullptr, nullptr, options_.smooth, options_.halve,
                       flat_limit(options_.width, options_.height)};
    if (!columns_.empty()) {
        source.columns = columns_.data();
        source.rows = rows_.data();
    }
    kernels_.flatten(source, m.scratch, m.plane);

    CambiScale scale{m.plane, 0, 0, options_.window / 2, tables_.levels(), {}};
    Sums sums;
    for (int s = 0; s < kCambiScales; ++s) {
        std::tie(scale.width, scale.height) = size(s);
        kernels_.filter(m.plane, scale.width, scale.height, s == 0 ? 1 : 2, scale.levels, m.scratch, scale.survey);
        if (m.map.data != nullptr) std::fill_n(m.map.data, m.map.stride * scale.height, 0.0f);
        const auto number = static_cast<std::size_t>(s);
        sums[number] = pool(scale, strongest(s), m);
        if (heatmaps != nullptr) draw(s, {m.map.data, m.map.stride}, (*heatmaps)[number]);
    }
    return score(sums);
}

}  // namespace acuity
