// Histograms of the windows around all columns of a strip, sliding down a plane.
//
// Samples that leave and enter change them. A run of equal samples changes one row of counts, that of its
// value, by a trapezoid, which is added a register at a time. Where the same value leaves and enters nothing
// is done.
#pragma once

#include <algorithm>

#include "cambi/table.h"
#include "simd/lanes16.h"

namespace acuity::ACUITY_ISA {

// Samples as levels.
class LevelOf {
  public:
    static constexpr std::uint16_t kNone = 0xffff;  // of a sample that isn't counted

    explicit LevelOf(const CambiLevels& levels)
        : base_(splat<U16>(levels.base)), count_(splat<U16>(levels.count)), none_(splat<U16>(kNone)) {}

    U16 operator()(const std::uint16_t* samples) const {
        const U16 level = load<U16>(samples) - base_;
        return select(less(level, count_), level, none_);
    }
    Lanes counted(U16 levels) const { return less(levels, count_); }
    U16 none() const { return none_; }

  private:
    U16 base_, count_, none_;
};

// Counts of each level; `steps` rows of zeros on either side.
struct Histograms {
    static constexpr std::ptrdiff_t kStride = kCambiStripBefore + kCambiStrip + kCambiStripAfter;

    std::uint16_t* data;
    int steps;

    // From the strip's first column on.
    std::uint16_t* row(int level) const { return data + (level + steps) * kStride + kCambiStripBefore; }
};

constexpr int kShort = std::max(8, kLanes16 / 2);  // runs that are added from a table

// Registers that a short run can change.
constexpr int registers(int radius) { return (kShort + 2 * radius + 2 * kLanes16 - 2) / kLanes16; }

class Windows {
  public:
    Windows(const CambiScale& scale, Carver carver, int left)
        : s_(scale), level_of_(scale.levels), radius_(scale.radius), left_(left),
          columns_(std::min<int>(kCambiStrip, whole(scale.width) - left)),
          begin_(std::max(0, left - scale.radius) / kLanes16 * kLanes16),
          length_(std::min(whole(scale.width), whole(left + columns_ + scale.radius)) - begin_) {
        const int rows = scale.levels.count + 2 * scale.levels.steps;
        auto* data = carver.bytes(static_cast<std::size_t>(Histograms::kStride * rows) * sizeof(std::uint16_t));
        counts_ = {static_cast<std::uint16_t*>(data), scale.levels.steps};
        for (auto*& levels : changes_) levels = carver.grid<std::uint16_t>(length_ + 64, 1).data + 32;
        starts_ = carver.grid<std::int32_t>(length_ + 64, 1).data;
        ends_ = carver.grid<std::int32_t>(length_ + 64, 1).data;
        const int lowest = scale.survey.lowest - scale.levels.steps;
        const int highest = scale.survey.highest + scale.levels.steps;
        std::fill(counts_.row(lowest) - kCambiStripBefore, counts_.row(highest + 1) - kCambiStripBefore,
                  std::uint16_t{0});
        draw_short_runs();
    }

    int columns() const { return columns_; }
    const Histograms& counts() const { return counts_; }

    // Row `leave` leaves the windows and `enter` enters; rows that aren't in the picture don't.
    void slide(int leave, int enter) {
        const bool leaves = leave >= 0, enters = enter < s_.height;
        if (leaves && enters) {
            compare(row(leave), row(enter));
        } else if (leaves || enters) {
            take(row(leaves ? leave : enter), changes_[leaves ? 0 : 1]);
        }
        if (leaves) find_and_spread<-1>(changes_[0]);
        if (enters) find_and_spread<1>(changes_[1]);
    }

  private:
    // Windows before and after the first that a run is in, as far as those registers reach.
    static constexpr int kBefore = kLanes16, kAfter = registers(kCambiMaxWindow / 2) * kLanes16;
    static_assert(kCambiStrip % kLanes16 == 0 && kCambiStripBefore % kLanes16 == 0);
    static_assert(kCambiStripBefore >= kCambiMaxWindow - 1 + kLanes16 && kCambiStripAfter >= kAfter);

    static int whole(int columns) { return (columns + kLanes16 - 1) / kLanes16 * kLanes16; }
    const std::uint16_t* row(int y) const { return s_.plane.data + y * s_.plane.stride + begin_; }

    void take(const std::uint16_t* samples, std::uint16_t* out) const {
        for (int x = 0; x < length_; x += kLanes16) store(out + x, level_of_(samples + x));
    }

