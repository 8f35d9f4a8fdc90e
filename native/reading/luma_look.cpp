#include "reading/luma_look.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace acuity {

namespace {

template <class Sample>
const Sample* row_of(const Plane& luma, int y) {
    return reinterpret_cast<const Sample*>(static_cast<const unsigned char*>(luma.data) + luma.stride * y);
}

// Every `step`th sample of a row, one after the other.
template <class Sample>
void gather(const Plane& luma, int y, int step, std::vector<Sample>& out) {
    const Sample* row = row_of<Sample>(luma, y);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = row[i * static_cast<std::size_t>(step)];
}

template <class Sample>
void add(std::vector<std::uint32_t>& sums, const std::vector<Sample>& samples) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += samples[i];
}

std::uint32_t share(int samples, int step) { return static_cast<std::uint32_t>((samples + step - 1) / step); }

void raise(std::vector<std::uint32_t>& highest, const std::vector<std::uint32_t>& sums) {
    for (std::size_t i = 0; i < sums.size(); ++i) highest[i] = std::max(highest[i], sums[i]);
}

}  // namespace

template <class Sample>
void LumaLook::sum(const Plane& luma, int step, Lines& lines, std::int64_t& blocks, std::int64_t& outside) const {
    const bool exact = line_step_ > 0;
    const int along = exact ? line_step_ : step;  // from sample to sample of a line
    const int across = exact ? 1 : step;          // and from line to line
    lines.of_column = share(luma.height, along);
    lines.of_row = share(luma.width, along);
    lines.columns.assign(share(luma.width, across), 0);
    lines.rows.reserve(share(luma.height, across));
    std::vector<Sample> column_part(lines.columns.size()), row_part(lines.of_row), few(share(luma.width, step));
    // Blocks: their columns are summed first, then the columns of each.
    const int side = block_ / step_;
    const int down = static_cast<int>(share(luma.height, step)) / side;
    const std::size_t over = few.size() / static_cast<std::size_t>(side);
    std::vector<std::uint32_t> strip(over * static_cast<std::size_t>(side));
    const std::uint64_t unit = static_cast<std::uint64_t>(side) * side << (luma.depth - 8);
    const std::uint64_t least = static_cast<std::uint64_t>(lowest_) * unit;
    const std::uint64_t most = static_cast<std::uint64_t>(highest_) * unit;
    for (int y = 0; y < luma.height; y += exact ? 1 : step) {
        if (y % step == 0) gather(luma, y, step, few);
        if (exact) {
            gather(luma, y, along, row_part);
            if (y % along == 0) gather(luma, y, 1, column_part);
        }
        const std::vector<Sample>& of_row = exact ? row_part : few;
        lines.rows.push_back(std::accumulate(of_row.begin(), of_row.end(), std::uint32_t{0}));
        if (y % along == 0) add(lines.columns, exact ? column_part : few);
        if (y % step != 0 || y / step >= down * side) continue;
        add(strip, few);
        if ((y / step + 1) % side != 0) continue;
        for (std::size_t block = 0; block < over; ++block) {
            const auto begin = strip.begin() + static_cast<std::ptrdiff_t>(block) * side;
            const auto sum = std::accumulate(begin, begin + side, std::uint64_t{0});
            outside += sum < least || sum > most;
        }
        std::fill(strip.begin(), strip.end(), 0u);
    }
    blocks += static_cast<std::int64_t>(down) * static_cast<std::int64_t>(over);
}

bool LumaLook::study(const Plane& luma, bool thinned) {
    const int step = thinned ? 1 : step_;
    Lines lines;
    std::int64_t blocks = 0, outside = 0;
    if (luma.depth == 8)
        sum<std::uint8_t>(luma, step, lines, blocks, outside);
    else
        sum<std::uint16_t>(luma, step, lines, blocks, outside);
    const std::lock_guard held(lock_);
    if (highest_lines_.columns.empty()) {
        highest_lines_ = std::move(lines);
    } else {
        if (lines.columns.size() != highest_lines_.columns.size() || lines.rows.size() != highest_lines_.rows.size())
            return false;
        raise(highest_lines_.columns, lines.columns);
        raise(highest_lines_.rows, lines.rows);
    }
    blocks_ += blocks;
    outside_ += outside;
    return true;
}

LumaLook::Lines LumaLook::lines() const {
    const std::lock_guard held(lock_);
    return highest_lines_;
}

std::pair<std::int64_t, std::int64_t> LumaLook::blocks() const {
    const std::lock_guard held(lock_);
    return {blocks_, outside_};
}

}  // namespace acuity
