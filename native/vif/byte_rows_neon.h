// VIF's vertical filter by dot products of bytes (ARMv8.2's UDOT): sixteen products an instruction, on both vector
// pipes, where products of words take four, on one.
//
// Samples, their products and the taps are split into bytes. A byte's plane holds four rows side by side, so that a
// lane of 32 bits has what one column adds to a sum; sums of bytes of equal weight share an accumulator. Each is below
// 2 * 17 * 255 * 255 < 2^22, so none overflows, and weights are joined exactly.
#pragma once

#include "simd/filter.h"
#include "vif/table.h"

namespace acuity::ACUITY_ISA::vif {

constexpr int kGroup = 4;        // rows side by side
constexpr int kGroupRing = 8;    // groups kept; a power of two, at least those that a block of rows needs
constexpr int kMostPlanes = 16;  // two samples and three products, of two and four bytes

using GroupSlot = std::uint8_t[kMostPlanes][kGroup * kSpan];

// How many bytes a sample and a product of two have.
template <int SampleBytes, int ProductBytes>
struct ByteForm {
    static constexpr int sample = SampleBytes, product = ProductBytes;
    static constexpr int plane_of_product(int m) { return 2 * sample + m * product; }
};

// How a filter of K taps meets the groups of rows that four output rows need; the first of them starts at or above the
// first tap of the first row.
template <const auto& Taps>
struct GroupReach {
    static constexpr int k = sizeof(Taps) / sizeof(Taps[0]), half = k / 2;
    static constexpr int above = (half + kGroup - 1) / kGroup * kGroup;
    static constexpr int groups = (above - half + kGroup - 1 + k + kGroup - 1) / kGroup;
    static constexpr int block = groups + kRows / kGroup - 1;  // groups that a block of rows needs
    static constexpr int words = 2 * kGroup * groups, registers = (words + 3) / 4;

    // Byte `b` of the taps that output row q has for the rows of group g: a word.
    static constexpr std::uint32_t word(int b, int q, int g) {
        std::uint32_t bytes = 0;
        for (int r = 0; r < kGroup; ++r) {
            const int t = g * kGroup + r - (above - half + q);
            const std::uint32_t tap = t >= 0 && t < k ? Taps[t] : 0;
            bytes |= (tap >> (8 * b) & 255u) << (8 * r);
        }
        return bytes;
    }
    static constexpr int at(int b, int q, int g) { return (b * kGroup + q) * groups + g; }
    struct Words {
        alignas(16) std::uint32_t word[4 * registers] = {};
    };
    static constexpr Words make() {
        Words w;
        for (int b = 0; b < 2; ++b)
            for (int q = 0; q < kGroup; ++q)
                for (int g = 0; g < groups; ++g) w.word[at(b, q, g)] = word(b, q, g);
        return w;
    }
    static constexpr Words table = make();

