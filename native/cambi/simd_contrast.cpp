// Contrast of every sample, from histograms of the windows around all columns of a row.
//
// Sliding down by a row, samples that leave and enter change the histograms. A run of equal samples changes
// one row of counts, that of its value, by a trapezoid, which is added a register at a time. Where the same
// value leaves and enters nothing is done. Contrast is then taken for a register of columns at a time: its
// samples have few different values, and for each of those the counts lie side by side.
#include <algorithm>
#include <bit>

#include "cambi/simd_kernels.h"
#include "simd/lane_bits.h"

namespace acuity::ACUITY_ISA {

namespace {

using Word = std::uint16_t;
using HalfU16 [[gnu::vector_size(kBytes / 2), gnu::may_alias]] = std::uint16_t;

constexpr Word kNone = 0xffff;  // the level of a sample that isn't counted
constexpr int kLanes = kLanes16;

static_assert(kCambiStrip % kLanes == 0 && kCambiStrip + 2 * kCambiMaxWindow < 32768);

inline I16 lane_numbers() {
    I16 v{};
    for (int i = 0; i < kLanes; ++i) v[i] = static_cast<std::int16_t>(i);
    return v;
}

// Half a register of words in 32-bit lanes.
template <int Half>
inline U32 widen(U16 v) {
    HalfU16 part;
    std::memcpy(&part, reinterpret_cast<const char*>(&v) + Half * sizeof part, sizeof part);
    return __builtin_convertvector(part, U32);
}

inline U16 level_of(U16 sample, U16 base, U16 count) {
    const U16 level = sample - base;
    return level < count ? level : splat<U16>(kNone);
}

// Counts of each level in the windows around the columns of a strip; `steps` rows of zeros on either side.
struct Histograms {
    Word* data;
    std::ptrdiff_t stride;
    int steps;

    Word* row(int level) const { return data + (level + steps) * stride; }
};

// A strip of columns of the plane, sliding down.
class Strip {
  public:
    Strip(const CambiScale& scale, Carver carver, int left)
        : s_(scale), left_(left), columns_(std::min<int>(kCambiStrip, whole(scale.width) - left)) {
        begin_ = std::max(0, left - scale.radius) / kLanes * kLanes;
        end_ = std::min(whole(scale.width), whole(left + columns_ + scale.radius));
        const int rows = scale.levels.count + 2 * scale.levels.steps;
        counts_ = {static_cast<Word*>(carver.bytes(std::size_t(kCambiStrip * rows) * sizeof(Word))), kCambiStrip,
                   scale.levels.steps};
        for (Word*& levels : changes_) levels = carver.grid<Word>(end_ - begin_ + 2 * kLanes, 1).data + kLanes;
        const int lowest = scale.survey.lowest - scale.levels.steps;
        const int highest = scale.survey.highest + scale.levels.steps;
        std::fill(counts_.row(lowest), counts_.row(highest + 1), Word{0});
    }

    int left() const { return left_; }
    int columns() const { return columns_; }
    const Histograms& counts() const { return counts_; }

    // Row `leave` leaves the windows and `enter` enters; rows that aren't in the picture don't.
    void slide(int leave, int enter) {
        const bool leaves = leave >= 0, enters = enter < s_.height;
        if (!leaves && !enters) return;
        if (leaves && enters) {
            difference(plane_row(leave), plane_row(enter));
        } else {
            levels(plane_row(leaves ? leave : enter), changes_[leaves ? 0 : 1]);
        }
        if (leaves) spread_runs<-1>(changes_[0]);
        if (enters) spread_runs<1>(changes_[1]);
    }

  private:
    static int whole(int columns) { return (columns + kLanes - 1) / kLanes * kLanes; }
    const Word* plane_row(int y) const { return s_.plane.data + y * s_.plane.stride + begin_; }

    void levels(const Word* row, Word* out) const {
        const U16 base = splat<U16>(s_.levels.base), count = splat<U16>(s_.levels.count);
        for (int x = 0; x < end_ - begin_; x += kLanes) store(out + x, level_of(load<U16>(row + x), base, count));
    }

    // Levels of both rows, where they aren't the same.
    void difference(const Word* leave, const Word* enter) const {
        const U16 base = splat<U16>(s_.levels.base), count = splat<U16>(s_.levels.count), none = splat<U16>(kNone);
        for (int x = 0; x < end_ - begin_; x += kLanes) {
            const U16 a = level_of(load<U16>(leave + x), base, count), b = level_of(load<U16>(enter + x), base, count);
            store(changes_[0] + x, a == b ? none : a);
            store(changes_[1] + x, a == b ? none : b);
        }
    }

    template <int Sign>
    void spread_runs(Word* levels) const {
        const int length = end_ - begin_;
        levels[-1] = kNone;
        int start = 0;
        Word level = kNone;
        for (int x = 0; x < length; x += kLanes) {
            LaneBits bits = lane_bits(load<U16>(levels + x) != load<U16>(levels + x - 1));
            for (; bits != 0; bits &= bits - 1) {
                const int at = x + first_lane(bits);
                if (level != kNone) spread<Sign>(level, start, at - start);
                start = at;
                level = levels[at];
            }
        }
        if (level != kNone) spread<Sign>(level, start, length - start);
    }

