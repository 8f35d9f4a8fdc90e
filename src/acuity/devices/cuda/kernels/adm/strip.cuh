// ADM a strip of columns at a time: a warp, alone in its block so that what it decides is known to be uniform,
// walks down a segment of rows and keeps everything in registers.
//
// Each lane makes two columns of the bands. The first and the last lane only lend what their neighbours need,
// so strips overlap by four columns, and segments by two rows.
#pragma once
#include "adm/coarse.cuh"
#include "adm/fine.cuh"
#include "adm/sums.cuh"
#include "adm/wavelet.cuh"

constexpr int kStrip = 60;  // columns of the bands that a warp sums

// ---- decoupling -------------------------------------------------------------------------------

// A row of a lane's two columns, decoupled: band b of column c is at 3 * c + b.
struct Decoupled {
    i32 dis[6], sign[6];
    u32 size[6], along[6], left[6];
    bool enhanced[2];

    template <class Arithmetic>
    __device__ __forceinline__ void set(const i32 (&r)[6], const i32 (&d)[6], const AdmPlan& plan, Arithmetic) {
#pragma unroll
        for (int i = 0; i < 6; ++i) {
            dis[i] = d[i];
            sign[i] = r[i] >> 31;
            size[i] = magnitude(r[i]);
            along[i] = static_cast<u32>(max(flip(d[i], sign[i]), 0));
        }
        Arithmetic::find_left(size, along, sign, left);
#pragma unroll
        for (int c = 0; c < 2; ++c)
            enhanced[c] = Arithmetic::parallel_of(r[3 * c], r[3 * c + 1], d[3 * c], d[3 * c + 1], plan.cos_squared);
    }

    // What is restored, up to a limit of gain where gradients are parallel, and what was added to that.
    __device__ __forceinline__ void split(const AdmGain& gain, i32 (&restored)[6], i32 (&additive)[6]) const {
        u32 grown[6];
        grow(left, gain, grown);
#pragma unroll
        for (int i = 0; i < 6; ++i) {
            const u32 kept = enhanced[i / 3] ? min(grown[i], along[i]) : left[i];
            restored[i] = flip(static_cast<i32>(kept), sign[i]);
            additive[i] = dis[i] - restored[i];
        }
    }
};

// ---- masking ----------------------------------------------------------------------------------

// One masking of a lane's two columns. What masks a row is known when the row below has been made.
template <class Arithmetic>
struct Masking {
    u32 signal[2][3];
    u32 beside[2];   // the row's sums of three neighbours
    u32 pending[2];  // what masks the row, without the row below

    // Takes a row: coefficients, and those that mask them. Adds the cubes of the row before, which the row
    // masks `times` times: twice if it stands for the one above the first, too.
    __device__ __forceinline__ void step(const i32 (&x)[6], const i32 (&by)[6], const AdmPlan& plan, int column,
                                         u32 times, const bool (&counted)[2], u64* sums) {
        u32 around[2], own[2];
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            const i32 three[3] = {by[3 * c], by[3 * c + 1], by[3 * c + 2]};
            Arithmetic::lend(three, plan, around[c], own[c]);
            own[c] -= around[c];
        }
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
            i32 v[3];
            Arithmetic::excess(signal[c], pending[c] + times * three[c], counted[c], plan, v);
            sums[0] += rounded_cube<Arithmetic::kStraightShift>(v[0], plan.cube_add[0], plan.cube_shift[0]);
            sums[1] += rounded_cube<Arithmetic::kStraightShift>(v[1], plan.cube_add[1], plan.cube_shift[1]);
            sums[2] += rounded_cube<30>(v[2], plan.cube_add[2], plan.cube_shift[2]);
            pending[c] = beside[c] + three[c] + own[c];
            beside[c] = three[c];
#pragma unroll
            for (int b = 0; b < 3; ++b) signal[c][b] = Arithmetic::signal(x[3 * c + b], b, plan);
        }
    }
};

// ---- a segment --------------------------------------------------------------------------------

// Rows of one picture as they come, and where its low-pass band goes.
template <int kScale, class T>
struct Walk {
    using Pair = RowPair<kScale, T>;

    Reader<T> reader;
    Four<T> next[2];
    Pair upper, lower;  // what makes a row of the bands
    u8* low;            // at the lane's columns

    __device__ Walk(const AdmInput& in, int begin, int lane, u8* low) : reader(in, begin, lane), next{}, low(low) {}

    __device__ __forceinline__ void fetch(int row) {
        next[0] = reader.row(2 * row + 1);
        next[1] = reader.row(2 * row + 2);
    }

    __device__ __forceinline__ void store(const Span& span, const AdmPlan& plan, int row, bool keeps) const {
        const i32 a = band<kScale>(span, 0, kLow, plan), b = band<kScale>(span, 1, kLow, plan);
        if (!keeps) return;
        u8* const at = low + static_cast<i64>(row) * plan.low_pitch;
        if constexpr (kScale == 0)
            *reinterpret_cast<u32*>(at) = (static_cast<u32>(a) & 0xFFFFu) | static_cast<u32>(b) << 16;
        else
            *reinterpret_cast<int2*>(at) = make_int2(a, b);
    }

    static __device__ __forceinline__ void bands(const Span& low, const Span& high, const AdmPlan& plan, i32 (&out)[6]) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
            out[3 * c] = band<kScale>(high, c, kLow, plan);
            out[3 * c + 1] = band<kScale>(low, c, kHigh, plan);
            out[3 * c + 2] = band<kScale>(high, c, kHigh, plan);
        }
    }
};

