// SSIMULACRA 2: the recursive blur, across and down, and what the errors are made of.
#pragma once
#include "ssimulacra2/errors.cuh"

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

constexpr int kTileRows = 32, kTileColumns = 32, kKept = 2 * kTileColumns;  // columns: of a tile, and of two
constexpr int kAcrossThreads = 32 * kBlurred;

// Blurs a row of a tile of which every four columns are blurred at once, so that its values are read once.
template <bool kSquared>
__device__ __forceinline__ void blur_tile(Modes& modes, const float* one, const float* other, int first, float* made) {
    float values[kSpan + kTileColumns];
    const int past = (first - kSpan) & (kKept - 1), ahead = first & (kKept - 1);
#pragma unroll
    for (int i = 0; i < kSpan; ++i) values[i] = kSquared ? one[past + i] * other[past + i] : one[past + i];
#pragma unroll
    for (int n = 0; n < kTileColumns; n += 4) {
        float input[4], out[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int at = ahead + n + j;
            values[kSpan + n + j] = kSquared ? one[at] * other[at] : one[at];
            input[j] = values[n + j] + values[kSpan + n + j];
        }
        modes.four(input, out);
#pragma unroll
        for (int j = 0; j < 4; ++j) made[n + j] = out[j];
    }
}

// Blurs 32 rows of a slab, block `block` of its scale and channel blockIdx.y, a tile of columns after the other. A lane
// has a row, a warp one of what is blurred. A tile is loaded while the one before is blurred.
__device__ __forceinline__ void blur_across(const Ssimulacra2Scale& of, int slab, int block) {
    constexpr int kLines = 2 * kTileRows, kLoads = (kLines + kBlurred - 1) / kBlurred;
    __shared__ float sides[kLines][kKept + 1];  // rows of both pictures; column x is at (x - kDelay) % kKept
    __shared__ float made[kBlurred][kTileRows][kTileColumns + 1];
    const int lane = threadIdx.x % 32, what = threadIdx.x / 32, channel = blockIdx.y;
    const int top = slab * of.rows + block * kTileRows;
    const int rows = min(min(kTileRows, of.rows - block * kTileRows), of.height - top);
    if (rows <= 0) return;
    const int start = top % of.ring;
    const float* const in = ring_plane(of.colour, 2 * kChannels, channel, of);
    float* const out = ring_plane(of.across, kChannels * kBlurred, channel * kBlurred + what, of);

    float loaded[kLoads];  // a row of a picture for each
    const auto load = [&](int first) {
        const int x = first + kDelay + lane, column = min(max(x, 0), of.width - 1);
        const bool inside = x == column;
#pragma unroll
        for (int i = 0; i < kLoads; ++i) {
            const int line = what + i * kBlurred, side = line / kTileRows, row = line % kTileRows;
            const int place = in_ring(start + min(row, rows - 1), of);
            const float found = __ldg(in + (min(side, 1) * kChannels * of.ring + place) * of.stride + column);
            loaded[i] = inside ? found : 0.0f;
        }
    };
    const auto keep = [&](int first) {
#pragma unroll
        for (int i = 0; i < kLoads; ++i) {
            const int line = what + i * kBlurred;
            if (line < kLines) sides[line][(first + lane) & (kKept - 1)] = loaded[i];
        }
    };
    const float* const one = sides[(what == 1 || what == 4) * kTileRows + lane];
    const float* const other = sides[(what != 0) * kTileRows + lane];
    const bool squared = what < 3;
    const auto value = [&](int x) {
        const int at = (x - kDelay) & (kKept - 1);
        return squared ? one[at] * other[at] : one[at];
    };
    const auto input = [&](int x) { return value(x - kRadius - 1) + value(x + kDelay); };
    float* const row_made = made[what][lane];
    Modes modes{};

    load(-kTileColumns);
    keep(-kTileColumns);
    load(0);
    for (int first = 0; first < of.width; first += kTileColumns) {
        __syncthreads();
        keep(first);
        __syncthreads();
        if (first + kTileColumns < of.width) load(first + kTileColumns);
        if (first == 0)  // columns before the first see only what is ahead
            for (int x = 0; x < kDelay; ++x) modes.step(0.0f + value(x));
        const int last = min(kTileColumns, of.width - first);
        if (four_at(first, of.width) && four_at(first + kTileColumns - 4, of.width)) {
            if (squared)
                blur_tile<true>(modes, one, other, first, row_made);
            else
                blur_tile<false>(modes, one, other, first, row_made);
        } else {
            for (int n = 0; n < last;) {
                const int x = first + n;
                if (four_at(x, of.width)) {
                    float four[4];
                    modes.four({input(x), input(x + 1), input(x + 2), input(x + 3)}, four);
                    for (int j = 0; j < 4; ++j) row_made[n + j] = four[j];
                    n += 4;
                } else {
                    row_made[n] = modes.step(input(x));
                    n += 1;
                }
            }
        }
        __syncwarp();
        int at = start * of.stride + first + lane;
        if (lane < last)
#pragma unroll 8
            for (int row = 0; row < rows; ++row) {
                out[at] = made[what][row][lane];
                at += (row + 1 == of.ring - start ? 1 - of.ring : 1) * of.stride;
            }
    }
}

