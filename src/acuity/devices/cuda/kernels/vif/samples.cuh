// Samples of a slot, 16 columns of a strip's window of 32 rows, as the filter of the columns reads them; and how
// filtered columns are brought down to 16-bit means and 32-bit squares.
#pragma once
#include "vif/filters.cuh"

// Pictures of eight bits: means are the sums' middle bytes, squares the sums themselves.
struct Rounding8 {
    typedef u8 Sample;
    static constexpr int kMeanByte = 1;
    __device__ __forceinline__ explicit Rounding8(int) {}
    __device__ __forceinline__ u32 mean_start() const { return 128; }
    __device__ __forceinline__ u32 square_start() const { return 0; }
    __device__ __forceinline__ u32 mean(const Filtered<1>& f, int i) const {
        return f.at[0].at[i] + (f.at[1].at[i] << 8);
    }
    __device__ __forceinline__ u32 square(const Filtered<2>& f, int i) const {
        return f.at[0].at[i] + (f.at[1].at[i] << 8) + (f.at[2].at[i] << 16);
    }
};

// Pictures of more bits: means are the upper bytes of the sums shifted up to 32 bits, squares are shifted down by 2 to
// 16.
struct RoundingDeep {
    typedef u16 Sample;
    static constexpr int kMeanByte = 2;
    u32 mean_unit, square_shift, square_unit;

    __device__ __forceinline__ explicit RoundingDeep(int depth)
        : mean_unit(1u << (16 - depth)), square_shift(2 * (depth - 8)), square_unit(1u << (16 - square_shift)) {}
    __device__ __forceinline__ u32 mean_start() const { return 32768 / mean_unit; }
    __device__ __forceinline__ u32 square_start() const { return 1u << (square_shift - 1); }
    __device__ __forceinline__ u32 mean(const Filtered<2>& f, int i) const {
        return (f.at[0].at[i] + (f.at[1].at[i] << 8) + (f.at[2].at[i] << 16)) * mean_unit;
    }
    __device__ __forceinline__ u32 square(const Filtered<4>& f, int i) const {
        return ((f.at[0].at[i] + (f.at[1].at[i] << 8)) >> square_shift) +
               (f.at[2].at[i] + (f.at[3].at[i] << 8) + (f.at[4].at[i] << 16)) * square_unit;
    }
};

// Halved pictures, which have 16 bits: the same with nothing to shift up and 16 bits to shift down.
struct RoundingHalved {
    typedef u16 Sample;
    static constexpr int kMeanByte = 2;
    __device__ __forceinline__ explicit RoundingHalved(int) {}
    __device__ __forceinline__ u32 mean_start() const { return 32768; }
    __device__ __forceinline__ u32 square_start() const { return 32768; }
    __device__ __forceinline__ u32 mean(const Filtered<2>& f, int i) const {
        return f.at[0].at[i] + (f.at[1].at[i] << 8) + (f.at[2].at[i] << 16);
    }
    __device__ __forceinline__ u32 square(const Filtered<4>& f, int i) const {
        return ((f.at[0].at[i] + (f.at[1].at[i] << 8)) >> 16) + f.at[2].at[i] + (f.at[3].at[i] << 8) +
               (f.at[4].at[i] << 16);
    }
};

// One side of a pair at some scale.
struct Plane {
    const u8* data;
    i32 pitch;
};

// A lane's rows of a slot, both columns of each in a word.
struct Rows {
    u32 at[2][4];
};

// A lane's two columns of a slot: rows 4 * q and 16 + 4 * q of the strip's window, and the three after each.
template <class T>
struct Patch;

template <>
struct Patch<u8> {
    typedef u16 Pair;
    u32 column[2][2];  // of each half of the rows

    __device__ __forceinline__ explicit Patch(const Rows& rows) {
        for (int half = 0; half < 2; ++half) take_bytes<0>(rows.at[half], column[0][half], column[1][half]);
    }
    __device__ __forceinline__ Samples<1> samples(int j) const { return {{{column[j][0], column[j][1]}}}; }

