// Structural similarity: pictures shrunk or halved, terms under a Gaussian window, and their sums.
//
// Filters round every product to single precision and add products in double precision, from the first to the
// last. Terms are added down each column, then columns from left to right: a block walks down its columns.
#include "pictures.cuh"

namespace {

constexpr int kReach = 5, kWindow = 2 * kReach + 1;
__constant__ const float kGaussian[kReach + 1] = {0.266012f, 0.213006f, 0.109361f, 0.036001f, 0.007599f, 0.001028f};

constexpr int kLowReach = 4, kLowTaps = 2 * kLowReach + 1;
__constant__ const float kLowPass[kLowReach + 1][kLowReach + 1] = {
    {0.363505f, 0.160885f, -0.047149f, -0.010146f, 0.016114f},
    {0.160885f, 0.071207f, -0.020867f, -0.004490f, 0.007132f},
    {-0.047149f, -0.020867f, 0.006115f, 0.001316f, -0.002090f},
    {-0.010146f, -0.004490f, 0.001316f, 0.000283f, -0.000450f},
    {0.016114f, 0.007132f, -0.002090f, -0.000450f, 0.000714f},
};

constexpr float kStableLuminance = (0.01f * 255.0f) * (0.01f * 255.0f);
constexpr float kStableContrast = (0.03f * 255.0f) * (0.03f * 255.0f);
constexpr float kStableStructure = kStableContrast / 2.0f;

constexpr int kMoments = 5;  // means of both pictures, of their squares and of their product
constexpr int kTerms = 4;    // luminance, contrast, structure, and their product
enum Wanted { kLuminance = 1, kContrast = 2, kStructure = 4, kProduct = 8 };

constexpr int kColumns = 32, kRows = 8;  // of a block of threads: a warp is a row

__device__ __forceinline__ int reflect_edge(int i, int n) {
    i = i < 0 ? -1 - i : i >= n ? 2 * n - 1 - i : i;
    return min(max(i, 0), n - 1);  // what is further out is read, but counts for nothing
}

__device__ __forceinline__ int shrunk(int side, int factor) { return side / factor + (side & 1); }

// A picture on the scale of 8 bits: samples, or values that are already on it.
template <class T>
struct Source {
    const u8* data;
    i64 pitch;
    int width, height;
    float unit;