    uint32x4_t lanes[registers];
    [[gnu::always_inline]] GroupReach() {
        for (int i = 0; i < registers; ++i) lanes[i] = vld1q_u32(table.word + 4 * i);
    }
};

// ---- from pictures to planes of bytes ---------------------------------------------------------

// Bytes of sixteen columns; byte i of each sample or product in register i.
template <int Bytes>
struct Columns {
    uint8x16_t byte[Bytes];
};

inline Columns<1> read_columns(const std::uint8_t* p) { return {{vld1q_u8(p)}}; }
inline Columns<2> read_columns(const std::uint16_t* p) {
    const uint8x16_t a = vreinterpretq_u8_u16(vld1q_u16(p)), b = vreinterpretq_u8_u16(vld1q_u16(p + 8));
    return {{vuzp1q_u8(a, b), vuzp2q_u8(a, b)}};
}

// Sixteen columns of a row from column x; the row must not be read beyond `end`.
template <class T>
inline const T* columns_within(const T* row, int x, int end, T (&part)[16]) {
    if (end - x >= 16) return row + x;
    std::memset(part, 0, sizeof part);
    std::memcpy(part, row + x, (end - x) * sizeof(T));
    return part;
}

template <int Bytes>
inline Columns<Bytes> multiply(const std::uint8_t* a, const std::uint8_t* b) {
    const uint8x16_t x = vld1q_u8(a), y = vld1q_u8(b);
    const uint8x16_t low = vreinterpretq_u8_u16(vmull_u8(vget_low_u8(x), vget_low_u8(y)));
    const uint8x16_t high = vreinterpretq_u8_u16(vmull_high_u8(x, y));
    return {{vuzp1q_u8(low, high), vuzp2q_u8(low, high)}};
}

template <int Bytes>
inline Columns<Bytes> multiply(const std::uint16_t* a, const std::uint16_t* b) {
    uint16x8_t low[2], high[2];
    for (int h = 0; h < 2; ++h) {
        const uint16x8_t x = vld1q_u16(a + 8 * h), y = vld1q_u16(b + 8 * h);
        const uint16x8_t p = vreinterpretq_u16_u32(vmull_u16(vget_low_u16(x), vget_low_u16(y)));
        const uint16x8_t q = vreinterpretq_u16_u32(vmull_high_u16(x, y));
        low[h] = vuzp1q_u16(p, q), high[h] = vuzp2q_u16(p, q);
    }
    const auto even = [](const uint16x8_t (&v)[2]) {
        return vuzp1q_u8(vreinterpretq_u8_u16(v[0]), vreinterpretq_u8_u16(v[1]));
    };
    const auto odd = [](const uint16x8_t (&v)[2]) {
        return vuzp2q_u8(vreinterpretq_u8_u16(v[0]), vreinterpretq_u8_u16(v[1]));
    };
    if constexpr (Bytes == 3) return {{even(low), odd(low), even(high)}};
    if constexpr (Bytes == 4) return {{even(low), odd(low), even(high), odd(high)}};
}

// Four rows side by side: room for 64 bytes in each of the planes.
template <int Bytes>
inline void store_group(std::uint8_t (*plane)[kGroup * kSpan], int at, const Columns<Bytes> (&row)[kGroup]) {
    for (int b = 0; b < Bytes; ++b) {
        const uint8x16x2_t even = vzipq_u8(row[0].byte[b], row[2].byte[b]);
        const uint8x16x2_t odd = vzipq_u8(row[1].byte[b], row[3].byte[b]);
        for (int h = 0; h < 2; ++h) {
            vst1q_u8(plane[b] + at + 32 * h, vzip1q_u8(even.val[h], odd.val[h]));
            vst1q_u8(plane[b] + at + 32 * h + 16, vzip2q_u8(even.val[h], odd.val[h]));
        }
    }
}

template <class T, class Form>
inline void make_group(const VifLevel& level, int first_row, int x0, int x1, GroupSlot& slot) {
    const T *ref[kGroup], *dis[kGroup];
    for (int r = 0; r < kGroup; ++r) {
        const int y = mirror(first_row + r, level.ref.height);
        ref[r] = static_cast<const T*>(row_of(level.ref, y));
        dis[r] = static_cast<const T*>(row_of(level.dis, y));
    }
    // A strip's piece of a row is too short for the processor to notice that the next rows follow.
    const int next = first_row + 2 * kGroup <= level.ref.height && first_row >= 0 ? kGroup : 0;
    for (int x = x0, at = 0; x < x1; x += 16, at += 16 * kGroup) {
        const T *a[kGroup], *b[kGroup];
        T a_part[kGroup][16], b_part[kGroup][16];
        for (int r = 0; r < kGroup; ++r) {
            prefetch(ref[r] + x, next * level.ref.stride);
            prefetch(dis[r] + x, next * level.dis.stride);
            a[r] = columns_within(ref[r], x, x1, a_part[r]);
            b[r] = columns_within(dis[r], x, x1, b_part[r]);
        }
        const auto samples = [&](const T* const (&p)[kGroup], int plane) {
            Columns<Form::sample> rows[kGroup];
            for (int r = 0; r < kGroup; ++r) rows[r] = read_columns(p[r]);
            store_group(slot + plane, at, rows);
        };
        const auto products = [&](const T* const (&p)[kGroup], const T* const (&q)[kGroup], int m) {
            Columns<Form::product> rows[kGroup];
            for (int r = 0; r < kGroup; ++r) rows[r] = multiply<Form::product>(p[r], q[r]);
            store_group(slot + Form::plane_of_product(m), at, rows);
        };
        samples(a, 0);
        samples(b, Form::sample);
        products(a, a, 0);
        products(b, b, 1);
        products(a, b, 2);
    }
}

// ---- vertical ---------------------------------------------------------------------------------

// Sums of four columns for four output rows, byte by byte; [i] weighs 256^i.
template <const auto& Taps, int Bytes>
[[gnu::always_inline]] inline void dot_groups(const GroupReach<Taps>& taps, const GroupSlot* const* slot, int plane,
                                              int at, uint32x4_t (&sum)[kGroup][Bytes + 1]) {
    using R = GroupReach<Taps>;
    unroll<R::groups>([&](auto g) __attribute__((always_inline)) {
        unroll<Bytes>([&](auto b) __attribute__((always_inline)) {
            const uint8x16_t v = vld1q_u8((*slot[g])[plane + b] + kGroup * at);
            unroll<kGroup>([&](auto q) __attribute__((always_inline)) {
                unroll<2>([&](auto t) __attribute__((always_inline)) {
                    if constexpr (R::word(t, q, g) != 0) {
                        constexpr int lane = R::at(t, q, g);
                        sum[q][b + t] = vdotq_laneq_u32(sum[q][b + t], v, vreinterpretq_u8_u32(taps.lanes[lane / 4]),
                                                        lane % 4);
                    }
                });
            });
        });
    });
}

// The sum of bytes' sums, rounded down by `shift` bits (1..16, and 0 of products of bytes).
template <int N>
[[gnu::always_inline]] inline uint32x4_t join_bytes(const uint32x4_t (&s)[N], int shift) {
    const auto up = [](uint32x4_t v, auto n) { return vshlq_n_u32(v, n); };
    constexpr std::integral_constant<int, 8> one{};
    if constexpr (N == 3) {  // below 2^32 as it is
        const uint32x4_t all = vaddq_u32(s[0], up(vaddq_u32(s[1], up(s[2], one)), one));
        return vrshlq_u32(all, vdupq_n_s32(-shift));
    } else {
        uint32x4_t upper = vaddq_u32(s[2], up(s[3], one));
        if constexpr (N == 5) upper = vaddq_u32(upper, up(s[4], std::integral_constant<int, 16>{}));
        const uint32x4_t lower = vrshlq_u32(vaddq_u32(s[0], up(s[1], one)), vdupq_n_s32(-shift));
        return vaddq_u32(lower, vshlq_u32(upper, vdupq_n_s32(16 - shift)));
    }
}

template <const auto& Taps, class Form, class Row>
inline void filter_groups(const GroupSlot* const* slot, int columns, int shift_mu, int shift_sq, int row_at, Row* rows) {
    const GroupReach<Taps> taps;
    for (int x = 0; x < columns; x += 4) {
        for (int first = 0; first < kRows; first += kGroup) {
            const GroupSlot* const* from = slot + first / kGroup;
            for (int p = 0; p < 2; ++p) {
                uint32x4_t sum[kGroup][Form::sample + 1] = {};
                if constexpr (Form::sample == 1)  // rounded by 8 bits, as depth asks
                    for (auto& s : sum) s[0] = vdupq_n_u32(128);
                dot_groups<Taps, Form::sample>(taps, from, p * Form::sample, x, sum);
                for (int q = 0; q < kGroup; ++q) {
                    uint32x4_t mean;
                    if constexpr (Form::sample == 1) {
                        mean = vsraq_n_u32(sum[q][1], sum[q][0], 8);
                    } else {
                        mean = join_bytes(sum[q], shift_mu);
                    }
                    vst1_u16(rows[first + q].mean[p] + row_at + x, vmovn_u32(mean));
                }
            }
            for (int m = 0; m < 3; ++m) {
                uint32x4_t sum[kGroup][Form::product + 1] = {};
                dot_groups<Taps, Form::product>(taps, from, Form::plane_of_product(m), x, sum);
                for (int q = 0; q < kGroup; ++q) {
                    uint32x4_t all;
                    if constexpr (Form::product == 2) {  // of bytes, whose sums are kept whole
                        all = vaddq_u32(sum[q][0], vshlq_n_u32(vaddq_u32(sum[q][1], vshlq_n_u32(sum[q][2], 8)), 8));
                    } else {
                        all = join_bytes(sum[q], shift_sq);
                    }
                    rows[first + q].moment[m].store(row_at + x, as<U32>(all));
                }
            }
        }
    }
}

// The groups of rows of a strip, made as they are needed.
template <class T, const auto& Taps>
class GroupRows {
    using R = GroupReach<Taps>;

