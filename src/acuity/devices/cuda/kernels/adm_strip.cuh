// ADM a strip of columns at a time: a warp walks down a segment of rows and keeps everything in registers.
//
// Each lane makes two columns of the bands. The first and the last lane only lend what their neighbours need,
// so strips overlap by four columns, and segments by two rows.
#pragma once
#include "adm_coarse.cuh"
#include "adm_fine.cuh"
#include "adm_wavelet.cuh"

constexpr int kStrip = 60;  // columns of the bands that a warp sums

// ---- masking ----------------------------------------------------------------------------------

// One masking of a lane's two columns. What masks a row is known when the row below has been made.
template <class Arithmetic>
struct Masking {
    u32 signal[2][3];
    u32 beside[2];   // the row's sums of three neighbours
    u32 pending[2];  // what masks the row, without the row below

    // Takes a row: its signals, and the coefficients that mask them. Gives the cubes of the row before.
    __device__ __forceinline__ void step(const i32 (&x)[2][3], const i32 (&by)[2][3], const AdmPlan& plan, int column,
                                         const bool (&counted)[2], u64 (&sums)[3]) {
        u32 around[2], own[2];
#pragma unroll
        for (int c = 0; c < 2; ++c) Arithmetic::lend(by[c], plan, around[c], own[c]);
        u32 left = __shfl_up_sync(kWarp, around[1], 1), right = __shfl_down_sync(kWarp, around[0], 1);
        if (plan.first_column == 0) {  // reflected at the left, repeated at the right
            if (column == 0) left = around[1];
            if (column + 2 == plan.width) right = around[1];
            if (column + 1 == plan.width) around[1] = around[0];
        }
        const u32 both = around[0] + around[1];
        const u32 three[2] = {left + both, both + right};
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            const u32 mask = pending[c] + three[c];
            add_cubes<0>(c, mask, plan, counted[c], sums);
            add_cubes<1>(c, mask, plan, counted[c], sums);
            add_cubes<2>(c, mask, plan, counted[c], sums);
            pending[c] = beside[c] + three[c] + own[c] - around[c];
            beside[c] = three[c];
#pragma unroll
            for (int b = 0; b < 3; ++b) signal[c][b] = Arithmetic::signal(x[c][b], b, plan);
        }
    }

  private:
    template <int kBand>
    __device__ __forceinline__ void add_cubes(int c, u32 mask, const AdmPlan& plan, bool counted, u64 (&sums)[3]) const {
        i32 v = Arithmetic::template excess<kBand>(signal[c][kBand], mask, plan);
        v = counted ? v : 0;
        constexpr int square = Arithmetic::template kSquareShift<kBand>;
        sums[kBand] += static_cast<u64>(rounded_cube<square>(v, plan.cube_add[kBand], plan.cube_shift[kBand]));
    }
};

// ---- sums -------------------------------------------------------------------------------------

// Sums each of kCount values over the warp; lane i gets that of value i * kSlots / 32, if there is one.
template <int kCount>
struct WarpSums {
    static constexpr int kSlots = kCount <= 8 ? 8 : 16;

    static __device__ __forceinline__ u64 of(const u64 (&values)[kCount], int lane) {
        u64 v[kSlots];
#pragma unroll
        for (int i = 0; i < kSlots; ++i) v[i] = i < kCount ? values[i] : 0;
        int step = 16;
#pragma unroll
        for (int half = kSlots / 2; half > 0; half /= 2, step /= 2) {
            const bool upper = (lane & step) != 0;
#pragma unroll
            for (int i = 0; i < half; ++i) {
                const u64 kept = upper ? v[i + half] : v[i], sent = upper ? v[i] : v[i + half];
                v[i] = kept + __shfl_xor_sync(kWarp, sent, step);
            }
        }
#pragma unroll
        for (; step > 0; step /= 2) v[0] += __shfl_xor_sync(kWarp, v[0], step);
        return v[0];
    }
};

// ---- a segment --------------------------------------------------------------------------------

