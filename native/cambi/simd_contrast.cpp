// Contrast of every sample, from histograms of the windows around all columns of a row.
//
// Contrast is taken for a register of columns at a time: its samples have few different values, and for each
// of those the counts lie side by side.
#include "cambi/simd_kernels.h"
#include "cambi/simd_windows.h"

namespace acuity::ACUITY_ISA {

namespace {

constexpr int kLanes = kLanes16;

// Contrasts of a row, a register of samples at a time. Steps: as many as the levels say.
template <int Steps>
class RowContrast {
  public:
    RowContrast(const CambiLevels& levels, const Histograms& counts, CambiContrasts& out)
        : levels_(levels), counts_(counts), out_(out) {
        for (int d = 0; d < Steps; ++d) weights_[d] = static_cast<std::uint16_t>(levels.weights[d]);
    }

    // The samples of a row from the histograms' first column on.
    void run(const std::uint16_t* samples, int columns, float* map) {
        const LevelOf level_of(levels_);
        F64 sum{};
        for (int x = 0; x < columns; x += kLanes) {
            const U16 levels = level_of(samples + x);
            const LaneBits bits = lane_bits(level_of.counted(levels));
            if (bits == 0) continue;
            U16 here, there[Steps];
            gather_counts(samples + x, x, levels, bits, here, there);
            F32 largest[2] = {};
            if (!contrast(here, there, largest)) continue;
            for (int half = 0; half < 2; ++half) {
                const F64x2 wide = to_f64(largest[half]);
                sum += wide.lo + wide.hi;
                if (out_.list != nullptr) {
                    auto* list = reinterpret_cast<std::int32_t*>(out_.list) + out_.listed;
                    out_.listed += append_nonzero(list, as<I32>(largest[half]));
                }
                if (map != nullptr) store(map + x + half * kLanes32, largest[half]);
            }
        }
        for (int i = 0; i < kLanes64; ++i) out_.sum += static_cast<std::uint64_t>(sum[i] * 0x1p24);
    }

  private:
    // The count of each sample's own level, and the larger of the counts of the two levels a step away. Where
    // nothing is counted: 1, and 0.
    [[gnu::always_inline]] void gather_counts(const std::uint16_t* samples, int x, U16 levels, LaneBits bits,
                                              U16& here, U16 (&there)[Steps]) const {
        here = splat<U16>(1);
        for (int d = 0; d < Steps; ++d) there[d] = U16{};
        do {
            const int level = samples[first_lane(bits)] - levels_.base;
            const Lanes mine = equal(levels, splat<U16>(level));
            bits &= ~lane_bits(mine);
            const std::uint16_t* row = counts_.row(level) + x;
            here = select(mine, load<U16>(row), here);
            const int first = levels_.first[level];
            unroll<Steps>([&](auto d) __attribute__((always_inline)) {  // so that `there` stays in registers
                if (d < first) return;
                const std::ptrdiff_t away = (d + 1) * Histograms::kStride;
                there[d] |= keep(mine, vmax(load<U16>(row + away), load<U16>(row - away)));
            });
        } while (bits != 0);
    }

    // The largest of weight * here * there / (here + there); false if it is 0 everywhere.
    //
    // It lies between half of weight * min(here, there) and that itself, which is never reached: so a step
    // for which that isn't above half of the largest of them can be left out.
    [[gnu::always_inline]] bool contrast(U16 here, const U16 (&there)[Steps], F32 (&largest)[2]) const {
        U16 bounds[Steps], bound{};
        for (int d = 0; d < Steps; ++d) {
            bounds[d] = vmin(here, there[d]) * weights_[d];
            bound = vmax(bound, bounds[d]);
        }
        if (!any(as<I32>(bound))) return false;
        const U32 wide[2] = {widen_low(here), widen_high(here)};
        const F32 wide_f[2] = {to_f32(as<I32>(wide[0])), to_f32(as<I32>(wide[1]))};
        for (int d = 0; d < Steps; ++d) {
            if (lane_bits(less(bound, bounds[d] + bounds[d])) == 0) continue;
            const U32 other[2] = {widen_low(there[d]), widen_high(there[d])};
            for (int half = 0; half < 2; ++half) {
                const auto* table = reinterpret_cast<const std::int32_t*>(levels_.inverse);
                const F32 inverse = as<F32>(gather(table, wide[half] + other[half]));
                // Counts multiplied are exact; weighed, they are rounded once.
                const F32 product = levels_.weights[d] * (wide_f[half] * to_f32(as<I32>(other[half])));
                largest[half] = vmax(largest[half], product * inverse);
            }
        }
        return true;
    }

    const CambiLevels levels_;
    const Histograms counts_;
    CambiContrasts& out_;
    std::uint16_t weights_[Steps];
};

template <int Steps>
void contrast(const CambiScale& scale, void* scratch, CambiContrasts& out) {
    for (int left = 0; left < scale.width; left += kCambiStrip) {
        Windows windows(scale, Carver(scratch), left);
        RowContrast<Steps> contrast(scale.levels, windows.counts(), out);
        for (int y = 0; y < scale.radius; ++y) windows.slide(-1, y);
        for (int y = 0; y < scale.height; ++y) {
            windows.slide(y - scale.radius - 1, y + scale.radius);
            float* map = out.map.data == nullptr ? nullptr : out.map.data + y * out.map.stride + left;
            contrast.run(scale.plane.data + y * scale.plane.stride + left, windows.columns(), map);
        }
    }
}

}  // namespace

void cambi_contrast(const CambiScale& scale, void* scratch, CambiContrasts& out) {
    out.sum = 0;
    out.listed = 0;
    if (scale.survey.samples == 0) return;
    switch (scale.levels.steps) {
        case 1: return contrast<1>(scale, scratch, out);
        case 2: return contrast<2>(scale, scratch, out);
        case 4: return contrast<4>(scale, scratch, out);
        case 8: return contrast<8>(scale, scratch, out);
        case 16: return contrast<16>(scale, scratch, out);
        default: return contrast<32>(scale, scratch, out);
    }
}

}  // namespace acuity::ACUITY_ISA
