// PSNR: sums the squared differences of each plane.
#include "pictures.cuh"

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

// Of samples that share a word; the sum of 65,000 words fits 32 bits.
__device__ __forceinline__ u32 add_errors(u32 a, u32 b, u32 sum, u8) {
    const u32 apart = __vabsdiffu4(a, b);
    return __dp4a(apart, apart, sum);
}

// A square has up to 32 bits, so words of two samples have sums of their own.
__device__ __forceinline__ u64 add_errors(u32 a, u32 b, u64 sum, u16) {
    const u32 apart = __vabsdiffu2(a, b), low = apart & 0xFFFF, high = apart >> 16;
    return sum + static_cast<u64>(low) * low + static_cast<u64>(high) * high;
}

template <class T>
struct Sum {
    typedef u32 Type;
};
template <>
struct Sum<u16> {
    typedef u64 Type;
};

// A lane's part of a row.
template <class T>
__device__ u64 row_error(const T* a, const T* b, int width, int lane) {
    constexpr int kSamples = 16 / sizeof(T);  // of a vector
    typename Sum<T>::Type sum = 0;
    int done = 0;
    if (((reinterpret_cast<u64>(a) | reinterpret_cast<u64>(b)) & 15) == 0) {
        const int vectors = width / kSamples;
        for (int i = lane; i < vectors; i += 32) {
            const uint4 p = reinterpret_cast<const uint4*>(a)[i], q = reinterpret_cast<const uint4*>(b)[i];
            sum = add_errors(p.x, q.x, sum, T());
            sum = add_errors(p.y, q.y, sum, T());
            sum = add_errors(p.z, q.z, sum, T());
            sum = add_errors(p.w, q.w, sum, T());
        }
        done = vectors * kSamples;
    }
    for (int x = done + lane; x < width; x += 32) sum = add_errors(a[x], b[x], sum, T());
    return sum;
}

// Block (x, plane, frame) sums a warp's worth of rows.
template <class T>
__device__ void errors(const Frame* frames, int width, int height, int chroma_width, int chroma_height, u64* sums) {
    const Frame& frame = frames[blockIdx.z];
    const int plane = blockIdx.y, lane = threadIdx.x % 32, row = blockIdx.x * kWarps + threadIdx.x / 32;
    if (plane > 0) width = chroma_width, height = chroma_height;
    if (static_cast<int>(blockIdx.x) * kWarps >= height) return;
    u64 sum = 0;
    if (row < height) sum = row_error(row_of<T>(frame.ref, plane, row), row_of<T>(frame.dis, plane, row), width, lane);
    add_block_sum(sum, sums + blockIdx.z * gridDim.y + plane);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256) psnr_8(const Frame* frames, int width, int height, int chroma_width,
                                                         int chroma_height, u64* sums) {
    errors<u8>(frames, width, height, chroma_width, chroma_height, sums);
}

extern "C" __global__ void __launch_bounds__(256) psnr_16(const Frame* frames, int width, int height, int chroma_width,
                                                          int chroma_height, u64* sums) {
    errors<u16>(frames, width, height, chroma_width, chroma_height, sums);
}
