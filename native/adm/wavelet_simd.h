// The wavelet transform of ADM with registers: columns first, then rows, as plain.cpp does it.
//
// Everything goes through the multiplier of signed words. At scale 0 samples are centred on zero, and
// filtered columns fit a word. Above, a 32-bit value v travels as two words, the upper one as it is
// and the lower one minus 32768: filters are linear, so 65536 * filter(upper) + filter(lower) +
// 32768 * (sum of taps) is the filtered value, and its rounding shift by 15 or 16 bits needs the lower
// part only. No 64-bit arithmetic is left.
#pragma once

#include "adm/table.h"
#include "simd/filter.h"

namespace acuity::ACUITY_ISA::adm {

// Columns of one picture that a strip reads: samples `begin` to `end` of rows that are `width` wide.
// Filtered rows keep sample 2 * origin - 1, the first that output column `origin` reads, at place 0.
struct Reading {
    int begin, end, width, origin;
    int place(int sample) const { return sample - (2 * origin - 1); }
};

// A filtered row of one picture. At scale 0 `lower` is not used.
struct Columns {
    struct Half {
        std::int16_t *upper, *lower;
    };
    Half low, high;  // low-pass and high-pass
};

// Half the sum of taps: what the lower words' offset of 32768 comes to in the upper ones.
template <const auto& Taps>
constexpr std::uint32_t half_sum() {
    return static_cast<std::uint32_t>((Taps[0] + Taps[1] + Taps[2] + Taps[3]) / 2);
}

// Rows that filters are given: those of four taps, then the two that the next row of bands is the first to read. These
// are fetched meanwhile: strips are too narrow for the machine to see by itself which lines come next.
constexpr int kTapRows = 6;

// Tap k of row y of the bands: rows are reflected before the first, repeated backwards after the last.
inline int tap_row(int y, int k, int height) {
    const int at = 2 * y - 1 + k;
    if (at < 0) return -at;
    return at < height ? at : 2 * height - at - 1;
}

// The same for columns, where the strip reaches the picture's edges.
inline void repeat_edges(std::int16_t* row, const Reading& in) {
    if (in.begin == 0) row[0] = row[2];
    if (in.end < in.width) return;
    std::int16_t* end = row + in.place(in.width);
    end[0] = end[-1];
    end[1] = end[-2];
}

// ---- scale 0 ----------------------------------------------------------------------------------

template <const auto& Taps>
inline I16 column_words(const I16* s, std::uint32_t add, Count shift) {
    Wide sum{splat<U32>(add), splat<U32>(add)};
    add_pair<Taps[0], Taps[1]>(sum, SignedPair(s[0], s[1]));
    add_pair<Taps[2], Taps[3]>(sum, SignedPair(s[2], s[3]));
    return narrow_signed(shift_right(as<I32>(sum.a), shift), shift_right(as<I32>(sum.b), shift));
}

// Bytes are small enough to be filtered as they are; words are centred for any depth.
template <class T>
struct SampleFilter {
    static constexpr std::uint16_t kCentre = sizeof(T) == 1 ? 0 : 0x8000;
    std::uint32_t low_add, high_add;
    Count shift;

    explicit SampleFilter(int depth)
        : low_add((1u << (depth - 1)) + static_cast<std::uint32_t>(kDwtLowSum) * (kCentre - (1u << (depth - 1)))),
          high_add(1u << (depth - 1)), shift(depth) {}

    // kLanes16 columns of four rows.
    template <bool Both>
    void filter(const T* const* rows, int x, const Columns& out, int at) const {
        I16 s[4];
        for (int k = 0; k < 4; ++k) {
            if constexpr (sizeof(T) == 1) {
                s[k] = as<I16>(widen_u8(rows[k] + x));
            } else {
                s[k] = as<I16>(load<U16>(rows[k] + x) ^ kCentre);
            }
        }
        store(out.low.upper + at, column_words<kDwtLow>(s, low_add, shift));
        if constexpr (Both) store(out.high.upper + at, column_words<kDwtHigh>(s, high_add, shift));
    }

    static void repeat(const Columns::Half& row, const Reading& in) { repeat_edges(row.upper, in); }
};

template <bool Both, class T, class Filter>
inline void filter_samples(const T* const* rows, const Reading& in, const Filter& samples, const Columns& columns) {
    const Filter f = samples;
    const Columns out = columns;
    const T* const row[kTapRows] = {rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]};
    const auto filter = [&](const T* const* from, int x, int at) {
        f.template filter<Both>(from, x, out, at);
    };
    const int last = in.width - kLanes16;  // where the last whole register starts
    int x = in.begin;
    for (; x + kLanes16 < in.end && x + kLanes16 <= last; x += 2 * kLanes16) {
        prefetch(row[4] + x, 0);
        prefetch(row[5] + x, 0);
        filter(row, x, in.place(x));
        filter(row, x + kLanes16, in.place(x + kLanes16));
    }
    for (; x < in.end && x <= last; x += kLanes16) filter(row, x, in.place(x));
    if (x < in.end && last >= in.begin) filter(row, last, in.place(last));
    if (x < in.end && last < in.begin) {
        T part[4][kLanes16] = {};
        for (int k = 0; k < 4; ++k) std::memcpy(part[k], row[k] + x, (in.end - x) * sizeof(T));
        const T* const parts[4] = {part[0], part[1], part[2], part[3]};
        filter(parts, 0, in.place(x));
    }
    Filter::repeat(out.low, in);
    if constexpr (Both) Filter::repeat(out.high, in);
}

// ---- scale 1 ----------------------------------------------------------------------------------

