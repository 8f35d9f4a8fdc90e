// CIEDE2000: the colour difference of every pixel, as native/ciede/formula.h has it, and their sum in order.
#include "ciede_functions.cuh"
#include "ordered_chunks.cuh"

namespace {

constexpr double kPi = 3.141592653589793;
constexpr double k25To7 = 6103515625.0;

struct Lab {
    double l, a, b;
};

__device__ __forceinline__ double linear_light(double c) {
    constexpr double kLinear = 10.0 / 255.0;
    const double curve = power_2_4((larger(c, kLinear) + 0.055) * (1.0 / 1.055));
    return c > kLinear ? curve : c * (1.0 / 12.92);
}

__device__ __forceinline__ double lightness_of(double c) {
    constexpr double kKappa = 24389.0 / 27.0, kEpsilon = 216.0 / 24389.0;
    const double curve = cube_root(larger(c, kEpsilon));
    return single(c > kEpsilon ? curve : (kKappa * c + 16.0) * (1.0 / 116.0));
}

// BT.709 samples of studio range in CIE L*a*b*.
__device__ Lab lab(const int (&samples)[3], int depth) {
    const double step = 1 << (depth - 8), luma = 1.0 / (219.0 * step), chroma = 1.0 / (224.0 * step);
    const double y = (samples[0] - 16.0 * step) * luma;
    const double u = (samples[1] - 128.0 * step) * chroma;
    const double v = (samples[2] - 128.0 * step) * chroma;
    const double r = linear_light(y + 1.28033 * v);
    const double g = linear_light(y - 0.21482 * u - 0.38059 * v);
    const double b = linear_light(y + 2.12798 * u);
    const double fx = lightness_of((r * 0.4124564390896921 + g * 0.357576077643909 + b * 0.18043748326639894) *
                                   (1.0 / 0.95047));
    const double fy = lightness_of(r * 0.21267285140562248 + g * 0.715152155287818 + b * 0.07217499330655958);
    const double fz = lightness_of((r * 0.019333895582329317 + g * 0.119192025881303 + b * 0.9503040785363677) *
                                   (1.0 / 1.08883));
    return {single(116.0 * fy - 16.0), single(500.0 * (fx - fy)), single(200.0 * (fy - fz))};
}

__device__ __forceinline__ double length(double a, double b) { return single(sqrt(a * a + b * b)); }

__device__ __forceinline__ double power_7(double x) {
    const double x2 = x * x;
    return x2 * x2 * x2 * x;
}

// 0 to 2 pi.
__device__ __forceinline__ double hue_of(double b, double a) {
    const double found = single(angle(b, a));
    return found < 0.0 ? single(found + 2.0 * kPi) : found;
}

// 1 - 0.17 cos(h - 30°) + 0.24 cos 2h + 0.32 cos(3h + 6°) - 0.2 cos(4h - 63°)
__device__ __forceinline__ double hue_weight(double h) {
    constexpr double kCos30 = 0.8660254037844387, kCos6 = 0.9945218953682733, kSin6 = 0.10452846326765347;
    constexpr double kCos63 = 0.45399049973954675, kSin63 = 0.8910065241883679;
    const SineCosine of = sine_cosine(h);
    const double s = of.sine, c = of.cosine;
    const double s2 = 2.0 * s * c, c2 = 1.0 - 2.0 * s * s;
    const double s3 = s * c2 + c * s2, c3 = c * c2 - s * s2;
    const double s4 = 2.0 * s2 * c2, c4 = 1.0 - 2.0 * s2 * s2;
    return single(1.0 - (0.17 * kCos30 * c + 0.17 * 0.5 * s) + 0.24 * c2 + (0.32 * kCos6 * c3 - 0.32 * kSin6 * s3) -
                  (0.2 * kCos63 * c4 + 0.2 * kSin63 * s4));
}

// The rotation term, which matters to blue colours; 0 where it is far below the last digit of what it is added to.
__device__ __forceinline__ double rotation(double chroma, double h) {
    const double degrees = single((single(h * (180.0 / kPi)) - 275.0) * (1.0 / 25.0));
    const double square = single(degrees * degrees);
    if (!(square < 40.0 && chroma > 1e-3)) return 0.0;
    const double turn = single(single(60.0 * exp_of_minus(square)) * (kPi / 180.0));
    const double c7 = single(power_7(chroma));
    const double share = single(c7 / single(c7 + static_cast<double>(static_cast<float>(k25To7))));
    return single(-2.0 * sqrt(share) * sine(turn));
}

__device__ double difference(const Lab& one, const Lab& two) {
    const double l_mean = single(one.l + two.l) * 0.5;
    const double c_mean = single(length(one.a, one.b) + length(two.a, two.b)) * 0.5;
    const double c7 = power_7(c_mean);
    const double stretch = 1.0 - sqrt(c7 / (c7 + k25To7));
    const double a1 = single(one.a + one.a * 0.5 * stretch), a2 = single(two.a + two.a * 0.5 * stretch);
    const double c1 = length(a1, one.b), c2 = length(a2, two.b);
    const double chroma_mean = single(c1 + c2) * 0.5;

    const double h1 = hue_of(one.b, a1), h2 = hue_of(two.b, a2);
    const double apart = single(h2 - h1), sum = single(h1 + h2);
    const bool over = magnitude(apart) > kPi;  // the shorter way round is through zero
    const double round = apart > 0.0 ? -2.0 * kPi : 2.0 * kPi;
    const double turn = over ? single(apart + round) : apart;
    const double h_mean = single((over ? sum + 2.0 * kPi : sum) * 0.5);

    const double off = single(l_mean - 50.0), off2 = off * off;
    const double s_l = single(1.0 + 0.015 * off2 / sqrt(20.0 + off2));
    const double s_c = single(1.0 + 0.045 * chroma_mean);
    const double s_h = single(1.0 + 0.015 * chroma_mean * hue_weight(h_mean));
    const double d_h = single(2.0 * sqrt(single(c1 * c2)) * sine(turn * 0.5));

    const double light = single(single(two.l - one.l) / single(static_cast<double>(0.65f) * s_l));
    const double chroma = single(single(c2 - c1) / s_c);
    const double hue = single(d_h / (4.0 * s_h));
    const double crossed = single(single(rotation(chroma_mean, h_mean) * chroma) * hue);
    return sqrt(light * light + chroma * chroma + hue * hue + crossed);
}

// Where a pixel's chroma is, in planes that may have fewer columns than the picture's format makes them have: more
// are zeros up to a multiple of 32, then the next row. See chroma_row() in native/ciede/ciede.cpp.
struct ChromaPlace {
    int row, column;
    bool none;

