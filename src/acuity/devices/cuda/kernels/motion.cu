// Motion: blurs the difference of two reference pictures and sums its magnitude.
#include "pictures.cuh"

namespace {

constexpr int kColumns = 124, kRows = 32, kReach = 2;  // of a block's tile, and of the blur
constexpr int kParts = 2;  // of a column, so that each of the threads has one
constexpr int kThreads = 256;
constexpr i32 kTaps[3] = {3571, 16004, 26386};  // and the first two again

// Sums of products that fit 32 bits for bytes: 255 times the taps, which add up to 65536.
template <class T>
struct Wide {
    typedef i64 type;
};
template <>
struct Wide<u8> {
    typedef i32 type;
};

// A thread goes down one column of the tile twice: it blurs it, and then the rows of what all have blurred.
template <class T>
__device__ void sad(const Frame* frames, int width, int height, int depth, int before, u64* sums, int words) {
    typedef typename Wide<T>::type Sum;
    constexpr int kWide = kColumns + 2 * kReach;
    __shared__ i32 columns[kRows][kWide];
    const Picture& now = frames[blockIdx.z].ref;
    const Picture& then = frames[blockIdx.z].before_ref[before];
    if (then.plane[0] == nullptr) return;  // the first frames have nothing before them
    const int x0 = blockIdx.x * kColumns, y0 = blockIdx.y * kRows;

    for (int i = threadIdx.x; i < kWide * kParts; i += kThreads) {
        const int x = i % kWide, first = i / kWide * (kRows / kParts);
        const int column = reflect(x0 + x - kReach, width);
        const auto difference = [&](int y) {
            const int row = reflect(y0 + y - kReach, height);
            return static_cast<Sum>(row_of<T>(then, 0, row)[column]) - static_cast<Sum>(row_of<T>(now, 0, row)[column]);
        };
        Sum d[5];
        for (int k = 0; k < 4; ++k) d[k + 1] = difference(first + k);
        for (int y = first; y < first + kRows / kParts; ++y) {
            for (int k = 0; k < 4; ++k) d[k] = d[k + 1];
            d[4] = difference(y + 4);
            const Sum sum = kTaps[0] * (d[0] + d[4]) + kTaps[1] * (d[1] + d[3]) + kTaps[2] * d[2];
            columns[y][x] = static_cast<i32>((sum + (Sum(1) << (depth - 1))) >> depth);
        }
    }
    __syncthreads();
    u32 total = 0;
    for (int i = threadIdx.x; i < kColumns * kRows; i += kThreads) {
        const int x = i % kColumns, y = i / kColumns;
        if (x0 + x >= width || y0 + y >= height) continue;
        const i32* c = &columns[y][x];
        const i64 sum = static_cast<i64>(kTaps[0]) * (c[0] + c[4]) + static_cast<i64>(kTaps[1]) * (c[1] + c[3]) +
                        static_cast<i64>(kTaps[2]) * c[2];
        const i32 value = static_cast<i32>((sum + 32768) >> 16);
        total += value < 0 ? -value : value;  // 16 bits each, and 32 of them
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
