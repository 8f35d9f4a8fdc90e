// Motion: blurs the difference of two reference pictures and sums its magnitude.
#include "pictures.cuh"

namespace {

constexpr int kColumns = 64, kRows = 16, kReach = 2;  // of a block's tile, and of the blur
constexpr int kThreads = 256;
__constant__ const i32 kFilter[5] = {3571, 16004, 26386, 16004, 3571};

template <class T>
__device__ void sad(const Frame* frames, int width, int height, int depth, int before, u64* sums, int words) {
    __shared__ i32 difference[kRows + 2 * kReach][kColumns + 2 * kReach];
    __shared__ i32 columns[kRows][kColumns + 2 * kReach];
    const Picture& now = frames[blockIdx.z].ref;
    const Picture& then = frames[blockIdx.z].before_ref[before];
    if (then.plane[0] == nullptr) return;  // the first frames have nothing before them
    const int x0 = blockIdx.x * kColumns, y0 = blockIdx.y * kRows;
    const int wide = kColumns + 2 * kReach, high = kRows + 2 * kReach;

    for (int i = threadIdx.x; i < wide * high; i += kThreads) {
        const int x = i % wide, y = i / wide;
        const int column = reflect(x0 + x - kReach, width), row = reflect(y0 + y - kReach, height);
        difference[y][x] = static_cast<i32>(row_of<T>(then, 0, row)[column]) - row_of<T>(now, 0, row)[column];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < wide * kRows; i += kThreads) {
        const int x = i % wide, y = i / wide;
        i64 sum = 0;
        for (int k = 0; k < 5; ++k) sum += static_cast<i64>(kFilter[k]) * difference[y + k][x];
        columns[y][x] = static_cast<i32>((sum + (i64(1) << (depth - 1))) >> depth);
    }
    __syncthreads();
    u64 total = 0;
    for (int i = threadIdx.x; i < kColumns * kRows; i += kThreads) {
        const int x = i % kColumns, y = i / kColumns;
        if (x0 + x >= width || y0 + y >= height) continue;
        i64 sum = 0;
        for (int k = 0; k < 5; ++k) sum += static_cast<i64>(kFilter[k]) * columns[y][x + k];
        const i32 value = static_cast<i32>((sum + 32768) >> 16);
        total += value < 0 ? -value : value;
    }
    add_block_sum(total, sums + static_cast<i64>(blockIdx.z) * words);
}

}  // namespace

extern "C" __global__ void motion_8(const Frame* frames, int width, int height, int depth, int before, u64* sums,
                                    int words) {
    sad<u8>(frames, width, height, depth, before, sums, words);
}

extern "C" __global__ void motion_16(const Frame* frames, int width, int height, int depth, int before, u64* sums,
                                     int words) {
    sad<u16>(frames, width, height, depth, before, sums, words);
}
