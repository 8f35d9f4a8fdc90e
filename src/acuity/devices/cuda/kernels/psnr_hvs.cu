// PSNR-HVS: errors of the frequencies of 8x8 blocks, as far as the picture doesn't hide them.
#include "ordered_chunks.cuh"

namespace {

constexpr int kBlock = 8, kStep = 7, kArea = kBlock * kBlock;
constexpr int kThreads = 128, kPairs = kThreads / 2;  // two neighbouring threads have the same block of both pictures
static_assert(kPairs * kArea == kChunk, "a block's errors are a chunk of the sum");

struct Weights {
    float sensitivity[kArea], masking[kArea];
};

// x times a constant over 2^shift, rounded to nearest.
template <int Constant, int Shift>
__device__ __forceinline__ int scaled(int x) {
    return (x * Constant + (1 << (Shift - 1))) >> Shift;
}

// Half of x, rounded towards zero.
__device__ __forceinline__ int halved(int x) { return (x - (x >> 31)) >> 1; }

// Eight values to their frequencies in place, each `stride` behind the one before: see native/psnr_hvs/transform.h.
__device__ __forceinline__ void transform(int* at, int stride) {
    int odd0 = at[0] - at[7 * stride];
    const int odd0_half = halved(odd0);
    int even0 = at[0] - odd0_half;
    int even1 = at[1 * stride] + at[6 * stride];
    const int even1_half = halved(even1);
    int odd1 = at[6 * stride] - even1_half;
    int odd2 = at[2 * stride] - at[5 * stride];
    int even2 = at[2 * stride] - halved(odd2);
    int even3 = at[3 * stride] + at[4 * stride];
    const int even3_half = halved(even3);
    int odd3 = even3_half - at[4 * stride];
    even0 += even3_half;
    even3 = even0 - even3;
    even2 = even1_half - even2;
    even1 = even2 - even1;

    even0 -= scaled<13573, 15>(even1);
    even1 += scaled<11585, 14>(even0);
    even0 -= scaled<13573, 15>(even1);
    even3 -= scaled<21895, 15>(even2);
    even2 += scaled<15137, 14>(even3);
    even3 -= scaled<21895, 15>(even2);

    odd2 += scaled<19195, 15>(odd1);
    odd1 += scaled<11585, 14>(odd2);
    odd2 -= scaled<7489, 13>(odd1);
    odd3 = halved(odd1) - odd3;
    odd1 -= odd3;
    odd2 = odd0_half - odd2;
    odd0 -= odd2;
    odd3 += scaled<3227, 15>(odd0);
    odd0 -= scaled<6393, 15>(odd3);
    odd3 += scaled<3227, 15>(odd0);
    odd1 += scaled<2485, 13>(odd2);
    odd2 -= scaled<18205, 15>(odd1);
    odd1 += scaled<2485, 13>(odd2);

    at[0] = even0, at[1 * stride] = odd0, at[2 * stride] = even2, at[3 * stride] = odd2;
    at[4 * stride] = even1, at[5 * stride] = odd1, at[6 * stride] = even3, at[7 * stride] = odd3;
}

// How much of the block's variance is inside its quarters. Sums of samples are whole numbers of less than 24 bits.
__device__ __forceinline__ float texture(const int (&block)[kArea]) {
    int sums[4] = {};
#pragma unroll
    for (int k = 0; k < kArea; ++k) sums[k / 32 + k % 8 / 4 * 2] += block[k];
    const float mean = static_cast<float>(sums[0] + sums[1] + sums[2] + sums[3]) / 64.0f;
    float whole = 0, quarters[4] = {};
#pragma unroll
    for (int k = 0; k < kArea; ++k) {
        const float value = static_cast<float>(block[k]);
        const int quarter = k / 32 + k % 8 / 4 * 2;
        const float apart = value - mean, inside = value - static_cast<float>(sums[quarter]) / 16.0f;
        whole += apart * apart;
        quarters[quarter] += inside * inside;
    }
    whole *= 1 / 63.0f * 64;
#pragma unroll
    for (int q = 0; q < 4; ++q) quarters[q] *= 1 / 15.0f * 16;
    return whole > 0 ? (quarters[0] + quarters[1] + quarters[2] + quarters[3]) / whole : whole;
}

// How much error the frequencies of a block can hide.
__device__ __forceinline__ float hidden(const int (&frequencies)[kArea], float texture, const Weights& weights) {
    float energy = 0;
#pragma unroll
    for (int k = 1; k < kArea; ++k)
        energy += static_cast<float>(frequencies[k] * frequencies[k]) * weights.masking[k];
    return sqrtf(energy * texture) / 32.0f;
}

// The squared visible errors of a plane's blocks, in the order in which they are added up: a frame's planes one
// after the other, blocks in rows, 64 frequencies each. And plain sums of them, `frame_chunks` a frame.
template <class T>
__device__ void find_errors(const Frame* frames, const Weights* all_weights, int width, int height, int chroma_width,
                            int chroma_height, float* errors, i64 frame_errors, float* chunks, int frame_chunks) {
    __shared__ Weights weights;
    const int plane = blockIdx.y;
    const auto blocks = [](int side) { return (side - kBlock) / kStep + 1; };
    const int luma = blocks(width) * blocks(height), chroma = blocks(chroma_width) * blocks(chroma_height);
    const int count = plane == 0 ? luma : chroma, columns = blocks(plane == 0 ? width : chroma_width);
    if (static_cast<int>(blockIdx.x) * kPairs >= count) return;
    for (int k = threadIdx.x; k < kArea; k += kThreads) {
        weights.sensitivity[k] = all_weights[plane].sensitivity[k];
        weights.masking[k] = all_weights[plane].masking[k];
    }
    __syncthreads();

    const int number = blockIdx.x * kPairs + threadIdx.x / 2, side = threadIdx.x % 2;
    const int used = min(number, count - 1), x = used % columns * kStep, y = used / columns * kStep;
    const Frame& frame = frames[blockIdx.z];
    const Picture& picture = side == 0 ? frame.ref : frame.dis;
    int block[kArea];
#pragma unroll
    for (int i = 0; i < kBlock; ++i) {
        const T* row = row_of<T>(picture, plane, y + i) + x;
#pragma unroll
        for (int j = 0; j < kBlock; ++j) block[i * kBlock + j] = row[j];
    }
    const float detail = texture(block);
#pragma unroll
    for (int i = 0; i < kBlock; ++i) transform(block + i, kBlock);
#pragma unroll
    for (int i = 0; i < kBlock; ++i) transform(block + i * kBlock, 1);
    const float own = hidden(block, detail, weights), others = __shfl_xor_sync(0xFFFFFFFFu, own, 1);
    const float mask = own < others ? others : own;

    // Each of the two threads has one half of the frequencies.
    constexpr int kHalf = kArea / 2;
    float found[kHalf];
#pragma unroll
    for (int k = 0; k < kHalf; ++k) {
        const int theirs = __shfl_xor_sync(0xFFFFFFFFu, side == 0 ? block[k + kHalf] : block[k], 1);
        const int apart = (side == 0 ? block[k] : block[k + kHalf]) - theirs, at = k + side * kHalf;
        float error = static_cast<float>(apart < 0 ? -apart : apart);
        if (at > 0) {
            error = error - mask / weights.masking[at];
            error = error < 0.0f ? 0.0f : error;
        }
        const float weighed = error * weights.sensitivity[at];
        found[k] = weighed * weighed;
    }
    float own_sum = 0;
#pragma unroll
    for (int k = 0; k < kHalf; ++k) own_sum += found[k];
    const float sum = plain_sum<kThreads>(number < count ? own_sum : 0.0f);
    if (threadIdx.x == 0)
        chunks[blockIdx.z * frame_chunks + (plane > 0 ? chunks_of(i64(luma) * kArea) : 0) +
               (plane == 2 ? chunks_of(i64(chroma) * kArea) : 0) + blockIdx.x] = sum;
    if (number >= count) return;
    const i64 first = (plane == 0 ? 0 : luma) + (plane == 2 ? chroma : 0) + number;
    float4* out = reinterpret_cast<float4*>(errors + blockIdx.z * frame_errors + first * kArea + side * kHalf);
#pragma unroll
    for (int k = 0; k < kHalf; k += 4) out[k / 4] = make_float4(found[k], found[k + 1], found[k + 2], found[k + 3]);
}

// A plane's errors, and its chunks.
struct Errors {
    const float* terms;
    i64 count;
    int first_chunk;