  public:
    GroupRows(const VifLevel& level, int c0, int c1, GroupSlot* ring) : level_(level), c0_(c0), c1_(c1), ring_(ring) {}

    // Eight filtered rows from row y on, a multiple of eight.
    template <class Row>
    void filter(int y, int shift_mu, int shift_sq, int row_at, Row* rows) {
        if constexpr (sizeof(T) == 1) {
            filter<ByteForm<1, 2>>(y, shift_mu, shift_sq, row_at, rows);
        } else if (level_.scale == 0 && level_.ref.depth <= 12) {
            filter<ByteForm<2, 3>>(y, shift_mu, shift_sq, row_at, rows);
        } else {
            filter<ByteForm<2, 4>>(y, shift_mu, shift_sq, row_at, rows);
        }
    }

  private:
    template <class Form, class Row>
    void filter(int y, int shift_mu, int shift_sq, int row_at, Row* rows) {
        const int first = (y - R::above) / kGroup;
        for (; made_ < first + R::block; ++made_)
            make_group<T, Form>(level_, kGroup * made_, c0_, c1_, ring_[made_ & (kGroupRing - 1)]);
        const GroupSlot* slot[R::block];
        for (int g = 0; g < R::block; ++g) slot[g] = ring_ + ((first + g) & (kGroupRing - 1));
        filter_groups<Taps, Form>(slot, c1_ - c0_, shift_mu, shift_sq, row_at, rows);
    }

    const VifLevel& level_;
    int c0_, c1_;
    GroupSlot* ring_;
    int made_ = -R::above / kGroup;
};

}  // namespace acuity::ACUITY_ISA::vif
