// ADM's wavelet transform: four columns of a picture in each lane of a warp make two columns of its bands.
#pragma once
#include "adm/plan.cuh"

// A picture, or a low-pass band of the scale before.
struct AdmInput {
    const u8* rows;
    i32 pitch;
    i32 width, height;
};

// Past its end a picture repeats backwards from its last sample, before its start it is reflected.
__device__ __forceinline__ int wavelet_index(int i, int n) {
    i = i < 0 ? -i : i;
    return min(i, 2 * n - 1 - i);
}

// Four neighbouring samples of a row, as they lie in memory.
template <class T>
struct Four {
    u32 words[sizeof(T)];
};

// Where the lanes of a warp read, four samples each.
template <class T>
struct Reader {
    AdmInput in;
    int first;     // of the lane
    i64 at;        // its address in the first row
    bool whole;    // all lanes' are inside and aligned

    __device__ Reader(const AdmInput& input, int begin, int lane) : in(input), first(begin + 4 * lane) {
        at = reinterpret_cast<i64>(in.rows) + static_cast<i64>(first) * static_cast<int>(sizeof(T));
        const u64 place = reinterpret_cast<u64>(in.rows) | static_cast<u64>(in.pitch);
        whole = begin >= 0 && begin + 4 * 32 <= in.width && place % (4 * sizeof(T)) == 0;
    }

    __device__ __forceinline__ Four<T> row(int number) const {
        number = wavelet_index(number, in.height);
        Four<T> found;
        if (whole) {
            const i64 place = wide(number, in.pitch, at);
            if constexpr (sizeof(T) == 1) {
                found.words[0] = __ldg(reinterpret_cast<const u32*>(place));
            } else if constexpr (sizeof(T) == 2) {
                const uint2 two = __ldg(reinterpret_cast<const uint2*>(place));
                found.words[0] = two.x, found.words[1] = two.y;
            } else {
                const uint4 four = __ldg(reinterpret_cast<const uint4*>(place));
                found.words[0] = four.x, found.words[1] = four.y, found.words[2] = four.z, found.words[3] = four.w;
            }
            return found;
        }
        const T* const samples = reinterpret_cast<const T*>(in.rows + static_cast<i64>(in.pitch) * number);
        constexpr int bits = 8 * sizeof(T);
#pragma unroll
        for (int w = 0; w < static_cast<int>(sizeof(T)); ++w) found.words[w] = 0;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            // Lanes further outside read something that nobody uses.
            const int column = max(0, min(wavelet_index(first + k, in.width), in.width - 1));
            const T sample = __ldg(samples + column);
            found.words[k * bits / 32] |= (static_cast<u32>(sample) & (0xFFFFFFFFu >> (32 - bits))) << (k * bits % 32);
        }
        return found;
    }
};

// ---- columns ----------------------------------------------------------------------------------

// Adds the products of two signed words with the first or the last two bytes.
template <bool kLast>
__device__ __forceinline__ i32 dot_bytes(u32 taps, u32 bytes, i32 sum) {
#ifdef __CUDA_ARCH__
    i32 found;
    if constexpr (kLast)
        asm("dp2a.hi.s32.u32 %0, %1, %2, %3;" : "=r"(found) : "r"(taps), "r"(bytes), "r"(sum));
    else
        asm("dp2a.lo.s32.u32 %0, %1, %2, %3;" : "=r"(found) : "r"(taps), "r"(bytes), "r"(sum));
    return found;
#else
    if (kLast) bytes >>= 16;
    return sum + static_cast<i16>(taps) * static_cast<i32>(bytes & 255) +
           static_cast<i16>(taps >> 16) * static_cast<i32>(bytes >> 8 & 255);
#endif
}

__device__ constexpr u32 tap_pair(i32 a, i32 b) { return (static_cast<u32>(a) & 0xFFFFu) | static_cast<u32>(b) << 16; }

// Two rows, one above the other, ready to be filtered: the lower two taps of one row of the bands and the
// upper two of the next. Sums that are shifted fit 32 bits with their sign, whatever wraps on the way.
template <int kScale, class T>
struct RowPair {
    Four<T> upper, lower;

    RowPair() = default;
    __device__ RowPair(const Four<T>& above, const Four<T>& below) : upper(above), lower(below) {}

    static __device__ __forceinline__ i32 sample(const Four<T>& four, int k) {
        if constexpr (sizeof(T) == 4) return static_cast<i32>(four.words[k]);
        return static_cast<T>(four.words[k / 2] >> (16 * (k % 2)));
    }

