// XPSNR: sums of texture, of change and of squared errors over each block of the picture.
#include "pictures.cuh"

namespace {

constexpr int kThreads = 128, kSums = 5, kColumns = 32;

// Columns left to right - 1, rows top to bottom - 1.
struct Area {
    int left, top, right, bottom;
};

// Where the sums of a block are taken.
struct Block {
    Area texture, change, planes[3];
};

// Luma of a picture; samples of 16 bits count as signed ones. Where there is no picture, it is black.
template <class T>
struct Luma {
    const Picture& picture;

    __device__ int at(int x, int y) const {
        if (picture.plane[0] == nullptr) return 0;
        const T sample = row_of<T>(picture, 0, y)[x];
        return sizeof(T) == 1 ? static_cast<int>(sample) : static_cast<int>(static_cast<i16>(sample));
    }
    __device__ int square(int x, int y) const { return at(x, y) + at(x + 1, y) + at(x, y + 1) + at(x + 1, y + 1); }
};

// Sum of a value's magnitude over every `step`-th column and row of an area; in all threads' parts.
template <class Value>
__device__ u64 sum_over(const Area& area, int step, const Value& value) {
    constexpr int kRows = kThreads / kColumns;
    const int column = threadIdx.x % kColumns, row = threadIdx.x / kColumns;
    u64 sum = 0;
    for (int y = area.top + row * step; y < area.bottom; y += kRows * step)
        for (int x = area.left + column * step; x < area.right; x += kColumns * step) {
            const int found = value(x, y);
            sum += static_cast<u32>(found < 0 ? -found : found);
        }
    return sum;
}

// The high-pass 12 -2 -1: centre, edges, corners.
template <class T>
__device__ __forceinline__ int texture(const Luma<T>& now, int x, int y) {
    const int edges = now.at(x, y - 1) + now.at(x - 1, y) + now.at(x + 1, y) + now.at(x, y + 1);
    const int corners =
        now.at(x - 1, y - 1) + now.at(x + 1, y - 1) + now.at(x - 1, y + 1) + now.at(x + 1, y + 1);
    return 12 * now.at(x, y) - 2 * edges - corners;
}

// The high-pass of a square.
template <class T>
__device__ __forceinline__ int texture_halved(const Luma<T>& now, int x, int y) {
    constexpr int kWeights[3][6] = {{0, -1, -1, -1, -1, 0}, {-1, -2, -3, -3, -2, -1}, {-1, -3, 12, 12, -3, -1}};
    int sum = 0;
#pragma unroll
    for (int j = 0; j < 6; ++j)
#pragma unroll
        for (int i = 0; i < 6; ++i) {
            const int weight = kWeights[j < 3 ? j : 5 - j][i];
            if (weight != 0) sum += weight * now.at(x + i - 2, y + j - 2);
        }
    return sum;
}

// Of squares whose samples have up to 16 bits, in 32.
template <class T>
__device__ u64 squared_error(const Frame& frame, int plane, const Area& area) {
    constexpr int kRows = kThreads / kColumns;
    u64 sum = 0;
    for (int y = area.top + threadIdx.x / kColumns; y < area.bottom; y += kRows) {
        const T *ref = row_of<T>(frame.ref, plane, y), *dis = row_of<T>(frame.dis, plane, y);
        for (int x = area.left + threadIdx.x % kColumns; x < area.right; x += kColumns) {
            const int apart = static_cast<int>(ref[x]) - static_cast<int>(dis[x]);
            const u32 error = apart < 0 ? -apart : apart;
            sum += static_cast<u64>(error) * error;
        }
    }
    return sum;
}

// Block (x, what, frame) takes one of the sums.
template <class T>
__device__ void find_sums(const Frame* frames, const Block* blocks, int halved, int fast, u64* sums) {
    const Frame& frame = frames[blockIdx.z];
    const Block& block = blocks[blockIdx.x];
    const int what = blockIdx.y;
    const Luma<T> now = {frame.ref}, before = {frame.before_ref[0]}, earlier = {frame.before_ref[1]};
    u64 sum = 0;
    if (what == 0) {
        sum = halved ? sum_over(block.texture, 2, [&](int x, int y) { return texture_halved(now, x, y); })
                     : sum_over(block.texture, 1, [&](int x, int y) { return texture(now, x, y); });
    } else if (what == 1) {
        if (halved)
            sum = sum_over(block.change, 2, [&](int x, int y) {
                const int last = before.square(x, y), next = now.square(x, y);
                return fast ? next - 2 * last + earlier.square(x, y) : next - last;
            });
        else
            sum = sum_over(block.change, 1, [&](int x, int y) {
                const int last = before.at(x, y), next = now.at(x, y);
                return fast ? next - 2 * last + earlier.at(x, y) : next - last;
            });
    } else {
        sum = squared_error<T>(frame, what - 2, block.planes[what - 2]);
    }
    add_block_sum(sum, sums + (static_cast<i64>(blockIdx.z) * gridDim.x + blockIdx.x) * kSums + what);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
    xpsnr_8(const Frame* frames, const Block* blocks, int halved, int fast, u64* sums) {
    find_sums<u8>(frames, blocks, halved, fast, sums);
}

extern "C" __global__ void __launch_bounds__(128)
    xpsnr_16(const Frame* frames, const Block* blocks, int halved, int fast, u64* sums) {
    find_sums<u16>(frames, blocks, halved, fast, sums);
}
