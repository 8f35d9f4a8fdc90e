// Rows in a pipeline that stays in the cache; the compiler vectorises the loops over columns.
#include <algorithm>

#include "cambi/simd_kernels.h"

namespace acuity::ACUITY_ISA {

namespace {

using Word = std::uint16_t;

constexpr int kRadius = kCambiFlatRadius;
constexpr int kValueRows = kRadius + 2;      // from the one being marked to the one below the last compared
constexpr int kSameRows = 2 * kRadius + 2;  // those summed up, and the one that leaves

class Rows {
  public:
    Rows(const CambiSource& source, Carver carver) : s_(source) {
        for (Word*& row : taken_) row = carver.grid<Word>(s_.width, 1).data;
        for (Word*& row : made_) row = carver.grid<Word>(s_.width, 1).data;
        for (Word*& row : same_) row = carver.grid<Word>(s_.width, 1).data;
        sums_ = carver.grid<Word>(s_.width + 2 * kRadius, 1).data;
        marked_ = carver.grid<Word>(s_.width, 1).data;
        std::fill_n(sums_, s_.width + 2 * kRadius, Word{0});
    }

    const Word* marked() const { return marked_; }

    // The samples of a row.
    void make(int y) {
        const int place = y % kValueRows;
        if (!s_.smooth) {
            values_[place] = take(y, made_[place]);
            return;
        }
        if (y == 0) averaged_ = take(0, taken_[0]);
        const Word* below = y + 1 < s_.height ? take(y + 1, taken_[(y + 1) % 2]) : nullptr;
        average(averaged_, below, made_[place]);
        values_[place] = made_[place];
        averaged_ = below;
    }

    // Which samples of a row equal their neighbours.
    void compare(int y) {
        const Word* row = values(y);
        const Word* below = y + 1 < s_.height ? values(y + 1) : row;
        Word* __restrict same = same_[y % kSameRows];
        const int last = s_.width - 1;
        for (int x = 0; x < last; ++x) same[x] = static_cast<Word>((row[x] == row[x + 1]) & (row[x] == below[x]));
        same[last] = row[last] == below[last];
    }

    // Sums of columns over the rows y - 2 * kRadius to y.
    void slide(int y) {
        Word* __restrict sums = sums_ + kRadius;
        const Word* enter = y < s_.height ? same_[y % kSameRows] : nullptr;
        const Word* leave = y > 2 * kRadius ? same_[(y - 2 * kRadius - 1) % kSameRows] : nullptr;
        if (enter != nullptr && leave != nullptr) {
            for (int x = 0; x < s_.width; ++x) sums[x] = static_cast<Word>(sums[x] + enter[x] - leave[x]);
        } else if (enter != nullptr) {
            for (int x = 0; x < s_.width; ++x) sums[x] = static_cast<Word>(sums[x] + enter[x]);
        } else if (leave != nullptr) {
            for (int x = 0; x < s_.width; ++x) sums[x] = static_cast<Word>(sums[x] - leave[x]);
        }
    }

    // The samples of a row, marked; `slide` has come to the last row around it.
    void mark(int y, Word* __restrict out) const {
        static_assert(kRadius == 3);
        const Word* row = values(y);
        const Word* __restrict s = sums_;
        const auto flat = static_cast<Word>(s_.flat);
        for (int x = 0; x < s_.width; ++x) {
            const auto count =
                static_cast<Word>(s[x] + s[x + 1] + s[x + 2] + s[x + 3] + s[x + 4] + s[x + 5] + s[x + 6]);
            out[x] = static_cast<Word>(row[x] | (count > flat ? Word{0} : kCambiBusy));
        }
    }
    void mark(int y) const { mark(y, marked_); }

  private:
    const Word* values(int y) const { return values_[y % kValueRows]; }

    template <class Sample>
    static void convert(const Sample* __restrict in, Word* __restrict out, int width, int depth) {
        if (depth <= 10) {
            const int shift = 10 - depth;
            for (int x = 0; x < width; ++x) out[x] = static_cast<Word>(in[x] << shift);
        } else {
            const int shift = depth - 10, half = 1 << (shift - 1);
            for (int x = 0; x < width; ++x) out[x] = static_cast<Word>((in[x] + half) >> shift);
        }
    }

    template <class Sample>
    void take_from(const Sample* in, Word* out) const {
        if (s_.columns == nullptr) return convert(in, out, s_.width, s_.in.depth);
        auto* picked = reinterpret_cast<Sample*>(marked_);  // free while rows are made
        for (int x = 0; x < s_.width; ++x) picked[x] = in[s_.columns[x]];
        convert(picked, out, s_.width, s_.in.depth);
    }

    // A row in 10 bits, in `room` unless it is there already.
    const Word* take(int y, Word* room) const {
        const int from = s_.rows == nullptr ? y : s_.rows[y];
        const void* row = static_cast<const std::byte*>(s_.in.data) + s_.in.stride * from;
        if (s_.in.depth == 10 && s_.columns == nullptr) return static_cast<const Word*>(row);
        if (s_.in.depth == 8)
            take_from(static_cast<const std::uint8_t*>(row), room);
        else
            take_from(static_cast<const Word*>(row), room);
        return room;
    }

    // With the right neighbour and those in the row below, where there are any.
    void average(const Word* row, const Word* below, Word* __restrict out) const {
        const int last = s_.width - 1;
        if (below != nullptr) {
            for (int x = 0; x < last; ++x)
                out[x] = static_cast<Word>(static_cast<Word>(row[x] + row[x + 1] + below[x] + below[x + 1]) >> 2);
            out[last] = static_cast<Word>((row[last] + below[last]) >> 1);
        } else {
            for (int x = 0; x < last; ++x) out[x] = static_cast<Word>((row[x] + row[x + 1]) >> 1);
            out[last] = row[last];
        }
    }

    const CambiSource& s_;
    Word *taken_[2], *made_[kValueRows];
    const Word* averaged_;            // the row whose average comes next
    const Word* values_[kValueRows];  // rows as they are judged
    Word* same_[kSameRows];
    Word* sums_;  // kRadius zeros on either side
    Word* marked_;
};

}  // namespace

void cambi_flatten(const CambiSource& s, void* scratch, CambiPlane out) {
    Rows rows(s, Carver(scratch));
    rows.make(0);
    for (int y = 0; y < s.height + kRadius; ++y) {
        if (y + 1 < s.height) rows.make(y + 1);
        if (y < s.height) rows.compare(y);
        rows.slide(y);
        const int centre = y - kRadius;
        if (centre < 0) continue;
        if (!s.halve) {
            Word* to = out.data + centre * out.stride;
            rows.mark(centre, to);
            std::fill(to + s.width, to + out.stride, kCambiBusy);
        } else if (centre % 2 == 0) {
            rows.mark(centre);
            Word* to = out.data + centre / 2 * out.stride;
            const int width = (s.width + 1) / 2;
            for (int x = 0; x < width; ++x) to[x] = rows.marked()[2 * x];
            std::fill(to + width, to + out.stride, kCambiBusy);
        }
    }
}

}  // namespace acuity::ACUITY_ISA
