// The wavelet of ADM in single precision, a row of bands at a time.
#pragma once

#include "float_adm/table.h"
#include "simd/float_rows.h"

namespace acuity::ACUITY_ISA::float_adm {

struct Bands {
    float* at[3];  // h, v, d
};

// A row filtered down, its even and odd columns apart: low-pass and high-pass.
struct Halves {
    float *even[2], *odd[2];
};

[[gnu::always_inline]] inline F32 dwt(const float (&taps)[4], F32 a, F32 b, F32 c, F32 d) {
    return ((taps[0] * a + taps[1] * b) + taps[2] * c) + taps[3] * d;
}

// Filters four rows down: low-pass, and high-pass where wanted.
template <bool High>
inline void dwt_down(const float* const (&rows)[4], int width, const Halves& out) {
    for (int x = 0; x < width; x += 2 * kLanes32) {
        F32 low[2], high[2];
        for (int i = 0; i < 2; ++i) {
            const int at = x + i * kLanes32;
            const F32 a = load<F32>(rows[0] + at), b = load<F32>(rows[1] + at), c = load<F32>(rows[2] + at),
                      d = load<F32>(rows[3] + at);
            low[i] = dwt(kFloatDwtLow, a, b, c, d);
            if constexpr (High) high[i] = dwt(kFloatDwtHigh, a, b, c, d);
        }
        store(out.even[0] + x / 2, even_of(low[0], low[1]));
        store(out.odd[0] + x / 2, odd_of(low[0], low[1]));
        if constexpr (High) {
            store(out.even[1] + x / 2, even_of(high[0], high[1]));
            store(out.odd[1] + x / 2, odd_of(high[0], high[1]));
        }
    }
    for (int i = 0; i < (High ? 2 : 1); ++i) {
        const int last = (width + 1) / 2 - 1;
        out.odd[i][-1] = out.odd[i][0];
        if (width % 2 == 0) {
            out.even[i][last + 1] = out.odd[i][last];
        } else {
            out.odd[i][last] = out.even[i][last];
            out.even[i][last + 1] = out.odd[i][last - 1];
        }
    }
}

// Filters across: low to one row, high to another, where it isn't null.
inline void dwt_across(const float* even, const float* odd, int from, int to, float* low, float* high) {
    for (int x = from; x < to; x += kLanes32) {
        const F32 a = load<F32>(odd + x - 1), b = load<F32>(even + x), c = load<F32>(odd + x),
                  d = load<F32>(even + x + 1);
        store(low + x, dwt(kFloatDwtLow, a, b, c, d));
        if (high != nullptr) store(high + x, dwt(kFloatDwtHigh, a, b, c, d));
    }
}

// One row of bands of a picture. The low-pass one is made whole, the others for columns from..to.
inline void dwt_row(FloatRows& in, const FloatPicture& picture, int y, const Halves& halves, float* low,
                    const Bands* bands, int from, int to) {
    const float* rows[4];
    for (int k = 0; k < 4; ++k) rows[k] = in.at(dwt_reflect(2 * y - 1 + k, picture.height));
    const int width = (picture.width + 1) / 2;
    if (bands == nullptr) {
        dwt_down<false>(rows, picture.width, halves);
        return dwt_across(halves.even[0], halves.odd[0], 0, width, low, nullptr);
    }
    dwt_down<true>(rows, picture.width, halves);
    dwt_across(halves.even[0], halves.odd[0], 0, width, low, bands->at[1]);
    dwt_across(halves.even[1], halves.odd[1], from, to, bands->at[0], bands->at[2]);
}

}  // namespace acuity::ACUITY_ISA::float_adm