    __device__ float at(int x, int y) const {
        return static_cast<float>(reinterpret_cast<const T*>(data + pitch * y)[x]) * unit;
    }
};

template <class T>
__device__ Source<T> samples_of(const Picture& picture, int width, int height, int depth) {
    return {picture.plane[0], picture.pitch[0], width, height, 1.0f / static_cast<float>(1 << (depth - 8))};
}

__device__ Source<float> values_of(const float* values, int width, int height) {
    return {reinterpret_cast<const u8*>(values), static_cast<i64>(width) * 4, width, height, 1.0f};
}

__device__ const Picture& side_of(const Frame* frames) {
    const Frame& frame = frames[blockIdx.z / 2];
    return blockIdx.z % 2 == 0 ? frame.ref : frame.dis;
}

// Pictures of all levels of a frame lie one after the other, the reference's before the distorted one's.
__device__ float* out_of(float* values, i64 frame_values, i64 offset, i64 size) {
    return values + blockIdx.z / 2 * frame_values + offset + blockIdx.z % 2 * size;
}

// ---- smaller pictures ----

template <class T>
__device__ void shrink(const Source<T>& in, int factor, float* out) {
    const int width = shrunk(in.width, factor), height = shrunk(in.height, factor);
    const int x = blockIdx.x * kColumns + threadIdx.x, y = blockIdx.y * kRows + threadIdx.y;
    if (x >= width || y >= height) return;
    const float share = 1.0f / static_cast<float>(factor * factor);
    const int left = x * factor - factor / 2, top = y * factor - factor / 2;
    double sum = 0;
    for (int u = 0; u < factor; ++u) {
        const int column = reflect_edge(left + u, in.width);
        double part = 0;
        for (int v = 0; v < factor; ++v)
            part += static_cast<double>(in.at(column, reflect_edge(top + v, in.height)) * share);
        sum += part;
    }
    out[static_cast<i64>(y) * width + x] = static_cast<float>(sum);
}

constexpr int kHalves = 2 * kRows;                                         // rows that a block makes
constexpr int kInRows = 2 * kHalves + 2 * kLowReach - 1, kInColumns = 2 * kColumns + 2 * kLowReach - 1;

// Low-pass and every second sample. The sum of a row with weights that are `down` rows from the middle serves
// the results above and below it: rows with even distances have three such sums, the others two.
template <class T>
__device__ void halve(const Source<T>& in, float* out) {
    __shared__ float read[kInRows][kInColumns + 1];
    __shared__ double sums[kInRows][3][kColumns];
    const int width = shrunk(in.width, 2), height = shrunk(in.height, 2);
    const int x0 = blockIdx.x * kColumns, y0 = blockIdx.y * kHalves;
    for (int j = threadIdx.y; j < kInRows; j += kRows) {
        const int row = reflect_edge(2 * y0 - kLowReach + j, in.height);
        for (int i = threadIdx.x; i < kInColumns; i += kColumns)
            read[j][i] = in.at(reflect_edge(2 * x0 - kLowReach + i, in.width), row);
    }
    __syncthreads();
    for (int j = threadIdx.y; j < kInRows; j += kRows) {
        float of[kLowTaps];
        for (int u = 0; u < kLowTaps; ++u) of[u] = read[j][2 * threadIdx.x + u];
        for (int down = j % 2; down <= kLowReach; down += 2) {
            double sum = 0;
            for (int u = -kLowReach; u <= kLowReach; ++u)
                sum += static_cast<double>(of[u + kLowReach] * kLowPass[down][u < 0 ? -u : u]);
            sums[j][down / 2][threadIdx.x] = sum;
        }
    }
    __syncthreads();
    const int x = x0 + threadIdx.x;
    for (int r = threadIdx.y; r < kHalves; r += kRows) {
        if (x >= width || y0 + r >= height) continue;
        double sum = 0;
        for (int v = -kLowReach; v <= kLowReach; ++v)
            sum += sums[2 * r + kLowReach + v][(v < 0 ? -v : v) / 2][threadIdx.x];
        out[static_cast<i64>(y0 + r) * width + x] = static_cast<float>(sum);
    }
}

// ---- terms ----

struct Strip {
    float read[2][kRows][kColumns + kWindow - 1];
    float across[3 * kRows][kMoments][kColumns];  // a ring of rows, each moment filtered from left to right
    double terms[kRows][kTerms][kColumns];
};
constexpr int kRing = 3 * kRows;

__device__ __forceinline__ float weight(int tap) { return kGaussian[tap < kReach ? kReach - tap : tap - kReach]; }

__device__ __forceinline__ void filter_across(Strip& strip, int slot) {
    double sum[kMoments] = {};
#pragma unroll
    for (int k = 0; k < kWindow; ++k) {
        const float r = strip.read[0][threadIdx.y][threadIdx.x + k], d = strip.read[1][threadIdx.y][threadIdx.x + k];
        const float w = weight(k);
        sum[0] += static_cast<double>(r * w);
        sum[1] += static_cast<double>(d * w);
        sum[2] += static_cast<double>((r * r) * w);
        sum[3] += static_cast<double>((d * d) * w);
        sum[4] += static_cast<double>((r * d) * w);
    }
#pragma unroll
    for (int m = 0; m < kMoments; ++m) strip.across[slot][m][threadIdx.x] = static_cast<float>(sum[m]);
}

// The terms of the place whose window ends with the row in this slot.
__device__ __forceinline__ void find_terms(Strip& strip, int slot, int wanted) {
    double sum[kMoments] = {};
    int at = slot >= kWindow - 1 ? slot - (kWindow - 1) : slot - (kWindow - 1) + kRing;
#pragma unroll
    for (int k = 0; k < kWindow; ++k) {
#pragma unroll
        for (int m = 0; m < kMoments; ++m)
            sum[m] += static_cast<double>(strip.across[at][m][threadIdx.x] * weight(k));
        at = at + 1 == kRing ? 0 : at + 1;
    }
    const float mean = static_cast<float>(sum[0]), other = static_cast<float>(sum[1]);
    const float spread = static_cast<float>(sum[2]) - mean * mean;
    const float other_spread = static_cast<float>(sum[3]) - other * other;
    const float variance = spread > 0.0f ? spread : 0.0f, other_variance = other_spread > 0.0f ? other_spread : 0.0f;
    const float covariance = static_cast<float>(sum[4]) - mean * other;
    const float deviations = sqrtf(variance * other_variance);
    double luminance = 0, contrast = 0, structure = 0;
    if (wanted & (kLuminance | kProduct))
        luminance = (2.0 * mean * other + kStableLuminance) /
                    static_cast<double>(mean * mean + other * other + kStableLuminance);
    if (wanted & (kContrast | kProduct))
        contrast =
            (2.0 * deviations + kStableContrast) / static_cast<double>(variance + other_variance + kStableContrast);
    if (wanted & (kStructure | kProduct)) {
        // Where nothing varies, a negative covariance is but a rounding error.
        const float shared = covariance < 0.0f && deviations <= 0.0f ? 0.0f : covariance;
        structure = (shared + kStableStructure) / (deviations + kStableStructure);
    }
    const double terms[kTerms] = {luminance, contrast, structure, luminance * contrast * structure};
#pragma unroll
    for (int t = 0; t < kTerms; ++t) strip.terms[threadIdx.y][t][threadIdx.x] = terms[t];
}

// Sums of the terms of a strip of columns, from top to bottom; `out` is its first column's of the first term.
template <class T>
__device__ void sum_strip(Strip& strip, const Source<T>& ref, const Source<T>& dis, int first, int wanted, double* out,
                          int term_columns) {
    const int columns = ref.width - kWindow + 1;
    const bool inside = first + static_cast<int>(threadIdx.x) < columns;
    double sum = 0;  // of the warp's own term
    for (int top = 0; top < ref.height; top += kRows) {
        const int y = top + threadIdx.y;
        if (y < ref.height)
            for (int i = threadIdx.x; i < kColumns + kWindow - 1 && first + i < ref.width; i += kColumns) {
                strip.read[0][threadIdx.y][i] = ref.at(first + i, y);
                strip.read[1][threadIdx.y][i] = dis.at(first + i, y);
            }
        __syncthreads();
        if (y < ref.height && inside) filter_across(strip, y % kRing);
        __syncthreads();
        if (y >= kWindow - 1 && y < ref.height && inside) find_terms(strip, y % kRing, wanted);
        __syncthreads();
        if (threadIdx.y < kTerms && inside)
            for (int r = max(0, kWindow - 1 - top); r < min(kRows, ref.height - top); ++r)
                sum += strip.terms[r][threadIdx.y][threadIdx.x];
    }
    if (threadIdx.y < kTerms && inside) out[static_cast<i64>(threadIdx.y) * term_columns + threadIdx.x] = sum;
}

// One of a frame's levels, from the first on.
struct Level {
    int number, width, height;
    i64 values;   // where its pictures begin
    int columns;  // where its columns begin

