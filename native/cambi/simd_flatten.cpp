// Rows in a pipeline that stays in the cache; the compiler vectorises the loops over columns.
#include <algorithm>

#include "cambi/simd_kernels.h"

namespace acuity::ACUITY_ISA {

namespace {

using Byte = std::uint8_t;
using Word = std::uint16_t;

constexpr int kRadius = kCambiFlatRadius;
constexpr int kValueRows = kRadius + 2;      // from the one being marked to the one below the last compared
constexpr int kSameRows = 2 * kRadius + 2;  // those summed up, and the one that leaves

class Rows {
  public:
    Rows(const CambiSource& source, Carver carver) : s_(source) {
        for (Word*& row : taken_) row = carver.grid<Word>(s_.width, 1).data;
        for (Word*& row : made_) row = carver.grid<Word>(s_.width, 1).data;
        for (Byte*& row : same_) row = carver.grid<Byte>(s_.width, 1).data;
        sums_ = carver.grid<Byte>(s_.width + 2 * kRadius, 1).data;
        marked_ = carver.grid<Word>(s_.width, 1).data;
        std::fill_n(sums_, s_.width + 2 * kRadius, Byte{0});
    }

    const Word* marked() const { return marked_; }

    // The samples of a row.
    void make(int y) {
        const int place = y % kValueRows;
        if (!s_.smooth) {
            values_[place] = take(y, made_[place]);
            return;
        }
        values_[place] = made_[place];
        const bool last = y + 1 == s_.height;
        if (s_.in.depth <= 10 && s_.columns == nullptr) {  // converting afterwards comes to the same
            const void *row = source_row(y), *below = last ? nullptr : source_row(y + 1);
            if (s_.in.depth == 8)
                return average<2>(static_cast<const Byte*>(row), static_cast<const Byte*>(below), made_[place]);
            const auto *words = static_cast<const Word*>(row), *beneath = static_cast<const Word*>(below);
            if (s_.in.depth == 9) return average<1>(words, beneath, made_[place]);
            return average<0>(words, beneath, made_[place]);
        }
        if (y == 0) averaged_ = take(0, taken_[0]);
        const Word* below = last ? nullptr : take(y + 1, taken_[(y + 1) % 2]);
        average<0>(averaged_, below, made_[place]);
        averaged_ = below;
    }

    // Which samples of a row equal their neighbours.
    void compare(int y) {
        const Word* row = values(y);
        const Word* below = y + 1 < s_.height ? values(y + 1) : row;
        Byte* __restrict same = same_[y % kSameRows];
        const int last = s_.width - 1;
        for (int x = 0; x < last; ++x) same[x] = static_cast<Byte>((row[x] == row[x + 1]) & (row[x] == below[x]));
        same[last] = row[last] == below[last];
    }

    // Sums of columns over the rows y - 2 * kRadius to y: 7 at most, and 49 of all the surroundings.
    void slide(int y) {
        const int width = s_.width;  // bytes that are written might be anything's
        Byte* __restrict sums = sums_ + kRadius;
        const Byte* enter = y < s_.height ? same_[y % kSameRows] : nullptr;
        const Byte* leave = y > 2 * kRadius ? same_[(y - 2 * kRadius - 1) % kSameRows] : nullptr;
        if (enter != nullptr && leave != nullptr) {
            for (int x = 0; x < width; ++x) sums[x] = static_cast<Byte>(sums[x] + enter[x] - leave[x]);
        } else if (enter != nullptr) {
            for (int x = 0; x < width; ++x) sums[x] = static_cast<Byte>(sums[x] + enter[x]);
        } else if (leave != nullptr) {
            for (int x = 0; x < width; ++x) sums[x] = static_cast<Byte>(sums[x] - leave[x]);
        }
    }

    // The samples of a row, marked; `slide` has come to the last row around it.
    void mark(int y, Word* __restrict out) const {
        static_assert(kRadius == 3);
        const Word* row = values(y);
        const Byte* __restrict s = sums_;
        const auto flat = static_cast<Byte>(s_.flat);
        for (int x = 0, width = s_.width; x < width; ++x) {
            const auto count =
                static_cast<Byte>(s[x] + s[x + 1] + s[x + 2] + s[x + 3] + s[x + 4] + s[x + 5] + s[x + 6]);
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

    const void* source_row(int y) const {
        const int from = s_.rows == nullptr ? y : s_.rows[y];
        return static_cast<const std::byte*>(s_.in.data) + s_.in.stride * from;
    }

    // A row in 10 bits, in `room` unless it is there already.
    const Word* take(int y, Word* room) const {
        const void* row = source_row(y);
        if (s_.in.depth == 10 && s_.columns == nullptr) return static_cast<const Word*>(row);
        if (s_.in.depth == 8)
            take_from(static_cast<const std::uint8_t*>(row), room);
        else
            take_from(static_cast<const Word*>(row), room);
        return room;
    }

    static U16 words(const Byte* samples) { return widen_u8(samples); }
    static U16 words(const Word* samples) { return load<U16>(samples); }

    // With the right neighbour and those in the row below, where there are any, all raised by `Up` bits to 10.
    template <int Up, class Sample>
    void average(const Sample* row, const Sample* below, Word* __restrict out) const {
        const int last = s_.width - 1;
        const auto mean = [](int sum, int down) { return static_cast<Word>(static_cast<Word>(sum << Up) >> down); };
        if (below != nullptr) {
            int x = 0;
            for (; x + kLanes16 <= last; x += kLanes16) {  // the compiler would convert ever more halves
                const U16 sum = words(row + x) + words(row + x + 1) + words(below + x) + words(below + x + 1);
                store(out + x, Up == 2 ? sum : (sum << Up) >> 2);
            }
            for (; x < last; ++x) out[x] = mean(row[x] + row[x + 1] + below[x] + below[x + 1], 2);
            out[last] = mean(row[last] + below[last], 1);
        } else {
            for (int x = 0; x < last; ++x) out[x] = mean(row[x] + row[x + 1], 1);
            out[last] = mean(row[last], 0);
        }
    }

    const CambiSource& s_;
    Word *taken_[2], *made_[kValueRows];
    const Word* averaged_;            // the row whose average comes next
    const Word* values_[kValueRows];  // rows as they are judged
    Byte* same_[kSameRows];
    Byte* sums_;  // kRadius zeros on either side
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