    static __device__ __forceinline__ i32 column(const RowPair& a, const RowPair& b, int k, const i32 (&taps)[4],
                                                 u32 bias, i32 depth) {
        const i32 s[4] = {sample(a.upper, k), sample(a.lower, k), sample(b.upper, k), sample(b.lower, k)};
        if constexpr (kScale >= 2) {
            i64 sum = 32768;
#pragma unroll
            for (int t = 0; t < 4; ++t) sum += static_cast<i64>(taps[t]) * s[t];
            return static_cast<i32>(sum >> 16);
        } else {
            u32 sum = bias;
#pragma unroll
            for (int t = 0; t < 4; ++t) sum += static_cast<u32>(taps[t]) * static_cast<u32>(s[t]);
            return kScale == 0 ? static_cast<i32>(sum) >> depth : static_cast<i32>(sum);
        }
    }

    static __device__ __forceinline__ void low(const RowPair& a, const RowPair& b, i32 depth, i32 (&out)[4]) {
        const u32 half = kScale == 0 ? 1u << (depth - 1) : 0;
#pragma unroll
        for (int k = 0; k < 4; ++k) out[k] = column(a, b, k, kLow, half - kLowSum * half, depth);
    }
    static __device__ __forceinline__ void high(const RowPair& a, const RowPair& b, i32 depth, i32 (&out)[4]) {
        const u32 half = kScale == 0 ? 1u << (depth - 1) : 0;
#pragma unroll
        for (int k = 0; k < 4; ++k) out[k] = column(a, b, k, kHigh, half, depth);
    }
};

// Bytes are kept in pairs, a column's two beside each other.
template <>
struct RowPair<0, u8> {
    u32 pairs[2];

    RowPair() = default;
    __device__ RowPair(const Four<u8>& above, const Four<u8>& below) {
        pairs[0] = __byte_perm(above.words[0], below.words[0], 0x5140);
        pairs[1] = __byte_perm(above.words[0], below.words[0], 0x7362);
    }

    static __device__ __forceinline__ void filter(const RowPair& a, const RowPair& b, u32 first, u32 last, i32 add,
                                                  i32 (&out)[4]) {
#pragma unroll
        for (int p = 0; p < 2; ++p) {
            out[2 * p] = dot_bytes<false>(first, a.pairs[p], dot_bytes<false>(last, b.pairs[p], add)) >> 8;
            out[2 * p + 1] = dot_bytes<true>(first, a.pairs[p], dot_bytes<true>(last, b.pairs[p], add)) >> 8;
        }
    }
    static __device__ __forceinline__ void low(const RowPair& a, const RowPair& b, i32, i32 (&out)[4]) {
        filter(a, b, tap_pair(kLow[0], kLow[1]), tap_pair(kLow[2], kLow[3]), 128 - kLowSum * 128, out);
    }
    static __device__ __forceinline__ void high(const RowPair& a, const RowPair& b, i32, i32 (&out)[4]) {
        filter(a, b, tap_pair(kHigh[0], kHigh[1]), tap_pair(kHigh[2], kHigh[3]), 128, out);
    }
};

// ---- rows -------------------------------------------------------------------------------------

// Filtered columns of a lane with those of its neighbours that its bands need.
struct Span {
    i32 at[6];

    __device__ __forceinline__ explicit Span(const i32 (&own)[4]) {
        at[0] = __shfl_up_sync(kWarp, own[3], 1);
#pragma unroll
        for (int k = 0; k < 4; ++k) at[k + 1] = own[k];
        at[5] = __shfl_down_sync(kWarp, own[0], 1);
    }
};

// One of a lane's two columns of a band. Scales 2 and 3 differ in their shift alone.
template <int kScale>
__device__ __forceinline__ i32 band(const Span& span, int column, const i32 (&taps)[4], const AdmPlan& plan) {
    if constexpr (kScale == 0) {
        i32 sum = 32768;
#pragma unroll
        for (int t = 0; t < 4; ++t) sum += taps[t] * span.at[2 * column + t];
        return sum >> 16;
    } else {
        const int shift = kScale == 2 && plan.scale == 2 ? 16 : 15;
        i64 sum = 1 << (shift - 1);
#pragma unroll
        for (int t = 0; t < 4; ++t) sum += static_cast<i64>(taps[t]) * span.at[2 * column + t];
        return static_cast<i32>(sum >> shift);
    }
}
