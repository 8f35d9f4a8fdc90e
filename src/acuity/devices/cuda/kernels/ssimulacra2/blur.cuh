// SSIMULACRA 2: the recursive blur, across and down, and the errors of what it leaves.
#pragma once
#include "ssimulacra2/plan.cuh"

// Four steps of a mode at once: each of the four values from four inputs and the two values before.
struct FourSteps {
    float input[4];    // by how many steps the input is back
    float last[4];     // factor of the value before, by step
    float earlier[4];  // factor of the one before that

    __device__ constexpr FourSteps(double gain, double d)
        : input{static_cast<float>(gain), static_cast<float>(-d * gain), static_cast<float>(d * d * gain - gain),
                static_cast<float>(-d * d * d * gain + 2.0 * d * gain)},
          last{static_cast<float>(-d), static_cast<float>(d * d - 1.0), static_cast<float>(-d * d * d + 2.0 * d),
               static_cast<float>(d * d * d * d - 3.0 * d * d + 1.0)},
          earlier{-1.0f, static_cast<float>(d), static_cast<float>(-d * d + 1.0),
                  static_cast<float>(d * d * d - 2.0 * d)} {}
};

constexpr int kFirstFour = 8;
__device__ __forceinline__ bool four_at(int column, int width) { return column >= kFirstFour && column < width - 7; }

// Past values of the modes of a row, and the next ones from what enters.
struct Modes {
    float last[kModes], earlier[kModes];

    __device__ __forceinline__ float step(float input) {
        constexpr FourSteps kSteps[kModes] = {{kGain[0], kTurn[0]}, {kGain[1], kTurn[1]}, {kGain[2], kTurn[2]}};
        float value[kModes];
#pragma unroll
        for (int m = 0; m < kModes; ++m) {
            const FourSteps& f = kSteps[m];
            value[m] = __fmaf_rn(f.last[0], last[m], __fmaf_rn(f.earlier[0], earlier[m], input * f.input[0]));
            earlier[m] = last[m];
            last[m] = value[m];
        }
        return value[0] + (value[1] + value[2]);
    }

    __device__ __forceinline__ void four(const float (&input)[4], float (&out)[4]) {
        constexpr FourSteps kSteps[kModes] = {{kGain[0], kTurn[0]}, {kGain[1], kTurn[1]}, {kGain[2], kTurn[2]}};
        float value[kModes][4];
#pragma unroll
        for (int m = 0; m < kModes; ++m) {
            const FourSteps& f = kSteps[m];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                float sum = input[0] * f.input[j];
#pragma unroll
                for (int k = 1; k <= j; ++k) sum = __fmaf_rn(f.input[j - k], input[k], sum);
                value[m][j] = __fmaf_rn(f.last[j], last[m], __fmaf_rn(f.earlier[j], earlier[m], sum));
            }
            earlier[m] = value[m][2];
            last[m] = value[m][3];
        }
#pragma unroll
        for (int j = 0; j < 4; ++j) out[j] = value[0][j] + (value[1][j] + value[2][j]);
    }
};

// ---- across -----------------------------------------------------------------------------------

constexpr int kTileRows = 32, kTileColumns = 32, kTileWidth = kTileColumns + kSpan;
constexpr int kAcrossThreads = 32 * kBlurred;

// Blurs rows of a slab: 32 by blockIdx.x, channel blockIdx.y. A lane has a row, a warp one of what is blurred.
__device__ __forceinline__ void blur_across(const Ssimulacra2Plan& plan, int slab) {
    __shared__ float sides[2][kTileRows][kTileWidth + 1];
    __shared__ float made[kBlurred][kTileRows][kTileColumns + 1];
    const int lane = threadIdx.x % 32, what = threadIdx.x / 32, channel = blockIdx.y;
    const int first = slab * kSlab + blockIdx.x * kTileRows;
    if (first >= plan.height) return;
    const auto value = [&](int at) {
        const float ref = sides[0][lane][at], dis = sides[1][lane][at];
        return what == 0 ? ref * ref : what == 1 ? dis * dis : what == 2 ? ref * dis : what == 3 ? ref : dis;
    };
    Modes modes{};
    for (int start = 0; start < plan.width; start += kTileColumns) {
        __syncthreads();
        for (int i = threadIdx.x; i < 2 * kTileRows * kTileWidth; i += kAcrossThreads) {
            const int column = i % kTileWidth, row = i / kTileWidth % kTileRows, side = i / kTileWidth / kTileRows;
            const int x = start - kRadius - 1 + column, y = first + row;
            const bool inside = x >= 0 && x < plan.width && y < plan.height;
            sides[side][row][column] =
                inside ? ring_row(plan.colour, 2 * kChannels, side * kChannels + channel, y, plan)[x] : 0.0f;
        }
        __syncthreads();
        if (start == 0)  // columns before the first see only what is ahead
            for (int n = 1 - kRadius; n < 0; ++n) modes.step(0.0f + value(n + kSpan));
        const auto input = [&](int n) { return value(n) + value(n + kSpan); };
        const int last = min(kTileColumns, plan.width - start);
        for (int n = 0; n < last;) {
            if (four_at(start + n, plan.width)) {
                float out[4];
                modes.four({input(n), input(n + 1), input(n + 2), input(n + 3)}, out);
                for (int j = 0; j < 4; ++j) made[what][lane][n + j] = out[j];
                n += 4;
            } else {
                made[what][lane][n] = modes.step(input(n));
                n += 1;
            }
        }
        __syncthreads();
        for (int row = 0; row < kTileRows && first + row < plan.height; ++row) {
            const int plane = channel * kBlurred + what;
            float* const out = ring_row(plan.across, kChannels * kBlurred, plane, first + row, plan);
            if (lane < last) out[start + lane] = made[what][row][lane];
        }
    }
}

