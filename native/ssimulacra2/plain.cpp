#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/plain.h"
#include "ssimulacra2/table.h"

namespace acuity::plain {

namespace {

using namespace ssimulacra2;

// Chroma at a place of the luma plane, as a sum of samples whose weights add up to 2 across and 4 down where
// chroma is halved.
int upsampled(const Plane& chroma, const Plane& luma, int x, int y) {
    const bool across = chroma.width < luma.width, down = chroma.height < luma.height;
    const int row = down ? std::min(y / 2, chroma.height - 1) : y;
    const int other = down ? std::clamp(row + (y % 2 == 0 ? -1 : 1), 0, chroma.height - 1) : y;
    const Row near(chroma, row, chroma.depth == 8), far(chroma, other, chroma.depth == 8);
    const auto mixed = [&](int column) {
        const int at = std::min(column, chroma.width - 1);
        return static_cast<int>(down ? 3 * near[at] + far[at] : near[at]);
    };
    if (!across) return mixed(x);
    return mixed(x / 2) + mixed(x % 2 == 0 ? x / 2 : x / 2 + 1);
}

float light_of(float encoded, const float* curve) {
    const float place = std::min(std::max(encoded, 0.0f), 1.0f) * static_cast<float>(kCurve);
    const int step = static_cast<int>(place);
    return curve[step] + (place - static_cast<float>(step)) * curve[kCurve + 1 + step];
}

void linear(const Plane* planes, bool chroma, const Light& light, int row, float*, float* const rgb[3]) {
    const Plane& luma = planes[0];
    const Row samples(luma, row, luma.depth == 8);
    for (int x = 0; x < luma.width; ++x) {
        const float y = static_cast<float>(static_cast<int>(samples[x]) - light.black) * light.luma;
        float u = 0.0f, v = 0.0f;
        if (chroma) {
            u = static_cast<float>(upsampled(planes[1], luma, x, row) - light.grey);
            v = static_cast<float>(upsampled(planes[2], luma, x, row) - light.grey);
        }
        rgb[0][x] = light_of(y + v * light.red_v, light.curve);
        rgb[1][x] = light_of(y + (u * light.green_u + v * light.green_v), light.curve);
        rgb[2][x] = light_of(y + u * light.blue_u, light.curve);
    }
}

void halve(const float* upper, const float* lower, int width, float* out) {
    for (int x = 0; x < width; x += 2) {
        const int next = std::min(x + 1, width - 1);
        out[x / 2] = (((upper[x] + upper[next]) + lower[x]) + lower[next]) * 0.25f;
    }
}

// By Newton's method on 1 / cube root, from an estimate that divides the exponent.
float cube_root(float x, float add) {
    std::int32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits = bits == 0 ? 0 : 0x54800000 - (bits >> 23) * 0x002AAAAA;
    float r;
    std::memcpy(&r, &bits, sizeof r);
    constexpr float third = 1.0f / 3, four_thirds = 4.0f / 3;
    for (int i = 0; i < 3; ++i) {
        const float square = r * r;
        r = std::fma(-(third * x), square * square, four_thirds * r);
    }
    float square = r * r;
    r = std::fma(third, std::fma(-x, square * square, r), r);
    square = r * r;
    return std::fma(square, x, add);
}

void colour(const float* const rgb[3], const float mix[9], int width, float* const xyb[3]) {
    for (int x = 0; x < width; ++x) {
        float cone[3];
        for (int i = 0; i < 3; ++i) {
            const float* m = mix + 3 * i;
            const float blue = std::fma(m[2], rgb[2][x], kConeBias);
            const float sum = std::fma(m[0], rgb[0][x], std::fma(m[1], rgb[1][x], blue));
            cone[i] = cube_root(std::max(sum, 0.0f), -kConeBiasRoot);
        }
        const float opposed = 0.5f * (cone[0] - cone[1]), bright = 0.5f * (cone[0] + cone[1]);
        xyb[0][x] = opposed * 14.0f + 0.42f;
        xyb[1][x] = bright + 0.01f;
        xyb[2][x] = (cone[2] - bright) + 0.55f;
    }
}

// The values to blur at a column.
float blurred(int what, const float* ref, const float* dis, int x) {
    const float values[kBlurred] = {ref[x] * ref[x], dis[x] * dis[x], ref[x] * dis[x], ref[x], dis[x]};
    return values[what];
}

// Past values of a mode, and the next ones from what enters.
struct Mode {
    float last = 0.0f, earlier = 0.0f;

    float step(const FourSteps& f, float input) {
        const float value = std::fma(f.last[0], last, std::fma(f.earlier[0], earlier, input * f.input[0]));
        earlier = last;
        last = value;
        return value;
    }

