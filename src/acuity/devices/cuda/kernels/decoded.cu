// Decoded surfaces (NV12, and P016 whose samples fill the upper bits) become pictures; sums for signatures.
#include "pictures.cuh"

// A block takes a row; blockIdx.y is 0 for luma and 1 for both chroma planes.
template <class T>
__device__ void unpack(const u8* luma, const u8* chroma, int pitch, u8* to, int luma_pitch, int chroma_pitch,
                       i64 first, i64 second, int width, int height, int chroma_width, int chroma_height, int shift) {
    const int y = blockIdx.x;
    if (blockIdx.y == 0) {
        const T* from = reinterpret_cast<const T*>(luma + static_cast<i64>(pitch) * y);
        T* row = reinterpret_cast<T*>(to + static_cast<i64>(luma_pitch) * y);
        for (int x = threadIdx.x; x < width; x += blockDim.x) row[x] = static_cast<T>(from[x] >> shift);
    } else if (y < chroma_height) {
        const T* from = reinterpret_cast<const T*>(chroma + static_cast<i64>(pitch) * y);
        T* one = reinterpret_cast<T*>(to + first + static_cast<i64>(chroma_pitch) * y);
        T* other = reinterpret_cast<T*>(to + second + static_cast<i64>(chroma_pitch) * y);
        for (int x = threadIdx.x; x < chroma_width; x += blockDim.x) {
            one[x] = static_cast<T>(from[2 * x] >> shift);
            other[x] = static_cast<T>(from[2 * x + 1] >> shift);
        }
    }
}

extern "C" __global__ void unpack_bytes(const u8* luma, const u8* chroma, int pitch, u8* to, int luma_pitch,
                                        int chroma_pitch, i64 first, i64 second, int width, int height,
                                        int chroma_width, int chroma_height, int shift) {
    unpack<u8>(luma, chroma, pitch, to, luma_pitch, chroma_pitch, first, second, width, height, chroma_width,
               chroma_height, shift);
}

extern "C" __global__ void unpack_words(const u8* luma, const u8* chroma, int pitch, u8* to, int luma_pitch,
                                        int chroma_pitch, i64 first, i64 second, int width, int height,
                                        int chroma_width, int chroma_height, int shift) {
    unpack<u16>(luma, chroma, pitch, to, luma_pitch, chroma_pitch, first, second, width, height, chroma_width,
                chroma_height, shift);
}

// The first sample of a cell: as CellGrid::begin in native/signature/table.h.
__device__ __forceinline__ int cell_begin(int index, int cells, int samples) {
    return static_cast<int>(static_cast<i64>(index) * samples / cells);
}

// A block of one warp adds up the samples of one cell, of every `step`-th row.
template <class T>
__device__ void sum_cell(const u8* luma, int pitch, int width, int height, int rows, int columns, int step, u64* sums) {
    const int row = blockIdx.x / columns, column = blockIdx.x % columns;
    const int left = cell_begin(column, columns, width), right = cell_begin(column + 1, columns, width);
    const int top = (cell_begin(row, rows, height) + step - 1) / step * step, bottom = cell_begin(row + 1, rows, height);
    const int across = right - left, down = bottom > top ? (bottom - top + step - 1) / step : 0;
    u64 sum = 0;
    for (int place = threadIdx.x; place < across * down; place += blockDim.x) {
        const i64 y = top + static_cast<i64>(place / across) * step;
        sum += reinterpret_cast<const T*>(luma + pitch * y)[left + place % across];
    }
    sum = warp_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

extern "C" __global__ void sum_bytes(const u8* luma, int pitch, int width, int height, int rows, int columns, int step,
                                     u64* sums) {
    sum_cell<u8>(luma, pitch, width, height, rows, columns, step, sums);
}

extern "C" __global__ void sum_words(const u8* luma, int pitch, int width, int height, int rows, int columns, int step,
                                     u64* sums) {
    sum_cell<u16>(luma, pitch, width, height, rows, columns, step, sums);
}