    // Products of bytes, two in a word: the upper of a pair are multiplied where they are, 256 times too large each.
    __device__ __forceinline__ static Samples<2> product(const Patch& a, const Patch& b, int j) {
        Samples<2> out;
        for (int half = 0; half < 2; ++half) {
            const u32 x = a.column[j][half], y = b.column[j][half], x2 = x >> 16, y2 = y >> 16;
            const u32 low = (x & 0xFF00) * (y & 0xFF00) + (x & 0xFF) * (y & 0xFF);
            const u32 high = (x2 & 0xFF00) * (y2 & 0xFF00) + (x2 & 0xFF) * (y2 & 0xFF);
            out.at[0][half] = __byte_perm(low, high, 0x6420);
            out.at[1][half] = __byte_perm(low, high, 0x7531);
        }
        return out;
    }
};

template <>
struct Patch<u16> {
    typedef u32 Pair;
    Rows rows;

    __device__ __forceinline__ explicit Patch(const Rows& from) : rows(from) {}
    __device__ __forceinline__ Samples<2> samples(int j) const {
        Samples<2> out;
        for (int half = 0; half < 2; ++half) {
            if (j == 0) take_bytes<0>(rows.at[half], out.at[0][half], out.at[1][half]);
            else take_bytes<2>(rows.at[half], out.at[0][half], out.at[1][half]);
        }
        return out;
    }
    __device__ __forceinline__ static Samples<4> product(const Patch& a, const Patch& b, int j) {
        Samples<4> out;
        for (int half = 0; half < 2; ++half) {
            u32 words[4];
            for (int i = 0; i < 4; ++i)
                words[i] = j == 0 ? (a.rows.at[half][i] & 0xFFFF) * (b.rows.at[half][i] & 0xFFFF)
                                  : (a.rows.at[half][i] >> 16) * (b.rows.at[half][i] >> 16);
            const uint4 bytes = transpose(words);
            out.at[0][half] = bytes.x, out.at[1][half] = bytes.y, out.at[2][half] = bytes.z, out.at[3][half] = bytes.w;
        }
        return out;
    }
};

template <class T>
__device__ __forceinline__ bool aligned(const Plane& plane) {
    return ((reinterpret_cast<u64>(plane.data) | static_cast<u64>(plane.pitch)) & (2 * sizeof(T) - 1)) == 0;
}

struct Pair {
    Plane ref, dis;
};

// Loads a lane's rows of the slot at column x, row y. `simple`: it lies inside the picture, and its pairs are aligned.
// Words are loaded before any is used, so that all are under way at once.
template <class T>
__device__ __forceinline__ void load_rows(const Pair& pair, int x, int y, int width, int height, bool simple,
                                          Rows& ref, Rows& dis) {
    constexpr int kBytes = sizeof(T);
    const int row = y + 4 * (threadIdx.x % 4), column = x + 2 * (threadIdx.x % 32 / 4);
    if (simple) {
        typedef typename Patch<T>::Pair Both;
        const auto load = [&](const Plane& plane, Rows& rows) {
            const u8* at = plane.data + static_cast<i64>(plane.pitch) * row + kBytes * column;
            const i64 next = plane.pitch, half = 13 * next;
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                rows.at[i / 4][i % 4] = __ldg(reinterpret_cast<const Both*>(at));
                at += i == 3 ? half : next;
            }
        };
        load(pair.ref, ref);
        load(pair.dis, dis);
        return;
    }
    const int left = reflect(column, width), right = reflect(column + 1, width);
    const auto words = [&](const Plane& plane, int from) {
        const T* line = reinterpret_cast<const T*>(plane.data + static_cast<i64>(plane.pitch) * from);
        return line[left] | static_cast<u32>(line[right]) << (8 * kBytes);
    };
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int from = reflect(row + 16 * (i / 4) + i % 4, height);
        ref.at[i / 4][i % 4] = words(pair.ref, from);
        dis.at[i / 4][i % 4] = words(pair.dis, from);
    }
}