    __device__ Level(int wide, int high) : number(0), width(wide), height(high), values(0), columns(0) {}

    __device__ int places() const { return width - kWindow + 1; }
    __device__ void next(bool kept) {
        if (kept) values += 2 * static_cast<i64>(width) * height;
        columns += places();
        width = shrunk(width, 2), height = shrunk(height, 2);
        ++number;
    }
};

template <class T>
__device__ void find_sums(const Frame* frames, int depth, const float* values, i64 frame_values, int width, int height,
                          int levels, int first_kept, int wanted, int wanted_last, double* columns,
                          int frame_columns) {
    __shared__ Strip strip;
    Level level(width, height);
    int number = blockIdx.x;
    for (int strips; number >= (strips = (level.places() + kColumns - 1) / kColumns); number -= strips)
        level.next(level.number >= first_kept);
    const int first = number * kColumns;
    double* out = columns + static_cast<i64>(blockIdx.z) * kTerms * frame_columns + level.columns + first;
    if (level.number + 1 == levels) wanted = wanted_last;
    if (level.number < first_kept) {
        const Frame& frame = frames[blockIdx.z];
        sum_strip(strip, samples_of<T>(frame.ref, level.width, level.height, depth),
                  samples_of<T>(frame.dis, level.width, level.height, depth), first, wanted, out, frame_columns);
    } else {
        const float* of = values + blockIdx.z * frame_values + level.values;
        const i64 size = static_cast<i64>(level.width) * level.height;
        sum_strip(strip, values_of(of, level.width, level.height), values_of(of + size, level.width, level.height),
                  first, wanted, out, frame_columns);
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256) ssim_shrink_8(const Frame* frames, int width, int height, int depth,
                                                                int factor, float* values, i64 frame_values) {
    const i64 size = static_cast<i64>(shrunk(width, factor)) * shrunk(height, factor);
    shrink(samples_of<u8>(side_of(frames), width, height, depth), factor, out_of(values, frame_values, 0, size));
}

extern "C" __global__ void __launch_bounds__(256) ssim_shrink_16(const Frame* frames, int width, int height, int depth,
                                                                 int factor, float* values, i64 frame_values) {
    const i64 size = static_cast<i64>(shrunk(width, factor)) * shrunk(height, factor);
    shrink(samples_of<u16>(side_of(frames), width, height, depth), factor, out_of(values, frame_values, 0, size));
}

extern "C" __global__ void __launch_bounds__(256) ssim_halve_8(const Frame* frames, int width, int height, int depth,
                                                               float* values, i64 frame_values) {
    const i64 size = static_cast<i64>(shrunk(width, 2)) * shrunk(height, 2);
    halve(samples_of<u8>(side_of(frames), width, height, depth), out_of(values, frame_values, 0, size));
}

extern "C" __global__ void __launch_bounds__(256) ssim_halve_16(const Frame* frames, int width, int height, int depth,
                                                                float* values, i64 frame_values) {
    const i64 size = static_cast<i64>(shrunk(width, 2)) * shrunk(height, 2);
    halve(samples_of<u16>(side_of(frames), width, height, depth), out_of(values, frame_values, 0, size));
}

// From a level's pictures, which begin at `from`, to the next one's behind them.
extern "C" __global__ void __launch_bounds__(256) ssim_halve_again(float* values, i64 frame_values, i64 from, int width,
                                                                   int height) {
    const i64 size = static_cast<i64>(width) * height, half = static_cast<i64>(shrunk(width, 2)) * shrunk(height, 2);
    halve(values_of(out_of(values, frame_values, from, size), width, height),
          out_of(values, frame_values, from + 2 * size, half));
}

// `width` and `height` are the first level's; from level `first_kept` on pictures are in `values`.
extern "C" __global__ void __launch_bounds__(256)
    ssim_columns_8(const Frame* frames, int depth, const float* values, i64 frame_values, int width, int height,
                   int levels, int first_kept, int wanted, int wanted_last, double* columns, int frame_columns) {
    find_sums<u8>(frames, depth, values, frame_values, width, height, levels, first_kept, wanted, wanted_last, columns,
                  frame_columns);
}

extern "C" __global__ void __launch_bounds__(256)
    ssim_columns_16(const Frame* frames, int depth, const float* values, i64 frame_values, int width, int height,
                    int levels, int first_kept, int wanted, int wanted_last, double* columns, int frame_columns) {
    find_sums<u16>(frames, depth, values, frame_values, width, height, levels, first_kept, wanted, wanted_last, columns,
                   frame_columns);
}

// Adds up the columns of a level (block x) from left to right; each warp has a term.
extern "C" __global__ void __launch_bounds__(128)
    ssim_totals(const double* columns, int frame_columns, int width, int height, double* sums) {
    Level level(width, height);
    while (level.number < static_cast<int>(blockIdx.x)) level.next(false);
    const int lane = threadIdx.x % 32, term = threadIdx.x / 32;
    const double* of = columns + (static_cast<i64>(blockIdx.z) * kTerms + term) * frame_columns + level.columns;
    double sum = 0;
    for (int x = 0; x < level.places(); x += 32) {
        const double mine = x + lane < level.places() ? of[x + lane] : 0.0;
        const int count = min(32, level.places() - x);
        for (int k = 0; k < count; ++k) sum += __shfl_sync(0xFFFFFFFFu, mine, k);
    }
    if (lane == 0) sums[(blockIdx.z * gridDim.x + blockIdx.x) * kTerms + term] = sum;
}