    void four(const FourSteps& f, const float input[4], float out[4]) {
        for (int j = 0; j < 4; ++j) {
            out[j] = input[0] * f.input[j];
            for (int k = 1; k <= j; ++k) out[j] = std::fma(f.input[j - k], input[k], out[j]);
            out[j] = std::fma(f.last[j], last, std::fma(f.earlier[j], earlier, out[j]));
        }
        earlier = out[2];
        last = out[3];
    }
};

void blur_row(int what, const float* ref, const float* dis, int width, float* out) {
    const auto input = [&](int n) {
        return blurred(what, ref, dis, n - kRadius - 1) + blurred(what, ref, dis, n + kRadius - 1);
    };
    const auto put = [&](int n, float a, float b, float c) {
        out[n / kColumns * kRingBlock + what * kColumns + n % kColumns] = a + (b + c);
    };
    Mode modes[kModes];
    for (int n = 1 - kRadius; n < width;) {
        if (four_at(n, width)) {
            const float inputs[4] = {input(n), input(n + 1), input(n + 2), input(n + 3)};
            float values[kModes][4];
            for (int m = 0; m < kModes; ++m) modes[m].four(kFourSteps[m], inputs, values[m]);
            for (int j = 0; j < 4; ++j) put(n + j, values[0][j], values[1][j], values[2][j]);
            n += 4;
        } else {
            float values[kModes];
            for (int m = 0; m < kModes; ++m) values[m] = modes[m].step(kFourSteps[m], input(n));
            if (n >= 0) put(n, values[0], values[1], values[2]);
            n += 1;
        }
    }
}

void blur_across(const float* const ref[kRows], const float* const dis[kRows], int width, float*,
                 float* const out[kRows]) {
    for (int r = 0; r < kRows; ++r)
        for (int what = 0; what < kBlurred; ++what) blur_row(what, ref[r], dis[r], width, out[r]);
}

void add_up(Sums& sums, int lane, int map, double value) {
    const double square = value * value;
    sums.lane[2 * map][lane] += value;
    sums.lane[2 * map + 1][lane] += square * square;
}

// The errors at one place, from what was blurred there.
void add_errors(const float* mean, float ref, float dis, int lane, Sums& sums) {
    const float s11 = mean[0], s22 = mean[1], s12 = mean[2], m1 = mean[3], m2 = mean[4];
    const float level = 1.0f - (m1 - m2) * (m1 - m2);
    const float shared = 2.0f * (s12 - m1 * m2) + kSmall;
    const float apart = (s11 - m1 * m1) + (s22 - m2 * m2) + kSmall;
    add_up(sums, lane, 0, std::max(1.0 - static_cast<double>(level * shared / apart), 0.0));
    const double ours = 1.0 + static_cast<double>(std::fabs(dis - m2));
    const double theirs = 1.0 + static_cast<double>(std::fabs(ref - m1));
    const double edge = ours / theirs - 1.0;
    add_up(sums, lane, 1, std::max(edge, 0.0));
    add_up(sums, lane, 2, std::max(-edge, 0.0));
}

void compare(const Band& band, Sums& sums) {
    for (int block = 0; block < blocks(band.width); ++block) {
        float means[kRows][kColumns][kBlurred];
        for (int what = 0; what < kBlurred; ++what)
            for (int i = 0; i < kColumns; ++i) {
                const int at = block * kRingBlock + what * kColumns + i;
                float* state = band.state + block * kStateBlock + what * kModes * 2 * kColumns + i;
                for (int r = 0; r < kRows; ++r) {
                    const float input = band.behind[r][at] + band.ahead[r][at];
                    float value[kModes];
                    for (int m = 0; m < kModes; ++m) {
                        float &last = state[m * 2 * kColumns], &earlier = state[(m * 2 + 1) * kColumns];
                        const float past = std::fma(-static_cast<float>(kTurn[m]), last, -earlier);
                        value[m] = std::fma(static_cast<float>(kGain[m]), input, past);
                        earlier = last;
                        last = value[m];
                    }
                    means[r][i][what] = value[0] + (value[1] + value[2]);
                }
            }
        for (int r = band.first; r < band.last; ++r)
            for (int i = 0; i < kColumns; ++i) {
                const int x = block * kColumns + i;
                add_errors(means[r][i], band.ref[r][x], band.dis[r][x], i, sums);
            }
    }
}

}  // namespace

extern const Ssimulacra2Kernels ssimulacra2_kernels;
const Ssimulacra2Kernels ssimulacra2_kernels = {
    .linear = linear, .halve = halve, .colour = colour, .blur_across = blur_across, .compare = compare};

}  // namespace acuity::plain
