#include "ssimulacra2/ssimulacra2.h"

#include <algorithm>
#include <cstring>

namespace acuity {

namespace {

using namespace ssimulacra2;

constexpr int kKept = 2 * kRows;  // rows of colour: those that enter the blur, and those that leave it
constexpr int kDelay = kRows;     // rows by which leaving comes after entering
constexpr int kSpan = 2 * kRadius;

static_assert(kDelay == kRadius - 1, "the blur looks that far ahead");
static_assert(kSlots >= kSpan + kRows, "rows must stay in the ring until they are behind");

int half(int size) { return (size + 1) / 2; }

std::size_t padded(int width) { return static_cast<std::size_t>(blocks(width) * kColumns + 2 * kPad); }

}  // namespace

// One scale of the pictures.
struct Ssimulacra2::Scale {
    int number, width, height;
    bool last;  // nobody needs half of it
};

// Laid out for the first scale, used by all: those after it are smaller.
struct Ssimulacra2::Memory {
    float* light[2][3][kRows];   // rows of the pictures' own scale
    float* colour[2][3][kKept];  // with kPad zeros on each side
    float* none;                 // a row of no colour
    float* ring;                 // for each channel kSlots rows
    float* state;
    float* scratch;
    Grid<float> halves[ssimulacra2::kScales - 1][2][3];  // light of the scales after the first
    std::size_t ring_row, state_row;                     // in floats
    std::size_t bytes;
};

Ssimulacra2::Ssimulacra2(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height,
                         int depth, int chroma_width, int chroma_height, const Ssimulacra2Colour& colour)
    : workspace_(std::move(workspace)),
      kernels_(*kernels.ssimulacra2),
      width_(width),
      height_(height),
      chroma_(chroma_width > 0),
      curve_(colour.curve),
      mix_(colour.mix),
      sizes_{{width, height}} {
    // As the reference has it, a scale must be large enough for the next one to be taken.
    while (sizes_.size() < ssimulacra2::kScales && std::min(sizes_.back().first, sizes_.back().second) >= kMinSize)
        sizes_.emplace_back(half(sizes_.back().first), half(sizes_.back().second));
    for (std::size_t i = 0; i <= kCurve; ++i)
        curve_.push_back(i < kCurve ? colour.curve[i + 1] - colour.curve[i] : 0.0f);
    // Upsampling adds up weights of 2 across and 4 down.
    const int weight = chroma_ ? (chroma_width < width ? 2 : 1) * (chroma_height < height ? 4 : 1) : 1;
    const auto share = [&](double factor) { return static_cast<float>(factor / weight); };
    light_ = {colour.black,          weight << (depth - 1), static_cast<float>(colour.luma), share(colour.red_v),
              share(colour.green_u), share(colour.green_v), share(colour.blue_u),            curve_.data()};
    workspace_->reserve(carve(Carver(nullptr)).bytes);
}

Ssimulacra2::Memory Ssimulacra2::carve(Carver carver) const {
    Memory m;
    const auto floats = [&](std::size_t count) { return static_cast<float*>(carver.bytes(count * sizeof(float))); };
    const auto coloured = [&] {
        float* row = floats(padded(width_));
        return row == nullptr ? nullptr : row + kPad;
    };
    for (int picture = 0; picture < 2; ++picture)
        for (int c = 0; c < 3; ++c) {
            for (float*& row : m.light[picture][c]) row = floats(padded(width_));
            for (float*& row : m.colour[picture][c]) row = coloured();
        }
    m.none = coloured();
    m.ring_row = static_cast<std::size_t>(blocks(width_)) * kRingBlock;
    m.state_row = static_cast<std::size_t>(blocks(width_)) * kStateBlock;
    m.ring = floats(m.ring_row * kSlots * kChannels);
    m.state = floats(m.state_row * kChannels);
    m.scratch = floats(scratch_floats(width_));
    int width = width_, height = height_;
    for (auto& scale : m.halves) {
        width = half(width), height = half(height);
        for (auto& picture : scale)
            for (Grid<float>& plane : picture) plane = carver.grid<float>(width, height);
    }
    m.bytes = carver.used();
    return m;
}

double Ssimulacra2::run(const Plane* ref, const Plane* dis) const {
    workspace_->reserve(carve(Carver(nullptr)).bytes);
    const Memory m = carve(Carver(workspace_->block()));
    const Plane* const pictures[2] = {ref, dis};
    Sums sums[ssimulacra2::kScales][kChannels] = {};
    const int scales = static_cast<int>(sizes_.size());
    std::memset(m.none - kPad, 0, padded(width_) * sizeof(float));
    for (int s = 0; s < scales; ++s) {
        const auto [width, height] = sizes_[static_cast<std::size_t>(s)];
        compare_scale(pictures, m, {s, width, height, s + 1 == scales}, sums[s]);
    }
    return outputs(sums);
}

double Ssimulacra2::outputs(const Sums (*sums)[kChannels]) const {
    Norms found[ssimulacra2::kScales][kChannels];
    for (std::size_t s = 0; s < sizes_.size(); ++s) {
        const double samples = static_cast<double>(sizes_[s].first) * sizes_[s].second;
        for (int c = 0; c < kChannels; ++c) found[s][c] = norms(sums[s][c], samples);
    }
    return score(found, static_cast<int>(sizes_.size()));
}

void Ssimulacra2::compare_scale(const Plane* const* pictures, const Memory& m, const Scale& scale,
                                Sums* sums) const {
    std::memset(m.ring, 0, m.ring_row * kSlots * kChannels * sizeof(float));
    std::memset(m.state, 0, m.state_row * kChannels * sizeof(float));
    for (int row = 0; row < scale.height + kDelay; row += kRows) {
        if (row < scale.height) {
            take_rows(pictures, m, scale, row);
            if (!scale.last) halve_rows(m, scale, row);
        }
        for (int c = 0; c < kChannels; ++c) compare_rows(m, scale, row, c, sums[c]);
    }
}

const float* Ssimulacra2::light_row(const Memory& m, const Scale& scale, int picture, int channel, int row) const {
    if (scale.number == 0) return m.light[picture][channel][row % kRows];
    const Grid<float>& plane = m.halves[scale.number - 1][picture][channel];
    return plane.data + plane.stride * row;
}

// Make colour of up to kRows rows.
void Ssimulacra2::take_rows(const Plane* const* pictures, const Memory& m, const Scale& scale, int first) const {
    for (int row = first; row < std::min(first + kRows, scale.height); ++row)
        for (int picture = 0; picture < 2; ++picture) {
            if (scale.number == 0) {
                float* const rgb[3] = {m.light[picture][0][row % kRows], m.light[picture][1][row % kRows],
                                       m.light[picture][2][row % kRows]};
                kernels_.linear(pictures[picture], chroma_, light_, row, m.scratch, rgb);
            }
            const float* rgb[3];
            float* xyb[3];
            for (int c = 0; c < 3; ++c) {
                rgb[c] = light_row(m, scale, picture, c, row);
                xyb[c] = m.colour[picture][c][row % kKept];
            }
            kernels_.colour(rgb, mix_.data(), scale.width, xyb);
            for (float* colour : xyb) {
                std::memset(colour - kPad, 0, kPad * sizeof(float));
                std::memset(colour + scale.width, 0,
                            (padded(scale.width) - kPad - static_cast<std::size_t>(scale.width)) * sizeof(float));
            }
        }
}

// Light of the next scale, from the rows taken; the last row of an odd picture counts twice.
void Ssimulacra2::halve_rows(const Memory& m, const Scale& scale, int first) const {
    for (int row = first; row < std::min(first + kRows, scale.height); row += 2)
        for (int picture = 0; picture < 2; ++picture)
            for (int c = 0; c < 3; ++c) {
                const Grid<float>& plane = m.halves[scale.number][picture][c];
                kernels_.halve(light_row(m, scale, picture, c, row),
                               light_row(m, scale, picture, c, std::min(row + 1, scale.height - 1)), scale.width,
                               plane.data + plane.stride * (row / 2));
            }
}

// Let kRows rows enter the blur, and compare those that leave it.
void Ssimulacra2::compare_rows(const Memory& m, const Scale& scale, int first, int channel, Sums& sums) const {
    const auto ring = [&](int row) {
        const auto slot = static_cast<std::size_t>((row + kSlots) % kSlots);
        return m.ring + m.ring_row * (static_cast<std::size_t>(channel) * kSlots + slot);
    };
    const auto colour = [&](int picture, int row) -> const float* {
        const bool inside = row >= 0 && row < scale.height;
        return inside ? m.colour[picture][channel][row % kKept] : m.none;
    };
    const float *ref[kRows], *dis[kRows];
    float* out[kRows];
    Band band;
    for (int r = 0; r < kRows; ++r) {
        ref[r] = colour(0, first + r);
        dis[r] = colour(1, first + r);
        band.ahead[r] = out[r] = ring(first + r);
        band.behind[r] = ring(first + r - kSpan);
        band.ref[r] = colour(0, first + r - kDelay);
        band.dis[r] = colour(1, first + r - kDelay);
    }
    band.state = m.state + m.state_row * static_cast<std::size_t>(channel);
    band.first = first == 0 ? kRows : 0;
    band.last = std::min(kRows, scale.height + kDelay - first);
    band.width = scale.width;
    kernels_.blur_across(ref, dis, scale.width, m.scratch, out);
    kernels_.compare(band, sums);
}

}  // namespace acuity