    __device__ Errors(const float* errors, i64 frame_errors, i64 luma, i64 chroma, int plane)
        : terms(errors + blockIdx.z * frame_errors + (plane > 0 ? luma : 0) + (plane == 2 ? chroma : 0)),
          count(plane == 0 ? luma : chroma),
          first_chunk((plane > 0 ? chunks_of(luma) : 0) + (plane == 2 ? chunks_of(chroma) : 0)) {}
};

}  // namespace

extern "C" __global__ void __launch_bounds__(128)
    psnr_hvs_8(const Frame* frames, const Weights* weights, int width, int height, int chroma_width, int chroma_height,
               float* errors, i64 frame_errors, float* chunks, int frame_chunks) {
    find_errors<u8>(frames, weights, width, height, chroma_width, chroma_height, errors, frame_errors, chunks,
                    frame_chunks);
}

extern "C" __global__ void __launch_bounds__(128)
    psnr_hvs_16(const Frame* frames, const Weights* weights, int width, int height, int chroma_width, int chroma_height,
                float* errors, i64 frame_errors, float* chunks, int frame_chunks) {
    find_errors<u16>(frames, weights, width, height, chroma_width, chroma_height, errors, frame_errors, chunks,
                     frame_chunks);
}

// Block (chunk, plane, frame) finds what a chunk adds to the sum of its plane.
extern "C" __global__ void __launch_bounds__(256)
    psnr_hvs_growths(const float* errors, i64 frame_errors, i64 luma, i64 chroma, const float* chunks, int frame_chunks,
                     ChunkGrowths<float>* growths) {
    const Errors of(errors, frame_errors, luma, chroma, blockIdx.y);
    if (static_cast<int>(blockIdx.x) >= chunks_of(of.count)) return;
    const i64 first = static_cast<i64>(blockIdx.z) * frame_chunks + of.first_chunk;
    find_growths(of.terms, of.count, chunks + first, blockIdx.x, growths + first);
}

// Block (plane, 0, frame) adds up a plane's errors in single precision.
extern "C" __global__ void __launch_bounds__(256)
    psnr_hvs_sums(const float* errors, i64 frame_errors, i64 luma, i64 chroma, int frame_chunks,
                  const ChunkGrowths<float>* growths, double* sums) {
    const Errors of(errors, frame_errors, luma, chroma, blockIdx.x);
    const i64 first = static_cast<i64>(blockIdx.z) * frame_chunks + of.first_chunk;
    const float found = sum_chunks(of.terms, of.count, growths + first);
    if (threadIdx.x == 0) sums[blockIdx.z * gridDim.x + blockIdx.x] = found;
}
