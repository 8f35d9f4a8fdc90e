// Motion: blurs the difference of two reference pictures and sums its magnitude.
#include "pictures.cuh"

namespace {

constexpr int kEach = 4, kColumns = 30 * kEach;  // columns of a lane, and of a warp that it sums
constexpr int kRows = 32, kReach = 2;            // of a warp, and of the blur
constexpr int kThreads = 128;
constexpr i32 kTaps[3] = {3571, 16004, 26386};  // and the first two again
constexpr u32 kWarp = 0xFFFFFFFFu;

// Four samples of a row as one word or two, and sums of products, which fit 32 bits for bytes: 255 times the taps,
// which add up to 65536.
template <class T>
struct Four;
template <>
struct Four<u8> {
    typedef u32 Word;
    typedef i32 Sum;
    static __device__ __forceinline__ i32 sample(u32 word, int i) { return static_cast<i32>(word >> (8 * i) & 255); }
    static __device__ __forceinline__ u32 joined(const i32 (&s)[kEach]) {
        return static_cast<u32>(s[0] | s[1] << 8 | s[2] << 16) | static_cast<u32>(s[3]) << 24;
    }
};
template <>
struct Four<u16> {
    typedef uint2 Word;
    typedef i64 Sum;
    static __device__ __forceinline__ i32 sample(uint2 word, int i) {
        return static_cast<i32>((i < 2 ? word.x : word.y) >> (16 * (i % 2)) & 65535);
    }
    static __device__ __forceinline__ uint2 joined(const i32 (&s)[kEach]) {
        return make_uint2(static_cast<u32>(s[0]) | static_cast<u32>(s[1]) << 16,
                          static_cast<u32>(s[2]) | static_cast<u32>(s[3]) << 16);
    }
};

struct Plane {
    const u8* data;
    i32 pitch;

    template <class T>
    __device__ __forceinline__ bool aligned() const {
        return ((reinterpret_cast<u64>(data) | static_cast<u64>(pitch)) & (kEach * sizeof(T) - 1)) == 0;
    }

    // Samples x to x + 3 of a row; `simple`: they are inside the picture, and aligned.
    template <class T>
    __device__ __forceinline__ typename Four<T>::Word load(int x, int row, int width, bool simple) const {
        const T* line = reinterpret_cast<const T*>(data + static_cast<i64>(pitch) * row);
        if (simple) return __ldg(reinterpret_cast<const typename Four<T>::Word*>(line + x));
        i32 samples[kEach];
        for (int i = 0; i < kEach; ++i) samples[i] = line[reflect(x + i, width)];
        return Four<T>::joined(samples);
    }
};

// Where a warp is: rows from `first` on, a lane's columns from x on.
struct Strip {
    int x, first, rows, width, height, depth;
};

// Goes down a strip: a lane blurs four columns down as their rows come, then across with its neighbours'. The first and
// the last lane only lend theirs. kSimple: all lanes' columns are.
template <class T, bool kSimple>
__device__ __forceinline__ u32 sum_strip(const Plane& then, const Plane& now, const Strip& strip, bool simple) {
    typedef typename Four<T>::Sum Sum;
    typedef typename Four<T>::Word Word;
    const auto fetch = [&](const Plane& plane, int y) {
        const int row = reflect(strip.first + y - kReach, strip.height);
        return plane.load<T>(strip.x, row, strip.width, kSimple || simple);
    };
    const int lane = threadIdx.x % 32, counted = lane > 0 && lane < 31 ? strip.width - strip.x : 0;  // columns
    i32 d[5][kEach] = {};
    Word next_then = fetch(then, 0), next_now = fetch(now, 0);
    u32 total = 0;
#pragma unroll(kSimple ? 5 : 1)
    for (int y = 0; y < strip.rows + 2 * kReach; ++y) {
        const Word from = next_then, to = next_now;
        next_then = fetch(then, y + 1), next_now = fetch(now, y + 1);  // one row too many, which is there
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            for (int k = 0; k < 4; ++k) d[k][i] = d[k + 1][i];
            d[4][i] = Four<T>::sample(from, i) - Four<T>::sample(to, i);
        }
        if (y < 2 * kReach) continue;
        i32 c[kEach + 2 * kReach];
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            const Sum sum = static_cast<Sum>(kTaps[0]) * (d[0][i] + d[4][i]) +
                            static_cast<Sum>(kTaps[1]) * (d[1][i] + d[3][i]) + static_cast<Sum>(kTaps[2]) * d[2][i];
            c[kReach + i] = static_cast<i32>((sum + (Sum(1) << (strip.depth - 1))) >> strip.depth);
        }
#pragma unroll
        for (int i = 0; i < kReach; ++i) {
            c[i] = __shfl_up_sync(kWarp, c[kEach + i], 1);
            c[kEach + kReach + i] = __shfl_down_sync(kWarp, c[kReach + i], 1);
        }
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            const i64 sum = static_cast<i64>(kTaps[0]) * (c[i] + c[i + 4]) +
                            static_cast<i64>(kTaps[1]) * (c[i + 1] + c[i + 3]) + static_cast<i64>(kTaps[2]) * c[i + 2];
            const i32 value = static_cast<i32>((sum + 32768) >> 16);
            if (i < counted) total += value < 0 ? -value : value;  // 16 bits each, and 128 of them
        }
    }
    return total;
}

template <class T>
__device__ __forceinline__ void sad(const Frame* frames, int width, int height, int depth, int before, u64* sums,
                                    int words) {
    const Frame& frame = frames[blockIdx.z];
    const Plane now = {frame.ref.plane[0], frame.ref.pitch[0]};
    const Plane then = {frame.before_ref[before].plane[0], frame.before_ref[before].pitch[0]};
    if (then.data == nullptr) return;  // the first frames have nothing before them
    const int lane = threadIdx.x % 32, x = static_cast<int>(blockIdx.x) * kColumns + kEach * (lane - 1);
    const int first = (blockIdx.y * (kThreads / 32) + threadIdx.x / 32) * kRows, rows = min(kRows, height - first);
    if (rows <= 0) return;
    const Strip strip = {x, first, rows, width, height, depth};
    const bool simple = x >= 0 && x + kEach <= width && now.aligned<T>() && then.aligned<T>();
    const u64 sum = warp_sum(__all_sync(kWarp, simple) ? sum_strip<T, true>(then, now, strip, simple)
                                                       : sum_strip<T, false>(then, now, strip, simple));
    if (lane == 0) atomicAdd(sums + static_cast<i64>(blockIdx.z) * words, sum);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    motion_8(const Frame* frames, int width, int height, int depth, int before, u64* sums, int words) {
    sad<u8>(frames, width, height, depth, before, sums, words);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    motion_16(const Frame* frames, int width, int height, int depth, int before, u64* sums, int words) {
    sad<u16>(frames, width, height, depth, before, sums, words);
}
