// VIF: windowed variances of both pictures at one scale, the information each place carries, and the
// halved pictures of the next scale.
#include "pictures.cuh"

namespace {

constexpr int kColumns = 32, kRows = 8, kThreads = 256, kMaxReach = 8;
constexpr i32 kNoise = 2 << 16;                 // below this variance a place counts as flat
constexpr double kEpsilon = 65536 * 1.0e-10;    // keeps the gain finite; part of the definition
constexpr int kShared = 3, kMaxGains = 4;

__constant__ const u32 kTaps[4] = {17, 9, 5, 3};
__constant__ const u32 kFilter[4][17] = {
    {489, 935, 1640, 2640, 3896, 5274, 6547, 7455, 7784, 7455, 6547, 5274, 3896, 2640, 1640, 935, 489},
    {1244, 3663, 7925, 12590, 14692, 12590, 7925, 3663, 1244},
    {3571, 16004, 26386, 16004, 3571},
    {10904, 43728, 10904}};

// One scale of a batch: from the frames at scale 0, else planes of words, `stride` bytes from frame to frame.
struct Level {
    const u8 *ref, *dis;
    i32 pitch_ref, pitch_dis, width, height, scale, depth;
};

__device__ Level level_of(int frame, const Frame* frames, const u8* planes, i64 stride, int pitch, int width, int height,
                          int scale, int depth) {
    if (scale == 0) {
        const Frame& f = frames[frame];
        return {f.ref.plane[0], f.dis.plane[0], f.ref.pitch[0], f.dis.pitch[0], width, height, scale, depth};
    }
    const u8* at = planes + stride * frame;
    return {at, at + static_cast<i64>(pitch) * height, pitch, pitch, width, height, scale, depth};
}

template <class T>
__device__ u32 sample(const u8* plane, int pitch, int row, int column) {
    return reinterpret_cast<const T*>(plane + static_cast<i64>(pitch) * row)[column];
}

__device__ i32 log2_q11(u64 n, const u16* steps) {
    const int k = 48 - __clzll(n);
    const u32 i = static_cast<u32>(n >> k) - 32768;
    return ((steps[i >> 3] + (i & 7)) >> 3) + 30720 + 2048 * k;
}

__device__ i32 less_means(u64 products, u32 a, u32 b) {
    const u32 mean = static_cast<u32>((products + 32768) >> 16);
    return static_cast<i32>(mean - static_cast<u32>((static_cast<u64>(a) * b + (1u << 31)) >> 32));
}

template <class T>
__device__ void statistic(const Level& level, const u16* steps, const double* gains, int n_gains, int first,
                          u64* sums) {
    __shared__ u32 moments[5][kRows][kColumns + 2 * kMaxReach];
    const int taps = kTaps[level.scale], reach = taps / 2, wide = kColumns + 2 * reach;
    const int x0 = blockIdx.x * kColumns, y0 = blockIdx.y * kRows;
    const int mean_shift = level.scale ? 16 : level.depth, square_shift = level.scale ? 16 : 2 * (level.depth - 8);
    const u32 mean_add = 1u << (mean_shift - 1);
    const u64 square_add = square_shift ? u64(1) << (square_shift - 1) : 0;
    for (int i = threadIdx.x; i < wide * kRows; i += kThreads) {
        const int x = i % wide, y = i / wide, column = reflect(x0 + x - reach, level.width);
        u32 ref = 0, dis = 0;
        u64 ref_ref = 0, dis_dis = 0, ref_dis = 0;
        for (int k = 0; k < taps; ++k) {
            const int row = reflect(y0 + y - reach + k, level.height);
            const u32 a = sample<T>(level.ref, level.pitch_ref, row, column);
            const u32 b = sample<T>(level.dis, level.pitch_dis, row, column);
            const u32 c = kFilter[level.scale][k];
            ref += c * a;
            dis += c * b;
            ref_ref += static_cast<u64>(c * a) * a;
            dis_dis += static_cast<u64>(c * b) * b;
            ref_dis += static_cast<u64>(c * a) * b;
        }
        moments[0][y][x] = static_cast<u16>((ref + mean_add) >> mean_shift);
        moments[1][y][x] = static_cast<u16>((dis + mean_add) >> mean_shift);
        moments[2][y][x] = static_cast<u32>((ref_ref + square_add) >> square_shift);
        moments[3][y][x] = static_cast<u32>((dis_dis + square_add) >> square_shift);
        moments[4][y][x] = static_cast<u32>((ref_dis + square_add) >> square_shift);
    }
    __syncthreads();
    const int x = threadIdx.x % kColumns, y = threadIdx.x / kColumns;
    i64 den_log = 0, num_flat = 0, den_flat = 0, num_log[kMaxGains] = {};
    if (x0 + x < level.width && y0 + y < level.height) {
        u32 mean[2] = {};
        u64 square[3] = {};
        for (int k = 0; k < taps; ++k) {
            const u32 c = kFilter[level.scale][k];
            for (int m = 0; m < 2; ++m) mean[m] += c * moments[m][y][x + k];
            for (int m = 0; m < 3; ++m) square[m] += static_cast<u64>(c) * moments[2 + m][y][x + k];
        }
        const i32 ref = less_means(square[0], mean[0], mean[0]);
        const i32 dis = max(less_means(square[1], mean[1], mean[1]), 0);
        const i32 both = less_means(square[2], mean[0], mean[1]);
        if (ref < kNoise) {
            num_flat = dis;
            den_flat = 1;
        } else {
            den_log = log2_q11(static_cast<u32>(kNoise) + static_cast<u32>(ref), steps) - 2048 * 17;
            if (both > 0 && dis > 0) {
                const double gain = both / (ref + kEpsilon);
                const i32 rest = static_cast<i32>(dis - gain * both);
                const u32 noise = static_cast<u32>(max(rest, 0) + kNoise);
                for (int g = 0; g < kMaxGains; ++g) {
                    if (g >= n_gains) break;
                    const double limited = gain < gains[g] ? gain : gains[g];
                    const i64 signal = static_cast<i64>(limited * limited * ref) + noise;
                    num_log[g] = log2_q11(static_cast<u64>(signal), steps) - log2_q11(noise, steps);
                }
            }
        }
    }
    if (first == 0) {
        add_block_sum(den_log, sums);
        add_block_sum(num_flat, sums + 1);
        add_block_sum(den_flat, sums + 2);
    }
    for (int g = 0; g < n_gains; ++g) add_block_sum(num_log[g], sums + kShared + first + g);
}

template <class T>
__device__ void halve(const u8* in, int pitch_in, const Level& level, u16* out, int pitch_out) {
    __shared__ u32 columns[kRows][2 * kColumns + kMaxReach];
    const int taps = kTaps[level.scale + 1], reach = taps / 2, wide = 2 * kColumns + 2 * reach;
    const int x0 = blockIdx.x * kColumns, y0 = blockIdx.y * kRows;
    const int shift = level.scale ? 16 : level.depth;
    for (int i = threadIdx.x; i < wide * kRows; i += kThreads) {
        const int x = i % wide, y = i / wide, column = reflect(2 * x0 + x - reach, level.width);
        u32 sum = 1u << (shift - 1);
        for (int k = 0; k < taps; ++k)
            sum += kFilter[level.scale + 1][k] *
                   sample<T>(in, pitch_in, reflect(2 * (y0 + y) - reach + k, level.height), column);
        columns[y][x] = static_cast<u16>(sum >> shift);
    }
    __syncthreads();
    const int x = threadIdx.x % kColumns, y = threadIdx.x / kColumns;
    if (x0 + x >= level.width / 2 || y0 + y >= level.height / 2) return;
    u32 sum = 32768;
    for (int k = 0; k < taps; ++k) sum += kFilter[level.scale + 1][k] * columns[y][2 * x + k];
    reinterpret_cast<u16*>(reinterpret_cast<u8*>(out) + static_cast<i64>(pitch_out) * (y0 + y))[x0 + x] =
        static_cast<u16>(sum >> 16);
}

}  // namespace