    // A run of one level changes the counts of all windows it is in: ever more of it up to `top`, then ever less.
    template <int Sign>
    void spread(int level, int start, int length) const {
        const int from = begin_ - left_ + start - s_.radius, to = from + length - 1 + 2 * s_.radius;
        if (to < 0) return;
        const int first = std::max(0, from) / kLanes * kLanes, last = std::min(to, columns_ - 1);
        const I16 top = splat<I16>(std::min(length, 2 * s_.radius + 1));
        I16 rise = lane_numbers() + splat<I16>(first - from + 1), fall = splat<I16>(to - first + 1) - lane_numbers();
        Word* row = counts_.row(level);
        for (int x = first; x <= last; x += kLanes) {
            const I16 change = vmax(vmin(vmin(rise, fall), top), I16{});
            const I16 old = load<I16>(row + x);
            store(row + x, Sign > 0 ? old + change : old - change);
            rise += static_cast<std::int16_t>(kLanes);
            fall -= static_cast<std::int16_t>(kLanes);
        }
    }

    const CambiScale& s_;
    int left_, columns_;  // of the windows
    int begin_, end_;     // columns that windows look at
    Histograms counts_;
    Word* changes_[2];  // levels that leave and enter
};

// Contrasts of the samples of a row, a register at a time. Steps: as many as the levels say.
template <int Steps>
class RowContrast {
  public:
    RowContrast(const CambiLevels& levels, const Histograms& counts, CambiContrasts& out)
        : levels_(levels), counts_(counts), out_(out), base_(splat<U16>(levels.base)),
          count_(splat<U16>(levels.count)) {}

    // The samples of a row, and where in `counts` their columns are.
    void run(const Word* samples, int columns, float* map) {
        sum_ = F64{};
        for (int x = 0; x < columns; x += kLanes) {
            const U16 levels = level_of(load<U16>(samples + x), base_, count_);
            LaneBits bits = lane_bits(levels != splat<U16>(kNone));
            if (bits == 0) continue;
            if (gather(samples + x, x, levels, bits)) {
                finish<0>(map == nullptr ? nullptr : map + x);
                finish<1>(map == nullptr ? nullptr : map + x + kLanes32);
            }
        }
        for (int i = 0; i < kLanes64; ++i) out_.sum += static_cast<std::uint64_t>(sum_[i] * 0x1p24);
    }

  private:
    // Counts of each sample's own level, and of its neighbours at each step, the larger of both. False: no
    // neighbours.
    bool gather(const Word* samples, int x, U16 levels, LaneBits bits) {
        here_ = splat<U16>(1);  // of lanes that aren't counted
        for (int d = 0; d < Steps; ++d) there_[d] = U16{};
        U16 found{};
        do {
            const int level = samples[first_lane(bits)] - levels_.base;
            const I16 mine = levels == splat<U16>(level);
            bits &= ~lane_bits(mine);
            const Word* row = counts_.row(level) + x;
            here_ = mine ? load<U16>(row) : here_;
            for (int d = levels_.first[level]; d < Steps; ++d) {
                const std::ptrdiff_t away = (d + 1) * counts_.stride;
                const U16 larger = vmax(load<U16>(row + away), load<U16>(row - away)) & as<U16>(mine);
                there_[d] |= larger;
                found |= larger;
            }
        } while (bits != 0);
        return any(as<I32>(found));
    }

    template <int Half>
    void finish(float* map) {
        const U32 here = widen<Half>(here_);
        const F32 here_f = to_f32(as<I32>(here));
        F32 largest{};
        for (int d = 0; d < Steps; ++d) {
            const U32 there = widen<Half>(there_[d]);
            if (!any(as<I32>(there))) continue;
            const F32 inverse = as<F32>(acuity::ACUITY_ISA::gather(
                reinterpret_cast<const std::int32_t*>(levels_.inverse), here + there));
            const F32 product = levels_.weights[d] * (here_f * to_f32(as<I32>(there)));
            largest = vmax(largest, product * inverse);
        }
        const F64x2 wide = to_f64(largest);
        sum_ += wide.lo + wide.hi;
        if (out_.list != nullptr)
            out_.listed += append_nonzero(reinterpret_cast<std::int32_t*>(out_.list) + out_.listed, as<I32>(largest));
        if (map != nullptr) store(map, largest);
    }

    const CambiLevels& levels_;
    const Histograms& counts_;
    CambiContrasts& out_;
    U16 base_, count_;
    U16 here_, there_[Steps];
    F64 sum_;
};

template <int Steps>
void contrast(const CambiScale& scale, void* scratch, CambiContrasts& out) {
    for (int left = 0; left < scale.width; left += kCambiStrip) {
        Strip strip(scale, Carver(scratch), left);
        RowContrast<Steps> contrast(scale.levels, strip.counts(), out);
        for (int y = 0; y < scale.radius; ++y) strip.slide(-1, y);
        for (int y = 0; y < scale.height; ++y) {
            strip.slide(y - scale.radius - 1, y + scale.radius);
            float* map = out.map.data == nullptr ? nullptr : out.map.data + y * out.map.stride + left;
            contrast.run(scale.plane.data + y * scale.plane.stride + left, strip.columns(), map);
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