// ---- down -------------------------------------------------------------------------------------

constexpr float kSmall = 0.0009f;  // keeps flat areas apart from noise in the structural similarity

struct Errors {
    double of[kMaps];
};

__device__ __forceinline__ Errors errors_of(const float (&mean)[kBlurred], float ref, float dis) {
    const float s11 = mean[0], s22 = mean[1], s12 = mean[2], m1 = mean[3], m2 = mean[4];
    const float level = 1.0f - (m1 - m2) * (m1 - m2);
    const float shared = 2.0f * (s12 - m1 * m2) + kSmall;
    const float apart = (s11 - m1 * m1) + (s22 - m2 * m2) + kSmall;
    const double ours = 1.0 + static_cast<double>(fabsf(dis - m2));
    const double theirs = 1.0 + static_cast<double>(fabsf(ref - m1));
    const double structure = 1.0 - static_cast<double>(level * shared / apart), edge = ours / theirs - 1.0;
    const auto positive = [](double error) { return error < 0.0 ? 0.0 : error; };
    return {{positive(structure), positive(edge), positive(-edge)}};
}

constexpr int kDownThreads = 128;

// Blurs a slab down and finds the errors of the rows that leave it: a column a thread, channel blockIdx.y.
__device__ __forceinline__ void blur_down(const Ssimulacra2Plan& plan, int slab) {
    const int x = blockIdx.x * kDownThreads + threadIdx.x, channel = blockIdx.y, blocks = blocks_of(plan);
    if (x >= blocks * kLanes) return;
    double* terms[kMaps];
    for (int map = 0; map < kMaps; ++map)
        terms[map] = terms_of(plan, channel, map) + x / kLanes * 4 * kLanes + x % kLanes;
    float* const state = plan.state + (static_cast<i64>(blockIdx.z) * kChannels + channel) * 2 * kBlurred * kModes *
                                          plan.stride + min(x, plan.stride - 1);
    const bool there = x < plan.width;
    float last[kBlurred][kModes], earlier[kBlurred][kModes];
#pragma unroll
    for (int i = 0; i < kBlurred * kModes; ++i) {
        const bool known = slab > 0 && there;
        last[i / kModes][i % kModes] = known ? state[static_cast<i64>(2 * i) * plan.stride] : 0.0f;
        earlier[i / kModes][i % kModes] = known ? state[static_cast<i64>(2 * i + 1) * plan.stride] : 0.0f;
    }
#pragma unroll 4
    for (int j = 0; j < kSlab; ++j) {  // several rows are loaded at once
        const int row = slab * kSlab + j, leaving = row - kDelay;
        float mean[kBlurred];
#pragma unroll
        for (int what = 0; what < kBlurred; ++what) {
            const auto blurred = [&](int y) {
                const int plane = channel * kBlurred + what;
                return there && y >= 0 && y < plan.height
                           ? __ldg(ring_row(plan.across, kChannels * kBlurred, plane, y, plan) + x)
                           : 0.0f;
            };
            const float input = blurred(row - kSpan) + blurred(row);
            float value[kModes];
#pragma unroll
            for (int m = 0; m < kModes; ++m) {
                const float past = __fmaf_rn(-static_cast<float>(kTurn[m]), last[what][m], -earlier[what][m]);
                value[m] = __fmaf_rn(static_cast<float>(kGain[m]), input, past);
                earlier[what][m] = last[what][m];
                last[what][m] = value[m];
            }
            mean[what] = value[0] + (value[1] + value[2]);
        }
        Errors errors{};
        if (there && leaving >= 0 && leaving < plan.height)
            errors = errors_of(mean, __ldg(ring_row(plan.colour, 2 * kChannels, channel, leaving, plan) + x),
                               __ldg(ring_row(plan.colour, 2 * kChannels, kChannels + channel, leaving, plan) + x));
        for (int map = 0; map < kMaps; ++map)
            terms[map][(static_cast<i64>(j / 4) * blocks * 4 + j % 4) * kLanes] = errors.of[map];
    }
    if (!there) return;
#pragma unroll
    for (int i = 0; i < kBlurred * kModes; ++i) {
        state[static_cast<i64>(2 * i) * plan.stride] = last[i / kModes][i % kModes];
        state[static_cast<i64>(2 * i + 1) * plan.stride] = earlier[i / kModes][i % kModes];
    }
}

// ---- sums -------------------------------------------------------------------------------------

constexpr int kAddThreads = 2 * kMaps * kLanes;

// Adds a slab's errors and their fourth powers to the sums of channel blockIdx.x, lane by lane in the CPU's order.
__device__ __forceinline__ void add_slab(const Ssimulacra2Plan& plan, double* sums) {
    constexpr int kAhead = 16;
    const int lane = threadIdx.x % kLanes, map = threadIdx.x / 32;
    const bool fourth = threadIdx.x / kLanes % 2 != 0;
    const double* at = terms_of(plan, blockIdx.x, map) + lane;
    const int count = kSlab * blocks_of(plan);
    double terms[kAhead], sum = sums[threadIdx.x];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) terms[i] = at[i * kLanes];
    for (int start = 0; start < count; start += kAhead) {  // of which it is a multiple
        const double* const next = at + static_cast<i64>(start + kAhead < count ? start + kAhead : start) * kLanes;
#pragma unroll
        for (int i = 0; i < kAhead; ++i) {
            const double term = terms[i], square = term * term;
            terms[i] = next[i * kLanes];
            sum += fourth ? square * square : term;
        }
    }
    sums[threadIdx.x] = sum;
}
