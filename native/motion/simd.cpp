// Motion with registers: the same sum as plain.cpp, two rows at a time.
//
// Rows of differences enter in pairs, interleaved for the multiplier of signed words. A blurred
// difference takes 17 bits, but seldom all of them: rows are kept as words, and what a word can't hold
// is kept in a second row, which is left out where it is 0. Differences of 16-bit samples, which take 17
// bits as well, travel as 2 * upper + lower.
#include "motion/table.h"
#include "simd/filter.h"

namespace acuity::ACUITY_ISA::motion {

constexpr int kReach = 2;  // taps on either side
constexpr int kPairs = 4;  // pairs of rows kept; three are in use

inline int blocks(int width) { return (width + kLanes16 - 1) / kLanes16; }

// Two rows, blurred vertically: value = words + 65536 * rest, where there is a rest.
struct Blurred {
    std::int16_t *words[2], *rest[2];
};

// The scratch block: pairs of rows of differences, upper and lower words, then the blurred rows, which
// have a register before and two after them.
class Rows {
  public:
    Rows(void* scratch, int width) : at_(static_cast<std::int16_t*>(scratch)), words_((blocks(width) + 3) * kLanes16) {}

    static std::size_t bytes(int width) {
        return (static_cast<std::size_t>(blocks(width)) + 3) * kLanes16 * (4 * kPairs + 4) * sizeof(std::int16_t);
    }

    std::int16_t* pair(int i, int part) const { return at_ + ((i & (kPairs - 1)) * 2 + part) * 2 * words_; }

    Blurred blurred() const {
        std::int16_t* first = at_ + 4 * kPairs * words_ + kLanes16;
        return {{first, first + words_}, {first + 2 * words_, first + 3 * words_}};
    }