extern "C" __global__ void vif_statistic_8(const Frame* frames, const u8* planes, i64 stride, int pitch, int width,
                                           int height, int scale, int depth, const u16* steps, double gain0,
                                           double gain1, double gain2, double gain3, int n_gains, int first,
                                           u64* sums, int words) {
    const double gains[kMaxGains] = {gain0, gain1, gain2, gain3};
    const int frame = blockIdx.z;
    statistic<u8>(level_of(frame, frames, planes, stride, pitch, width, height, scale, depth), steps, gains, n_gains,
                  first, sums + static_cast<i64>(frame) * words);
}

extern "C" __global__ void vif_halve_8(const Frame* frames, const u8* planes, i64 stride, int pitch, int width,
                                       int height, int scale, int depth, u8* out, int pitch_out) {
    const int frame = blockIdx.z / 2, side = blockIdx.z % 2;
    const Level level = level_of(frame, frames, planes, stride, pitch, width, height, scale, depth);
    u8* to = out + stride * frame + static_cast<i64>(pitch_out) * (height / 2) * side;
    halve<u8>(side ? level.dis : level.ref, side ? level.pitch_dis : level.pitch_ref, level,
              reinterpret_cast<u16*>(to), pitch_out);
}

extern "C" __global__ void vif_statistic_16(const Frame* frames, const u8* planes, i64 stride, int pitch, int width,
                                           int height, int scale, int depth, const u16* steps, double gain0,
                                           double gain1, double gain2, double gain3, int n_gains, int first,
                                           u64* sums, int words) {
    const double gains[kMaxGains] = {gain0, gain1, gain2, gain3};
    const int frame = blockIdx.z;
    statistic<u16>(level_of(frame, frames, planes, stride, pitch, width, height, scale, depth), steps, gains, n_gains,
                  first, sums + static_cast<i64>(frame) * words);
}

extern "C" __global__ void vif_halve_16(const Frame* frames, const u8* planes, i64 stride, int pitch, int width,
                                       int height, int scale, int depth, u8* out, int pitch_out) {
    const int frame = blockIdx.z / 2, side = blockIdx.z % 2;
    const Level level = level_of(frame, frames, planes, stride, pitch, width, height, scale, depth);
    u8* to = out + stride * frame + static_cast<i64>(pitch_out) * (height / 2) * side;
    halve<u16>(side ? level.dis : level.ref, side ? level.pitch_dis : level.pitch_ref, level,
              reinterpret_cast<u16*>(to), pitch_out);
}