// Sums of rows are those of the frame, from this scale's first row on.
__device__ __forceinline__ u64* rows_of(u64* row_sums, const AdmPlan& plan) {
    return row_sums + (static_cast<i64>(blockIdx.z) * plan.rows_a_frame + plan.rows_before) * plan.row_words;
}

// Low-pass bands of a frame: the reference's, then the distorted picture's.
__device__ __forceinline__ u8* low_of(u8* low, const AdmPlan& plan) { return low + blockIdx.z * 2 * plan.low_size; }

// A segment of a strip. kGains is 0 where no bands are wanted, but the low-pass one. kScale is 2 for scale 3 too.
template <int kScale, class T, class Arithmetic, int kGains, bool kAim>
__device__ __forceinline__ void adm_segment(const AdmInput& ref_in, const AdmInput& dis_in, const AdmPlan& plan, u8* low,
                                            u64* row_sums) {
    constexpr int kKinds = kGains * (kAim ? 2 : 1), kSums = 3 + 3 * kKinds;
    using Pair = RowPair<kScale, T>;
    const int lane = threadIdx.x;
    const int strip = blockIdx.x * kStrip;
    const int column = strip + 2 * lane - 2;
    const bool owned = lane > 0 && lane < 31;
    const int begin = blockIdx.y * plan.segment, end = min(begin + plan.segment, plan.height);

    int first = max(begin, plan.first_row), last = min(end, plan.last_row);  // rows summed here
    const bool any = kGains > 0 && first < last && strip < plan.last_column && strip + kStrip > plan.first_column;
    if (!any) first = last = end + 1;
    const bool counted[2] = {owned && column >= plan.first_column && column < plan.last_column,
                             owned && column + 1 >= plan.first_column && column + 1 < plan.last_column};
    const bool keeps_low = plan.low_pitch != 0 && plan.first_pass != 0 && owned && column < plan.width;

    u8* const place = low + static_cast<i64>(column) * (kScale == 0 ? 2 : 4);
    Walk<kScale, T> ref(ref_in, 2 * strip - 4, lane, place);
    Walk<kScale, T> dis(dis_in, 2 * strip - 4, lane, place + plan.low_size);
    Masking<Arithmetic> maskings[kKinds == 0 ? 1 : kKinds];
#pragma unroll
    for (int k = 0; k < kKinds; ++k) maskings[k] = {};
    const SumOwner owner = sum_owner<kSums>(lane);

    // The row after the bands' last, which masks it, is the last again.
    const int from = min(begin, max(first - 1, 0)), to = any ? max(end - 1, last) : end - 1;
#pragma unroll 1
    for (int y = from - 2; y <= to; ++y) {
        ref.lower = Pair(ref.next[0], ref.next[1]);
        dis.lower = Pair(dis.next[0], dis.next[1]);
        const int next = min(y + 1, plan.height - 1);
        if (y < to) {
            ref.fetch(next);
            dis.fetch(next);
        }
        if (y >= from) {
            i32 filtered[4];
            Pair::low(ref.upper, ref.lower, plan.depth, filtered);
            const Span ref_low(filtered);
            Pair::low(dis.upper, dis.lower, plan.depth, filtered);
            const Span dis_low(filtered);
            if (y >= begin && y < end) {
                ref.store(ref_low, plan, y, keeps_low);
                dis.store(dis_low, plan, y, keeps_low);
            }
            if (kGains > 0 && y >= first - 1 && y <= last) {
                Pair::high(ref.upper, ref.lower, plan.depth, filtered);
                const Span ref_high(filtered);
                Pair::high(dis.upper, dis.lower, plan.depth, filtered);
                const Span dis_high(filtered);
                i32 r[6], d[6];
                ref.bands(ref_low, ref_high, plan, r);
                dis.bands(dis_low, dis_high, plan, d);

                Decoupled row;
                row.set(r, d, plan, Arithmetic());
                u64 sums[kSums] = {};
#pragma unroll
                for (int i = 0; i < 6; ++i)
                    sums[i % 3] += Arithmetic::den_cube(counted[i / 3] ? row.size[i] : 0, plan);
                const u32 times = y == 1 ? 2 : 1;
#pragma unroll
                for (int g = 0; g < kGains; ++g) {
                    i32 restored[6], additive[6];
                    row.split(plan.gain[g], restored, additive);
                    constexpr int kEach = kAim ? 2 : 1;
                    u64* const found = sums + 3 + 3 * kEach * g;
                    maskings[kEach * g].step(restored, additive, plan, column, times, counted, found);
                    if constexpr (kAim)
                        maskings[kEach * g + 1].step(additive, restored, plan, column, times, counted, found + 3);
                }
                if (y >= first) {  // before, nothing is complete
                    // Denominators are this row's, maskings the one's before.
                    const u64 total = warp_sums(sums, lane);
                    const bool den = owner.value < 3;
                    const bool complete = den ? plan.first_pass != 0 && y < last : y > first;
                    if (owner.adds && complete) {
                        u64* const at = row_sums + static_cast<i64>(plan.row_words) * (den ? y : y - 1);
                        atomicAdd(at + (den ? owner.value : plan.first_word + owner.value - 3), total);
                    }
                }
            }
        }
        if (y < plan.height - 1) {
            ref.upper = ref.lower;
            dis.upper = dis.lower;
        }
    }
}