// The first and the last row of the bands lend to themselves what is outside: see `Masking` for columns.
__device__ __forceinline__ int band_row(int y, int height) { return y < 0 ? 1 : min(y, height - 1); }

template <int kScale, class T>
struct Picture2 {
    Reader<T> reader;
    RowPair<kScale, T> upper;  // rows above those that come next
    Four<T> next[2];
    u8* low;                   // where its low-pass band goes, at the lane's columns

    __device__ Picture2(const AdmInput& in, int column, u8* low) : reader(in, 2 * column), low(low) {}

    __device__ __forceinline__ void fetch(int row) {
        next[0] = reader.row(2 * row + 1);
        next[1] = reader.row(2 * row + 2);
    }
    __device__ __forceinline__ void restart(int row) {
        upper = RowPair<kScale, T>(reader.row(2 * row - 1), reader.row(2 * row));
    }
};

template <int kScale>
__device__ __forceinline__ void store_low(u8* at, i32 a, i32 b) {
    if constexpr (kScale == 0)
        *reinterpret_cast<u32*>(at) = (static_cast<u32>(a) & 0xFFFFu) | static_cast<u32>(b) << 16;
    else
        *reinterpret_cast<int2*>(at) = make_int2(a, b);
}

// A segment of a strip. kGains is 0 where no bands are wanted, but the low-pass one.
template <int kScale, class T, class Arithmetic, int kGains, bool kAim>
__device__ __forceinline__ void adm_segment(const AdmInput& ref_in, const AdmInput& dis_in, const AdmPlan& plan, u8* low,
                                            u64* row_sums) {
    constexpr int kKinds = kGains * (kAim ? 2 : 1), kSums = 3 + 3 * kKinds;
    const int lane = threadIdx.x;
    const int strip = (blockIdx.x * blockDim.y + threadIdx.y) * kStrip;
    if (strip >= plan.width) return;
    const int column = strip + 2 * lane - 2;
    const bool owned = lane > 0 && lane < 31;
    const int begin = blockIdx.y * plan.segment, end = min(begin + plan.segment, plan.height);

    int first = max(begin, plan.first_row), last = min(end, plan.last_row);  // rows summed here
    if (kGains == 0 || first >= last || strip >= plan.last_column || strip + kStrip <= plan.first_column)
        first = last = end + 1;
    const bool counted[2] = {owned && column >= plan.first_column && column < plan.last_column,
                             owned && column + 1 >= plan.first_column && column + 1 < plan.last_column};

    constexpr int kLowBytes = kScale == 0 ? 2 : 4;
    u8* const place = low + static_cast<i64>(column) * kLowBytes;
    Picture2<kScale, T> ref(ref_in, column, place), dis(dis_in, column, place + plan.low_size);
    const bool keeps_low = kScale < 3 && plan.first_pass != 0 && owned && column < plan.width;
    Masking<Arithmetic> maskings[kKinds == 0 ? 1 : kKinds];
#pragma unroll
    for (int k = 0; k < kKinds; ++k) maskings[k] = {};

    const int from = min(begin, first - 1), to = first > end ? end - 1 : max(end - 1, last);
    int known = -2;  // the row of bands whose upper rows are there
    ref.fetch(band_row(from, plan.height));
    dis.fetch(band_row(from, plan.height));
#pragma unroll 1
    for (int y = from; y <= to; ++y) {
        const int row = band_row(y, plan.height);
        if (known != row) {
            ref.restart(row);
            dis.restart(row);
        }
        known = row + 1;
        const RowPair<kScale, T> ref_upper = ref.upper, dis_upper = dis.upper;
        ref.upper = RowPair<kScale, T>(ref.next[0], ref.next[1]);
        dis.upper = RowPair<kScale, T>(dis.next[0], dis.next[1]);
        if (y < to) {
            ref.fetch(band_row(y + 1, plan.height));
            dis.fetch(band_row(y + 1, plan.height));
        }

        i32 filtered[4];
        RowPair<kScale, T>::low(ref_upper, ref.upper, plan.depth, filtered);
        const Span ref_low(filtered);
        RowPair<kScale, T>::low(dis_upper, dis.upper, plan.depth, filtered);
        const Span dis_low(filtered);
        if (kScale < 3 && y >= begin && y < end) {
            const i32 a[2] = {band<kScale>(ref_low, 0, kLow), band<kScale>(ref_low, 1, kLow)};
            const i32 b[2] = {band<kScale>(dis_low, 0, kLow), band<kScale>(dis_low, 1, kLow)};
            if (keeps_low) {
                const i64 at = static_cast<i64>(plan.low_pitch) * y;
                store_low<kScale>(ref.low + at, a[0], a[1]);
                store_low<kScale>(dis.low + at, b[0], b[1]);
            }
        }
        if constexpr (kGains > 0) {
            if (y < first - 1 || y > last) continue;
            RowPair<kScale, T>::high(ref_upper, ref.upper, plan.depth, filtered);
            const Span ref_high(filtered);
            RowPair<kScale, T>::high(dis_upper, dis.upper, plan.depth, filtered);
            const Span dis_high(filtered);

            u64 sums[kSums];
#pragma unroll
            for (int i = 0; i < kSums; ++i) sums[i] = 0;
            i32 restored[kGains][2][3], additive[kGains][2][3];
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                const i32 r[3] = {band<kScale>(ref_high, c, kLow), band<kScale>(ref_low, c, kHigh),
                                  band<kScale>(ref_high, c, kHigh)};
                const i32 d[3] = {band<kScale>(dis_high, c, kLow), band<kScale>(dis_low, c, kHigh),
                                  band<kScale>(dis_high, c, kHigh)};
                const bool enhanced = Arithmetic::parallel_of(r[0], r[1], d[0], d[1], plan.cos_squared);
#pragma unroll
                for (int b = 0; b < 3; ++b) {
                    const i32 sign = r[b] >> 31;
                    const u32 size = magnitude(r[b]), along = static_cast<u32>(max(flip(d[b], sign), 0));
                    const u32 left = Arithmetic::left_of(size, along, sign);
                    sums[b] += Arithmetic::den_cube(counted[c] ? size : 0, plan);
#pragma unroll
                    for (int g = 0; g < kGains; ++g) {
                        const u32 kept = enhanced ? gained(left, along, plan.gain[g]) : left;
                        restored[g][c][b] = flip(static_cast<i32>(kept), sign);
                        additive[g][c][b] = d[b] - restored[g][c][b];
                    }
                }
            }
#pragma unroll
            for (int g = 0; g < kGains; ++g) {
                u64 found[3] = {};
                constexpr int per_gain = kAim ? 2 : 1;
                maskings[per_gain * g].step(restored[g], additive[g], plan, column, counted, found);
#pragma unroll
                for (int b = 0; b < 3; ++b) sums[3 + 3 * per_gain * g + b] = found[b];
                if constexpr (kAim) {
                    u64 added[3] = {};
                    maskings[2 * g + 1].step(additive[g], restored[g], plan, column, counted, added);
#pragma unroll
                    for (int b = 0; b < 3; ++b) sums[6 + 6 * g + b] = added[b];
                }
            }
            if (y < first) continue;  // nothing is complete yet

            // Denominators are this row's, maskings the one's before.
            using Sums = WarpSums<kSums>;
            const u64 total = Sums::of(sums, lane);
            const int value = lane / (32 / Sums::kSlots);
            const bool den = value < 3;
            const bool adds = lane % (32 / Sums::kSlots) == 0 && value < kSums &&
                              (den ? plan.first_pass != 0 && y < last : y > first);
            if (adds) {
                u64* at = row_sums + static_cast<i64>(plan.row_words) * (den ? y : y - 1);
                atomicAdd(at + (den ? value : plan.first_word + value - 3), total);
            }
        }
    }
}