  private:
    std::int16_t* at_;
    std::ptrdiff_t words_;
};

// ---- differences ------------------------------------------------------------------------------

// Rows 2 * i and 2 * i + 1.
template <class T, bool Deep>
inline void make_pair(const Plane& before, const Plane& now, int i, const Rows& rows) {
    const T *b[2], *n[2];
    for (int k = 0; k < 2; ++k) {
        const int y = mirror(2 * i + k, now.height);
        b[k] = static_cast<const T*>(row_of(before, y));
        n[k] = static_cast<const T*>(row_of(now, y));
    }
    const auto make = [&](int x, auto&& samples) {
        U16 upper[2], lower[2];
        for (int k = 0; k < 2; ++k) {
            const U16 p = samples(b[k]), q = samples(n[k]);
            upper[k] = Deep ? (p >> 1) - (q >> 1) - (~p & q & 1) : p - q;
            lower[k] = (p ^ q) & 1;
        }
        store_signed_pair(rows.pair(i, 0) + 2 * x, as<I16>(upper[0]), as<I16>(upper[1]));
        if constexpr (Deep) store_signed_pair(rows.pair(i, 1) + 2 * x, as<I16>(lower[0]), as<I16>(lower[1]));
    };
    int x = 0;
    for (; x + kLanes16 <= now.width; x += kLanes16) {
        for (int k = 0; k < 2; ++k) {  // the pair after this one
            prefetch(b[k] + x, 2 * before.stride);
            prefetch(n[k] + x, 2 * now.stride);
        }
        make(x, [x](const T* row) { return load_samples(row, x, x + kLanes16); });
    }
    if (x < now.width) make(x, [&](const T* row) { return load_samples(row, x, now.width); });
}

// ---- blur -------------------------------------------------------------------------------------

// Column sums of both rows of the pair in the middle of three.
inline void add_columns(const std::int16_t* const* pairs, int at, Wide* sums) {
    constexpr const auto& f = kMotionFilter;
    const SignedPair above(pairs[0] + at), here(pairs[1] + at), below(pairs[2] + at);
    add_pair<f[0], f[1]>(sums[0], above);
    add_pair<f[2], f[3]>(sums[0], here);
    add_pair<f[4], 0>(sums[0], below);
    add_pair<0, f[0]>(sums[1], above);
    add_pair<f[1], f[2]>(sums[1], here);
    add_pair<f[3], f[4]>(sums[1], below);
}

// (2 * upper + lower + 2^15) >> 16, where the sum may take 33 bits.
inline I32 join_halves(U32 upper, U32 lower) {
    return as<I32>(upper + as<U32>(as<I32>(lower + 32768u) >> 1)) >> 15;
}

// Blurs rows 2 * i and 2 * i + 1 vertically. Without a rest, says whether words hold them; whether the largest does is
// looked at once, because differences that large are rare.
template <bool Deep, bool Rest>
inline bool blur_columns(const Rows& rows, int i, int width, int depth) {
    const Blurred out = rows.blurred();
    const std::int16_t *upper[3], *lower[3];
    for (int k = 0; k < 3; ++k) {
        upper[k] = rows.pair(i - 1 + k, 0);
        lower[k] = rows.pair(i - 1 + k, 1);
    }
    const U32 round = splat<U32>(Deep ? 0 : 1u << (depth - 1));
    const Count shift(depth);
    U16 largest{};
    for (int x = 0; x < width; x += kLanes16) {
        Wide sums[2] = {{round, round}, {round, round}}, low[2] = {};
        add_columns(upper, 2 * x, sums);
        if constexpr (Deep) add_columns(lower, 2 * x, low);
        unroll<2>([&](auto r) {
            const auto blurred = [&](U32 sum, U32 lower_sum) {
                if constexpr (Deep) return join_halves(sum, lower_sum);
                return shift_right(as<I32>(sum), shift);
            };
            const I32 a = blurred(sums[r].a, low[r].a), b = blurred(sums[r].b, low[r].b);
            if constexpr (Rest) {
                store(out.words[r] + x, narrow(as<U32>(a) & 0xffffu, as<U32>(b) & 0xffffu));
                store(out.rest[r] + x, narrow_signed((a + 32768) >> 16, (b + 32768) >> 16));
            } else {
                const I16 words = narrow_signed(a, b);  // what a word can't hold comes out as 32767 or -32768
                largest = vmax(largest, as<U16>(abs16(words)));
                store(out.words[r] + x, words);
            }
        });
    }
    return Rest || !any(as<I32>(largest >= 32767));
}

// ---- sum --------------------------------------------------------------------------------------

// Blurs a row horizontally and sums its magnitude, which wraps as the reference's 32-bit sum does.
template <bool Rest>
inline std::uint32_t row_sad(const Blurred& rows, int row, int width) {
    const std::int16_t *words = rows.words[row] - kReach, *rests = rows.rest[row] - kReach;
    mirror_edges(rows.words[row], kReach, true, true, width);
    if constexpr (Rest) mirror_edges(rows.rest[row], kReach, true, true, width);
    const auto magnitudes = [&](int x) {
        const Wide sum = dot_signed<kMotionFilter>(32768, words + x);
        I32 a = as<I32>(sum.a) >> 16, b = as<I32>(sum.b) >> 16;
        if constexpr (Rest) {
            const Wide rest = dot_signed<kMotionFilter>(0, rests + x);
            a += as<I32>(rest.a);
            b += as<I32>(rest.b);
        }
        return Wide{as<U32>(abs32(a)), as<U32>(abs32(b))};
    };
    U32 sum{};
    const int last = (blocks(width) - 1) * kLanes16;
    for (int x = 0; x < last; x += kLanes16) {
        const Wide m = magnitudes(x);
        sum += m.a + m.b;
    }
    const int columns = width - last;
    const Wide m = magnitudes(last);
    sum += (m.a & as<U32>(column_offsets(0) < columns)) + (m.b & as<U32>(column_offsets(1) < columns));
    return static_cast<std::uint32_t>(sum_lanes(sum));
}

template <class T, bool Deep>
inline std::uint64_t sad(const Plane& before, const Plane& now, void* scratch) {
    const Rows rows(scratch, now.width);
    const Blurred blurred = rows.blurred();
    std::uint64_t total = 0;
    for (int i = -1; i < 1; ++i) make_pair<T, Deep>(before, now, i, rows);
    for (int i = 0; 2 * i < now.height; ++i) {
        make_pair<T, Deep>(before, now, i + 1, rows);
        const bool whole = blur_columns<Deep, false>(rows, i, now.width, now.depth);
        if (!whole) [[unlikely]] blur_columns<Deep, true>(rows, i, now.width, now.depth);
        for (int r = 0; r < 2 && 2 * i + r < now.height; ++r)
            total += whole ? row_sad<false>(blurred, r, now.width) : row_sad<true>(blurred, r, now.width);
    }
    return total;
}

inline std::uint64_t sad_of_depth(const Plane& before, const Plane& now, void* scratch) {
    if (now.depth == 8) return sad<std::uint8_t, false>(before, now, scratch);
    if (now.depth < 16) return sad<std::uint16_t, false>(before, now, scratch);
    return sad<std::uint16_t, true>(before, now, scratch);
}

}  // namespace acuity::ACUITY_ISA::motion

namespace acuity::ACUITY_ISA {

extern const MotionKernels motion_kernels;
const MotionKernels motion_kernels = {.scratch_bytes = motion::Rows::bytes, .sad = motion::sad_of_depth};

}  // namespace acuity::ACUITY_ISA
