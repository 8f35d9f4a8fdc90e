// VIF's windows over a slot's columns, then over the rows of a tile: 16 columns, of which the windows reach into two
// slots. A lane's results of a slot are what it needs for tiles, so lanes exchange nothing.
#pragma once
#include "vif/information.cuh"
#include "vif/samples.cuh"

// A warp's slot: for each lane, four words a slice's entry, of the upper 8 rows and of the lower.
typedef uint4 SlotMemory[2][4][32];

// Sums at four columns of a row, from those of two filtered columns: at[2 * h] and at[2 * h + 1] of even, then of
// odd columns.
template <class F>
__device__ __forceinline__ void four_columns(u32 (&words)[4], int h, F&& at) {
    words[0] = at(0, 2 * h), words[1] = at(1, 2 * h), words[2] = at(0, 2 * h + 1), words[3] = at(1, 2 * h + 1);
}

// Lower and upper bytes of both pictures' means.
template <class Rounding, int Bytes>
__device__ __forceinline__ uint4 mean_bytes(const Rounding& rounding, const Filtered<Bytes> (&ref)[2],
                                            const Filtered<Bytes> (&dis)[2], int h) {
    u32 words[4];
    uint4 out;
    four_columns(words, h, [&](int j, int i) { return rounding.mean(ref[j], i); });
    take_bytes<Rounding::kMeanByte>(words, out.x, out.y);
    four_columns(words, h, [&](int j, int i) { return rounding.mean(dis[j], i); });
    take_bytes<Rounding::kMeanByte>(words, out.z, out.w);
    return out;
}

// Filters the columns of a slot for the halved pictures: 8 rows.
template <class Rounding, class T>
__device__ __forceinline__ uint4 halve_slot(const Patch<T>& ref, const Patch<T>& dis, const Filters& filters,
                                            const Rounding& rounding) {
    Filtered<sizeof(T)> of_ref[2], of_dis[2];
    for (int j = 0; j < 2; ++j) {
        of_ref[j] = halving_filter(filters, ref.samples(j), rounding.mean_start());
        of_dis[j] = halving_filter(filters, dis.samples(j), rounding.mean_start());
    }
    return mean_bytes(rounding, of_ref, of_dis, 0);
}

// Filters the columns of a slot.
template <class Rounding, class T>
__device__ __forceinline__ void filter_slot(const Patch<T>& ref, const Patch<T>& dis, const Filters& filters,
                                            const Rounding& rounding, int lane, SlotMemory& slot) {
    constexpr int kBytes = sizeof(T);
    Filtered<kBytes> of_ref[2], of_dis[2];
    for (int j = 0; j < 2; ++j) {
        of_ref[j] = filter(filters, ref.samples(j), rounding.mean_start());
        of_dis[j] = filter(filters, dis.samples(j), rounding.mean_start());
    }
    for (int h = 0; h < 2; ++h) slot[h][0][lane] = mean_bytes(rounding, of_ref, of_dis, h);
#pragma unroll
    for (int p = 0; p < 3; ++p) {
        Filtered<2 * kBytes> products[2];
#pragma unroll
        for (int j = 0; j < 2; ++j)
            products[j] = filter(filters, Patch<T>::product(p == 1 ? dis : ref, p == 0 ? ref : dis, j),
                                 rounding.square_start());
        for (int h = 0; h < 2; ++h) {
            u32 words[4];
            four_columns(words, h, [&](int j, int i) { return rounding.square(products[j], i); });
            slot[h][1 + p][lane] = transpose(words);
        }
    }
}

__device__ __forceinline__ void filter_means(const Filters& filters, const u32 (&a)[2], const u32 (&b)[2],
                                             u32 (&out)[4]) {
    const Filtered<2> f = filter(filters, a, b, 0);
    for (int i = 0; i < 4; ++i) out[i] = f.at[0].at[i] + (f.at[1].at[i] << 8) + (f.at[2].at[i] << 16);
}

__device__ __forceinline__ void filter_products(const Filters& filters, const uint4& a, const uint4& b,
                                                u32 (&out)[4]) {
    const Filtered<4> f = filter(filters, {a.x, a.y, a.z, a.w}, {b.x, b.y, b.z, b.w}, 32768);
    for (int i = 0; i < 4; ++i)
        out[i] = ((f.at[0].at[i] + (f.at[1].at[i] << 8)) >> 16) + f.at[2].at[i] + (f.at[3].at[i] << 8) +
                 (f.at[4].at[i] << 16);
}

// Filters 8 rows of a tile, of which a lane gets columns g and g + 8, rows 2 * q and 2 * q + 1.
__device__ __forceinline__ Places filter_tile(const Filters& filters, const uint4 (&left)[4][32],
                                              const uint4 (&right)[4][32], int lane) {
    Places places;
    const uint4 a = left[0][lane], b = right[0][lane];
    filter_means(filters, {a.x, a.y}, {b.x, b.y}, places.ref);
    filter_means(filters, {a.z, a.w}, {b.z, b.w}, places.dis);
    filter_products(filters, left[1][lane], right[1][lane], places.ref_ref);
    filter_products(filters, left[2][lane], right[2][lane], places.dis_dis);
    filter_products(filters, left[3][lane], right[3][lane], places.ref_dis);
    return places;
}

// Filters the rows of a tile for the halved pictures. A lane gets rows 2 * q and 2 * q + 1 of one column and writes the
// first `rows` of them, `pitch` words apart, at `to` and, for the distorted picture, `side` words later.
__device__ __forceinline__ void halve_tile(const Filters& filters, const uint4& a, const uint4& b, u16* to, i32 pitch,
                                           i64 side, int rows) {
    const Filtered<2> sides[2] = {halving_filter(filters, {a.x, a.y}, {b.x, b.y}, 32768),
                                  halving_filter(filters, {a.z, a.w}, {b.z, b.w}, 32768)};
    for (int i = 0; i < 2; ++i)
        for (int n = 0; n < 2; ++n) {
            const Filtered<2>& f = sides[n];
            const u32 value = f.at[0].at[i] + (f.at[1].at[i] << 8) + (f.at[2].at[i] << 16);
            if (i < rows) to[pitch * i + side * n] = static_cast<u16>(value >> 16);
        }
}