    __device__ ChromaPlace(int x, int y, int needed, int width, int height) : row(y), column(x), none(false) {
        if (needed > width) {
            const int pitch = (width + 31) / 32 * 32;
            row += x / pitch, column = x % pitch, none = column >= width;
        }
        row = min(row, height - 1);
    }
};

// Differences of all pixels in rows, up to a multiple of 16 with zeros. Block (x, y, frame) has 32x8 of them.
template <class T>
__device__ void find_differences(const Frame* frames, int width, int height, int depth, int chroma_width,
                                 int chroma_height, int column_shift, int row_shift, float* terms, i64 frame_terms) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const Frame& frame = frames[blockIdx.z];
    float* out = terms + blockIdx.z * frame_terms;
    const i64 pixels = static_cast<i64>(width) * height;
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.y == 0 && pixels + threadIdx.x < frame_terms)
        out[pixels + threadIdx.x] = 0.0f;
    if (x >= width || y >= height) return;
    const int needed = ((width - 1) >> column_shift) + 1;
    const ChromaPlace place(x >> column_shift, y >> row_shift, needed, chroma_width, chroma_height);
    int ref[3], dis[3];
#pragma unroll
    for (int p = 0; p < 3; ++p) {
        const int row = p == 0 ? y : place.row, column = p == 0 ? x : place.column;
        const bool none = p > 0 && place.none;
        ref[p] = none ? 0 : row_of<T>(frame.ref, p, row)[column];
        dis[p] = none ? 0 : row_of<T>(frame.dis, p, row)[column];
    }
    float found = 0.0f;  // of equal colours
    if (ref[0] != dis[0] || ref[1] != dis[1] || ref[2] != dis[2])
        found = static_cast<float>(difference(lab(ref, depth), lab(dis, depth)));
    out[static_cast<i64>(y) * width + x] = found;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    ciede_8(const Frame* frames, int width, int height, int depth, int chroma_width, int chroma_height,
            int column_shift, int row_shift, float* terms, i64 frame_terms) {
    find_differences<u8>(frames, width, height, depth, chroma_width, chroma_height, column_shift, row_shift, terms,
                         frame_terms);
}

extern "C" __global__ void __launch_bounds__(256)
    ciede_16(const Frame* frames, int width, int height, int depth, int chroma_width, int chroma_height,
             int column_shift, int row_shift, float* terms, i64 frame_terms) {
    find_differences<u16>(frames, width, height, depth, chroma_width, chroma_height, column_shift, row_shift, terms,
                          frame_terms);
}

// Block (chunk, 0, frame) makes a chunk's plain sum.
extern "C" __global__ void __launch_bounds__(256) ciede_chunks(const float* terms, i64 frame_terms, float* chunks) {
    float mine[kEach], sum = 0;
    read_terms(terms + blockIdx.z * frame_terms, frame_terms,
               static_cast<i64>(blockIdx.x) * kChunk + threadIdx.x * kEach, mine);
    for (int i = 0; i < kEach; ++i) sum += mine[i];
    sum = plain_sum<kChunkThreads>(sum);
    if (threadIdx.x == 0) chunks[blockIdx.z * gridDim.x + blockIdx.x] = sum;
}

// Block (chunk, 0, frame) finds what a chunk adds to the sum.
extern "C" __global__ void __launch_bounds__(256)
    ciede_growths(const float* terms, i64 frame_terms, const float* chunks, ChunkGrowths<double>* growths) {
    const i64 first = static_cast<i64>(blockIdx.z) * gridDim.x;
    find_growths(terms + blockIdx.z * frame_terms, frame_terms, chunks + first, blockIdx.x, growths + first);
}

extern "C" __global__ void __launch_bounds__(256)
    ciede_sum(const float* terms, i64 frame_terms, const ChunkGrowths<double>* growths, double* sums, int words,
              int word) {
    const i64 first = static_cast<i64>(blockIdx.z) * chunks_of(frame_terms);
    const double found = sum_chunks(terms + blockIdx.z * frame_terms, frame_terms, growths + first);
    if (threadIdx.x == 0) sums[blockIdx.z * words + word] = found;
}