    // Levels of both rows, where they aren't the same.
    void compare(const std::uint16_t* leave, const std::uint16_t* enter) const {
        const LevelOf level_of = level_of_;
        std::uint16_t *leaving = changes_[0], *entering = changes_[1];
        for (int x = 0, end = length_; x < end; x += kLanes16) {
            __builtin_prefetch(enter + s_.plane.stride + x);
            const U16 a = level_of(leave + x), b = level_of(enter + x);
            const Lanes same = equal(a, b);
            store(leaving + x, select(same, level_of.none(), a));
            store(entering + x, select(same, level_of.none(), b));
        }
    }

    template <int Sign>
    void find_and_spread(std::uint16_t* levels) const {
        const int runs = find_runs(levels);
        switch (registers(radius_)) {
            case 2: return spread_runs<Sign, 2>(levels, runs);
            case 3: return spread_runs<Sign, 3>(levels, runs);
            case 4: return spread_runs<Sign, 4>(levels, runs);
            default: return spread_runs<Sign, 0>(levels, runs);
        }
    }

    // Where runs of equal levels start and end.
    int find_runs(std::uint16_t* levels) const {
        const LevelOf level_of = level_of_;
        std::int32_t *starts = starts_, *ends = ends_;
        levels[-1] = LevelOf::kNone;
        int runs = 0, ended = 0;
        for (int x = 0, end = length_; x < end; x += kLanes16) {
            const U16 now = load<U16>(levels + x), before = load<U16>(levels + x - 1);
            const LaneBits same = lane_bits(equal(now, before));
            runs += append_lanes(starts + runs, lane_bits(level_of.counted(now)) & ~same, x);
            ended += append_lanes(ends + ended, lane_bits(level_of.counted(before)) & ~same, x);
        }
        if (ended < runs) ends[ended] = length_;
        return runs;
    }

    // Short runs change `Registers` registers each, or as many as the radius says if that is 0.
    template <int Sign, int Registers>
    void spread_runs(const std::uint16_t* levels, int runs) const {
        const Histograms counts = counts_;
        const int reach = begin_ - left_ - radius_, count = Registers > 0 ? Registers : registers(radius_);
        const std::int32_t *starts = starts_, *ends = ends_;
        for (int i = 0; i < runs; ++i) {
            const int from = starts[i] + reach, length = ends[i] - starts[i];
            const int first = from & -kLanes16;
            std::uint16_t* at = counts.row(levels[starts[i]]) + first;
            if (length > kShort) {
                spread_long<Sign>(at, first, from, length);
                continue;
            }
            const std::uint16_t* shape = short_runs_[length] + kBefore + first - from;
            for (int r = 0; r < count; ++r, shape += kLanes16, at += kLanes16)
                store(at, Sign > 0 ? load<U16>(at) + load<U16>(shape) : load<U16>(at) - load<U16>(shape));
        }
    }

    // From the window at `from` on, the run is in ever more of a window's columns, then in ever fewer.
    template <int Sign>
    void spread_long(std::uint16_t* at, int first, int from, int length) const {
        const int to = from + length - 1 + 2 * radius_, last = std::min(to, columns_ - 1);
        const I16 top = splat<I16>(std::min(length, 2 * radius_ + 1));
        I16 rise = numbers() + splat<I16>(first - from + 1), fall = splat<I16>(to - first + 1) - numbers();
        for (int x = first; x <= last; x += kLanes16, at += kLanes16) {
            const I16 change = vmax(vmin(vmin(rise, fall), top), I16{});
            store(at, Sign > 0 ? load<I16>(at) + change : load<I16>(at) - change);
            rise += static_cast<std::int16_t>(kLanes16);
            fall -= static_cast<std::int16_t>(kLanes16);
        }
    }

    // The same changes, for every short length, ready to be added.
    void draw_short_runs() {
        for (int length = 1; length <= kShort; ++length) {
            const int windows = length + 2 * radius_, top = std::min(length, 2 * radius_ + 1);
            std::uint16_t* shape = short_runs_[length] + kBefore;
            std::fill(shape - kBefore, shape + kAfter, std::uint16_t{0});
            for (int i = 0; i < windows; ++i)
                shape[i] = static_cast<std::uint16_t>(std::min({i + 1, windows - i, top}));
        }
    }

    static I16 numbers() {
        I16 v{};
        for (int i = 0; i < kLanes16; ++i) v[i] = static_cast<std::int16_t>(i);
        return v;
    }

    const CambiScale& s_;
    const LevelOf level_of_;
    const int radius_;
    const int left_, columns_;  // of the windows
    const int begin_, length_;  // of the columns they look at
    Histograms counts_;
    std::uint16_t* changes_[2];     // levels that leave and enter
    std::int32_t *starts_, *ends_;  // of runs
    std::uint16_t short_runs_[kShort + 1][kBefore + kAfter];
};

}  // namespace acuity::ACUITY_ISA
