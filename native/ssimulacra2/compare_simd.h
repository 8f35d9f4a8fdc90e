// The blur down, sixteen columns of kRows rows at a time, and the errors there.
#pragma once

#include <cmath>

#include "simd/isa.h"
#include "ssimulacra2/table.h"

namespace acuity::ACUITY_ISA::s2 {

using namespace ssimulacra2;

struct Means {
    alignas(64) float of[kBlurred][kRows][kColumns];
};

// One register's columns of one blurred thing, down kRows rows.
inline void blur_down(const Band& band, int at, float* state, float* out) {
    F32 last[kModes], earlier[kModes];
    for (int m = 0; m < kModes; ++m) {
        last[m] = load<F32>(state + m * 2 * kColumns);
        earlier[m] = load<F32>(state + (m * 2 + 1) * kColumns);
    }
    for (int r = 0; r < kRows; ++r) {
        const F32 input = load<F32>(band.behind[r] + at) + load<F32>(band.ahead[r] + at);
        F32 value[kModes];
        for (int m = 0; m < kModes; ++m) {
            const F32 past = fused(splat<F32>(-static_cast<float>(kTurn[m])), last[m], -earlier[m]);
            value[m] = fused(splat<F32>(static_cast<float>(kGain[m])), input, past);
            earlier[m] = last[m];
            last[m] = value[m];
        }
        store(out + r * kColumns, value[0] + (value[1] + value[2]));
    }
    for (int m = 0; m < kModes; ++m) {
        store(state + m * 2 * kColumns, last[m]);
        store(state + (m * 2 + 1) * kColumns, earlier[m]);
    }
}

inline void blur_block(const Band& band, int block, Means& means) {
    for (int what = 0; what < kBlurred; ++what)
        for (int i = 0; i < kColumns; i += kLanes32)
            blur_down(band, block * kRingBlock + what * kColumns + i,
                      band.state + block * kStateBlock + what * kModes * 2 * kColumns + i, &means.of[what][0][i]);
}

inline void add_up(double* sums, double* fourths, const double* values) {
    for (int i = 0; i < kColumns; ++i) {
        const double square = values[i] * values[i];
        sums[i] += values[i];
        fourths[i] += square * square;
    }
}

// The errors of sixteen columns of a row.
inline void add_errors(const Means& means, int r, const float* ref, const float* dis, Sums& sums) {
    const float *s11 = means.of[0][r], *s22 = means.of[1][r], *s12 = means.of[2][r];
    const float *m1 = means.of[3][r], *m2 = means.of[4][r];
    alignas(64) double values[3][kColumns];
    for (int i = 0; i < kColumns; ++i) {
        const float level = 1.0f - (m1[i] - m2[i]) * (m1[i] - m2[i]);
        const float shared = 2.0f * (s12[i] - m1[i] * m2[i]) + kSmall;
        const float apart = (s11[i] - m1[i] * m1[i]) + (s22[i] - m2[i] * m2[i]) + kSmall;
        const double error = 1.0 - static_cast<double>(level * shared / apart);
        values[0][i] = error > 0.0 ? error : 0.0;
    }
    for (int i = 0; i < kColumns; ++i) {
        const double ours = 1.0 + static_cast<double>(std::fabs(dis[i] - m2[i]));
        const double theirs = 1.0 + static_cast<double>(std::fabs(ref[i] - m1[i]));
        const double edge = ours / theirs - 1.0;
        values[1][i] = edge > 0.0 ? edge : 0.0;
        values[2][i] = -edge > 0.0 ? -edge : 0.0;
    }
    for (int map = 0; map < 3; ++map) add_up(sums.lane[2 * map], sums.lane[2 * map + 1], values[map]);
}

inline void compare(const Band& band, Sums& sums) {
    Means means;
    for (int block = 0; block < blocks(band.width); ++block) {
        blur_block(band, block, means);
        for (int r = band.first; r < band.last; ++r)
            add_errors(means, r, band.ref[r] + block * kColumns, band.dis[r] + block * kColumns, sums);
    }
}

}  // namespace acuity::ACUITY_ISA::s2
