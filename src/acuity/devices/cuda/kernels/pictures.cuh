// Pictures on the card, and helpers that all kernels share.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef short i16;
typedef int i32;
typedef long long i64;

// Planes of one picture; rows are `pitch` bytes apart. 8-bit samples are bytes, deeper ones words. Plane and
// pitch of pictures that were uploaded are multiples of 256; those of a caller's own arrays need not be.
struct Picture {
    const u8* plane[3];
    i32 pitch[3];
    i32 unused;
};

// A pair of pictures and the pairs before it, the nearest first; null where there are none.
struct Frame {
    Picture ref, dis;
    Picture before_ref[2], before_dis[2];
};

template <class T>
__device__ __forceinline__ const T* row_of(const Picture& picture, int plane, int row) {
    return reinterpret_cast<const T*>(picture.plane[plane] + static_cast<i64>(picture.pitch[plane]) * row);
}

// Reflects an index into 0..n-1 without repeating the edge: -1 is 1, n is n - 2. n must be at least 2.
__device__ __forceinline__ int reflect(int i, int n) {
    while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
    return i;
}

// The sum over a warp, in its first lane.
__device__ __forceinline__ u64 warp_sum(u64 value) {
    for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(0xFFFFFFFFu, value, step);
    return value;
}

// Adds the sum over a block to a word. All threads of the block call it; blocks are whole warps.
__device__ __forceinline__ void add_block_sum(u64 value, u64* to) {
    __shared__ u64 parts[32];
    const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const int warps = blockDim.x * blockDim.y * blockDim.z / 32;
    value = warp_sum(value);
    __syncthreads();  // `parts` may still be read by an earlier call
    if (thread % 32 == 0) parts[thread / 32] = value;
    __syncthreads();
    if (thread < 32) {
        value = warp_sum(thread < warps ? parts[thread] : 0);
        if (thread == 0) atomicAdd(to, value);
    }
}