// ---- down -------------------------------------------------------------------------------------

constexpr int kDownThreads = 128;

// A band of rows of a column: what is blurred and enters the blur, what did so kSpan rows before, and the colours at
// the rows that leave it.
struct Band {
    float entering[kBand][kBlurred], past[kBand][kBlurred], ref[kBand], dis[kBand];
};

// Blurs a slab down, and keeps what the errors of the rows that leave it are made of: a column a thread, block `block`
// of its scale and channel blockIdx.y. A band is loaded while the one before is blurred.
__device__ __forceinline__ void blur_down(const Ssimulacra2Scale& of, int slab, int block) {
    const int x = block * kDownThreads + threadIdx.x, channel = blockIdx.y, rows = leaving_rows(of, slab);
    if (x >= of.stride || rows == 0) return;
    const bool there = x < of.width;
    const int top = slab * of.rows, start = top % of.ring;
    const int plane = of.ring * of.stride, kept = of.rows * of.stride;
    const float* const across = ring_plane(of.across, kChannels * kBlurred, channel * kBlurred, of) + x;
    const float* const colour = ring_plane(of.colour, 2 * kChannels, channel, of) + x;
    float* const errors = of.errors + (static_cast<i64>(blockIdx.z) * kChannels + channel) * kMaps * kept + x;
    float* const state = of.state + (static_cast<i64>(blockIdx.z) * kChannels + channel) * 2 * kBlurred * kModes *
                                        of.stride + x;
    float last[kBlurred][kModes], earlier[kBlurred][kModes];
#pragma unroll
    for (int i = 0; i < kBlurred * kModes; ++i) {
        const bool known = slab > 0;
        last[i / kModes][i % kModes] = known ? state[2 * i * of.stride] : 0.0f;
        earlier[i / kModes][i % kModes] = known ? state[(2 * i + 1) * of.stride] : 0.0f;
    }
    // Whether all rows that a band is made of are in the picture, as most are.
    const auto is_inside = [&](int first) { return top + first >= kSpan && top + first + kBand <= of.height; };
    const auto load = [&](int first, bool inside) {
        Band band;
#pragma unroll
        for (int j = 0; j < kBand; ++j) {
            const auto at = [&](const float* from, int row) {
                const float found = __ldg(from + in_ring(start + row, of) * of.stride);
                return inside || (top + row >= 0 && top + row < of.height) ? found : 0.0f;
            };
            const int row = first + j;
#pragma unroll
            for (int what = 0; what < kBlurred; ++what) {
                band.entering[j][what] = at(across + what * plane, row);
                band.past[j][what] = at(across + what * plane, row - kSpan);
            }
            band.ref[j] = at(colour, row - kDelay);
            band.dis[j] = at(colour + kChannels * plane, row - kDelay);
        }
        return band;
    };
    Band next = load(0, false);
    for (int first = 0; first < rows; first += kBand) {
        const Band band = next;
        if (first + kBand < rows)
            next = is_inside(first + kBand) ? load(first + kBand, true) : load(first + kBand, false);
#pragma unroll
        for (int j = 0; j < kBand; ++j) {
            float mean[kBlurred];
#pragma unroll
            for (int what = 0; what < kBlurred; ++what) {
                const float input = band.past[j][what] + band.entering[j][what];
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
            const int leaving = top + first + j - kDelay;
            const bool known = there && leaving >= 0 && leaving < of.height;
            const Parts parts = known ? parts_of(mean, band.ref[j], band.dis[j]) : Parts{1.0f, 0.0f, 0.0f};
            float* const to = errors + (first + j) * of.stride;
            to[0] = parts.alike, to[kept] = parts.ref, to[2 * kept] = parts.dis;
        }
    }
#pragma unroll
    for (int i = 0; i < kBlurred * kModes; ++i) {
        state[2 * i * of.stride] = last[i / kModes][i % kModes];
        state[(2 * i + 1) * of.stride] = earlier[i / kModes][i % kModes];
    }
}