// Filtered columns of words, which are not rounded, as two words.
struct WordFilter {
    template <const auto& Taps>
    static void store_columns(const I16* s, const Columns::Half& out, int at) {
        Wide sum{};
        add_pair<Taps[0], Taps[1]>(sum, SignedPair(s[0], s[1]));
        add_pair<Taps[2], Taps[3]>(sum, SignedPair(s[2], s[3]));
        store(out.upper + at, narrow_signed(as<I32>(sum.a) >> 16, as<I32>(sum.b) >> 16));
        store(out.lower + at, as<I16>(narrow(sum.a & 0xffffu, sum.b & 0xffffu)) ^ splat<I16>(-32768));
    }

    template <bool Both>
    void filter(const std::int16_t* const* rows, int x, const Columns& out, int at) const {
        I16 s[4];
        for (int k = 0; k < 4; ++k) s[k] = load<I16>(rows[k] + x);
        store_columns<kDwtLow>(s, out.low, at);
        if constexpr (Both) store_columns<kDwtHigh>(s, out.high, at);
    }

    static void repeat(const Columns::Half& row, const Reading& in) {
        repeat_edges(row.upper, in);
        repeat_edges(row.lower, in);
    }
};

// ---- scales 2 and 3 ---------------------------------------------------------------------------

inline I16 lower_pair(U32 a, U32 b) { return as<I16>((a & 0xffffu) | (b << 16)); }
inline I16 upper_pair(U32 a, U32 b) { return as<I16>((a >> 16) | (b & 0xffff0000u)); }

inline U32 load_lanes(const std::int32_t* row, int x, int end) {
    if (end - x >= kLanes32) [[likely]] return load<U32>(row + x);
    std::int32_t part[kLanes32] = {};
    if (x < end) std::memcpy(part, row + x, (end - x) * sizeof part[0]);
    return load<U32>(part);
}

// Four rows' taps of 32-bit lanes as pairs of words.
struct TapLanes {
    I16 lower[2], upper[2];

    explicit TapLanes(const U32* v) {
        for (int i = 0; i < 2; ++i) {
            lower[i] = lower_pair(v[2 * i], v[2 * i + 1]) ^ splat<I16>(-32768);
            upper[i] = upper_pair(v[2 * i], v[2 * i + 1]);
        }
    }

    template <const auto& Taps>
    U32 filter() const {
        const auto dot = [](std::uint32_t add, const I16* pairs) {
            return dot2(dot2(splat<U32>(add), pairs[0], tap_pair<Taps[0], Taps[1]>()), pairs[1],
                        tap_pair<Taps[2], Taps[3]>());
        };
        return dot(half_sum<Taps>(), upper) + as<U32>(as<I32>(dot(32768, lower)) >> 16);
    }
};

inline void store_words(const Columns::Half& out, int at, U32 a, U32 b) {
    store(out.upper + at, upper_words(a, b));
    store(out.lower + at, lower_words(a, b) ^ splat<I16>(-32768));
}

inline void filter_lanes(const std::int32_t* const* rows, const Reading& in, bool both, const Columns& out) {
    for (int x = in.begin, at = in.place(in.begin); x < in.end; x += kLanes16, at += kLanes16) {
        U32 low[2], high[2];
        prefetch(rows[4] + x, 0);
        prefetch(rows[5] + x, 0);
        unroll<2>([&](auto half) {
            U32 v[4];
            unroll<4>([&](auto k) { v[k] = load_lanes(rows[k], x + half * kLanes32, in.width); });
            const TapLanes taps(v);
            low[half] = taps.filter<kDwtLow>();
            high[half] = taps.filter<kDwtHigh>();
        });
        store_words(out.low, at, low[0], low[1]);
        if (both) store_words(out.high, at, high[0], high[1]);
    }
    repeat_edges(out.low.upper, in);
    repeat_edges(out.low.lower, in);
    if (!both) return;
    repeat_edges(out.high.upper, in);
    repeat_edges(out.high.lower, in);
}

// ---- rows -------------------------------------------------------------------------------------

// One band, kLanes32 columns from the x-th after `origin`. At scale 0 the upper words hold it.
template <int Scale, const auto& Taps>
inline U32 filter_row(const Columns::Half& in, int x) {
    if constexpr (Scale == 0) {
        return dot_even<Taps>(splat<U32>(32768), in.upper + 2 * x);
    } else {
        constexpr int shift = Scale == 2 ? 16 : 15;
        const U32 upper = dot_even<Taps>(splat<U32>(half_sum<Taps>()), in.upper + 2 * x);
        const U32 lower = dot_even<Taps>(splat<U32>(1u << (shift - 1)), in.lower + 2 * x);
        return (upper << (16 - shift)) + as<U32>(as<I32>(lower) >> shift);
    }
}

// Columns `begin` to `end` of the low-pass band, `width` wide. What is stored after `end` is nothing yet:
// the next strip makes it.
template <int Scale>
inline void low_row(const Columns& in, int origin, int begin, int end, int width, AdmLowSample<Scale>* out,
                    std::ptrdiff_t stride) {
    constexpr int lanes = kBytes / sizeof *out;
    const auto filter = [&](int x) {
        const U32 sums = filter_row<Scale, kDwtLow>(in.low, x - origin);
        if constexpr (Scale > 0) return sums;
        else return upper_words(sums, filter_row<Scale, kDwtLow>(in.low, x - origin + kLanes32));
    };
    const int last = width - lanes;  // where the last whole register starts
    int x = begin;
    for (; x < end && x <= last; x += lanes) {
        __builtin_prefetch(out + stride + x, 1);
        store(out + x, filter(x));
    }
    if (x < end && last >= begin) store(out + last, filter(last));
    if (x < end && last < begin) {
        AdmLowSample<Scale> part[lanes];
        store(part, filter(x));
        std::memcpy(out + x, part, (end - x) * sizeof part[0]);
    }
}

}  // namespace acuity::ACUITY_ISA::adm
