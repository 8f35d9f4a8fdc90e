// VIF's windows as products with banded matrices of their taps.
#pragma once
#include "byte_matrix.cuh"

constexpr int kStrip = 16, kSlot = 16, kHalo = 8;  // rows of a strip, columns of a slot, what a window adds before them
constexpr int kScales = 4;

// The window at each scale: a Gaussian in Q16.
constexpr int kTaps[kScales] = {17, 9, 5, 3};
constexpr u32 kFilter[kScales][17] = {
    {489, 935, 1640, 2640, 3896, 5274, 6547, 7455, 7784, 7455, 6547, 5274, 3896, 2640, 1640, 935, 489},
    {1244, 3663, 7925, 12590, 14692, 12590, 7925, 3663, 1244},
    {3571, 16004, 26386, 16004, 3571},
    {10904, 43728, 10904}};

__device__ constexpr u32 tap_byte(int scale, int i, int byte) {
    return i >= 0 && i < kTaps[scale] ? kFilter[scale][i] >> (8 * byte) & 255 : 0;
}

// The taps as matrices, lane by lane: 16 windows over 32 samples that begin kHalo before the first window's
// middle, lower and upper bytes; and the next scale's at every other place, 8 rows of lower and 8 of upper bytes.
struct Bands {
    u32 at[12][32];
};

__device__ constexpr Bands make_bands(int scale) {
    Bands bands{};
    for (int r = 0; r < 12; ++r)
        for (int lane = 0; lane < 32; ++lane)
            for (int i = 0; i < 4; ++i) {
                const int row = lane / 4 + 8 * (r % 2), column = 4 * (lane % 4) + 16 * (r / 2 % 2) + i - kHalo;
                u32 byte = 0;
                if (r < 8)
                    byte = tap_byte(scale, column - row + kTaps[scale] / 2, r / 4);
                else if (scale + 1 < kScales)
                    byte = tap_byte(scale + 1, column - 2 * (lane / 4) + kTaps[scale + 1] / 2, r % 2);
                bands.at[r][lane] |= byte << (8 * i);
            }
    return bands;
}

__device__ const Bands kBands[kScales] = {make_bands(0), make_bands(1), make_bands(2), make_bands(3)};

// A lane's parts of the matrices.
struct Filters {
    ByteMatrix low, high, halving;

    __device__ __forceinline__ Filters(int scale, int lane) {
        for (int r = 0; r < 4; ++r) {
            low.at[r] = kBands[scale].at[r][lane];
            high.at[r] = kBands[scale].at[4 + r][lane];
            halving.at[r] = kBands[scale].at[8 + r][lane];
        }
    }
};

// 32 samples of one column or row, of which a lane has eight: byte k of them all in at[k].
template <int Bytes>
struct Samples {
    u32 at[Bytes][2];
};

// Filtered samples: the sum over k of at[k] * 256^k.
template <int Bytes>
struct Filtered {
    Sums at[Bytes + 1];
};

template <int Bytes>
__device__ __forceinline__ Filtered<Bytes> filter(const Filters& f, const Samples<Bytes>& s, u32 start) {
    Filtered<Bytes> out;
    for (int k = 0; k <= Bytes; ++k) {
        out.at[k] = sums_of(k == 0 ? start : 0);
        if (k > 0) out.at[k] = multiply(f.high, s.at[k - 1][0], s.at[k - 1][1], out.at[k]);
        if (k < Bytes) out.at[k] = multiply(f.low, s.at[k][0], s.at[k][1], out.at[k]);
    }
    return out;
}

// The same from samples in two slots.
template <int Bytes>
__device__ __forceinline__ Filtered<Bytes> filter(const Filters& f, const u32 (&a)[Bytes], const u32 (&b)[Bytes],
                                                  u32 start) {
    Filtered<Bytes> out;
    for (int k = 0; k <= Bytes; ++k) {
        out.at[k] = sums_of(k == 0 ? start : 0);
        if (k > 0) out.at[k] = multiply_half<1>(f.high, b[k - 1], multiply_half<0>(f.high, a[k - 1], out.at[k]));
        if (k < Bytes) out.at[k] = multiply_half<1>(f.low, b[k], multiply_half<0>(f.low, a[k], out.at[k]));
    }
    return out;
}

// Filtered samples of the halved picture, from products with lower and upper bytes of its taps. Only at[0] and at[1]
// of each Sums are left: 8 rows by 8 columns.
template <int Bytes>
__device__ __forceinline__ Filtered<Bytes> join_halving(const Sums (&products)[Bytes], u32 start) {
    Filtered<Bytes> out;
    for (int i = 0; i < 2; ++i) {
        out.at[0].at[i] = products[0].at[i] + start;
        for (int k = 1; k < Bytes; ++k) out.at[k].at[i] = products[k - 1].at[2 + i] + products[k].at[i];
        out.at[Bytes].at[i] = products[Bytes - 1].at[2 + i];
    }
    return out;
}

template <int Bytes>
__device__ __forceinline__ Filtered<Bytes> halving_filter(const Filters& f, const Samples<Bytes>& s, u32 start) {
    Sums products[Bytes];
    for (int k = 0; k < Bytes; ++k) products[k] = multiply(f.halving, s.at[k][0], s.at[k][1], sums_of(0));
    return join_halving(products, start);
}

template <int Bytes>
__device__ __forceinline__ Filtered<Bytes> halving_filter(const Filters& f, const u32 (&a)[Bytes],
                                                          const u32 (&b)[Bytes], u32 start) {
    Sums products[Bytes];
    for (int k = 0; k < Bytes; ++k)
        products[k] = multiply_half<1>(f.halving, b[k], multiply_half<0>(f.halving, a[k], sums_of(0)));
    return join_halving(products, start);
}
