// ADM in single precision, plain: a wavelet transform, detail that is restored or added, and its visible part.
#include <algorithm>
#include <cmath>

#include "adm/table.h"
#include "core/plain.h"
#include "core/workspace.h"
#include "float_adm/table.h"

namespace acuity::plain {

namespace {

struct Bands {
    float* at[3];  // h, v, d
};

// Whole planes of everything.
struct Memory {
    float *ref, *dis, *low, *high;  // the pictures, and a row filtered down
    Bands ref_bands, dis_bands, restored, added;
    std::size_t bytes;

    Memory(void* block, int width, int height) {
        Carver carver(block);
        const auto values = [&](int count) {
            return static_cast<float*>(carver.bytes(sizeof(float) * static_cast<std::size_t>(count)));
        };
        ref = values(width * height);
        dis = values(width * height);
        low = values(width);
        high = values(width);
        for (Bands* bands : {&ref_bands, &dis_bands, &restored, &added})
            for (float*& band : bands->at) band = values((width + 1) / 2 * ((height + 1) / 2));
        bytes = carver.used();
    }
};

std::size_t scratch_bytes(int width, int height, int) { return Memory(nullptr, width, height).bytes; }

float dwt(const float (&taps)[4], float a, float b, float c, float d) {
    return ((taps[0] * a + taps[1] * b) + taps[2] * c) + taps[3] * d;
}

void transform(const float* in, int width, int height, const Memory& m, const Bands& bands, float* low,
               std::ptrdiff_t low_stride) {
    const int half = (width + 1) / 2;
    for (int y = 0; y < (height + 1) / 2; ++y) {
        const float* r[4];
        for (int k = 0; k < 4; ++k) r[k] = in + dwt_reflect(2 * y - 1 + k, height) * width;
        for (int x = 0; x < width; ++x) {
            m.low[x] = dwt(kFloatDwtLow, r[0][x], r[1][x], r[2][x], r[3][x]);
            m.high[x] = dwt(kFloatDwtHigh, r[0][x], r[1][x], r[2][x], r[3][x]);
        }
        for (int x = 0; x < half; ++x) {
            int c[4];
            for (int k = 0; k < 4; ++k) c[k] = dwt_reflect(2 * x - 1 + k, width);
            const auto across = [&](const float (&taps)[4], const float* row) {
                return dwt(taps, row[c[0]], row[c[1]], row[c[2]], row[c[3]]);
            };
            const int at = y * half + x;
            low[y * low_stride + x] = across(kFloatDwtLow, m.low);
            bands.at[0][at] = across(kFloatDwtLow, m.high);
            bands.at[1][at] = across(kFloatDwtHigh, m.low);
            bands.at[2][at] = across(kFloatDwtHigh, m.high);
        }
    }
}

// Splits the distorted picture's detail into the reference's own and the rest.
void decouple(const Memory& m, const FloatAdmWeights& w, int size) {
    const float cosine = cos_one_degree_squared();
    for (int i = 0; i < size; ++i) {
        const float oh = m.ref_bands.at[0][i], ov = m.ref_bands.at[1][i];
        const float th = m.dis_bands.at[0][i], tv = m.dis_bands.at[1][i];
        const float dot = oh * th + ov * tv;
        const bool aligned =
            dot >= 0.0f && dot * dot >= cosine * (oh * oh + ov * ov) * (th * th + tv * tv);
        for (int b = 0; b < 3; ++b) {
            const float o = m.ref_bands.at[b][i], t = m.dis_bands.at[b][i];
            const float k = t / (o + kDecoupleEpsilon);
            float r = (k < 0.0f ? 0.0f : (k > 1.0f ? 1.0f : k)) * o;
            const double more = static_cast<double>(r) * w.gain_limit;
            if (aligned && r > 0.0f)
                r = static_cast<float>(std::min(static_cast<double>(t), more));
            else if (aligned && r < 0.0f)
                r = static_cast<float>(std::max(static_cast<double>(t), more));
            m.restored.at[b][i] = r;
            m.added.at[b][i] = t - r;
        }
    }
}

// How much `bands`, at a place and around it, hides there of the other kind of detail.
float hidden(const Bands& bands, const FloatAdmWeights& w, int x, int y, const FloatAdmRange& rows,
             const FloatAdmRange& columns) {
    float all = 0;
    for (int b = 0; b < 3; ++b) {
        float sum = 0;
        for (int dy = -1; dy <= 1; ++dy) {
            for (int dx = -1; dx <= 1; ++dx) {
                const int row = std::min(std::abs(y + dy), rows.size - 1);
                const int column = std::min(std::abs(x + dx), columns.size - 1);
                const auto seen = static_cast<double>(std::fabs(w.factor(b) * bands.at[b][row * columns.size + column]));
                if (dx == 0 && dy == 0)
                    sum = static_cast<float>(static_cast<double>(sum) + kMaskPlace * seen);
                else
                    sum += static_cast<float>(kMaskNeighbour * seen);
            }
        }
        all += sum;
    }
    return all;
}

float term(float v, double exponent) {
    return exponent == 3.0 ? v * v * v : std::pow(v, static_cast<float>(exponent));
}

// Sums the visible part of `bands`, behind `others` where those aren't null.
void sum_bands(const Bands& bands, const Bands* others, const FloatAdmWeights& w, const FloatAdmRange& rows,
               const FloatAdmRange& columns, float (&out)[3]) {
    for (int y = rows.first; y < rows.stop; ++y) {
        float row[3] = {};
        for (int x = columns.first; x < columns.stop; ++x) {
            const float mask = others == nullptr ? 0.0f : hidden(*others, w, x, y, rows, columns);
            for (int b = 0; b < 3; ++b) {
                const float visible = std::fabs(w.factor(b) * bands.at[b][y * columns.size + x]) - mask;
                row[b] += term(visible < 0.0f ? 0.0f : visible, w.exponent);
            }
        }
        for (int b = 0; b < 3; ++b) out[b] += row[b];
    }
}

void scale(const FloatAdmScale& s, const FloatAdmWeights* settings, int count, void* scratch, FloatAdmSums* out) {
    const int width = s.ref.width, height = s.ref.height;
    const Memory m(scratch, width, height);
    convert(s.ref, m.ref);
    convert(s.dis, m.dis);
    transform(m.ref, width, height, m, m.ref_bands, s.ref_low, s.low_stride);
    transform(m.dis, width, height, m, m.dis_bands, s.dis_low, s.low_stride);
    const FloatAdmRange rows((height + 1) / 2), columns((width + 1) / 2);
    for (int i = 0; i < count; ++i) {
        out[i] = {};
        if (!s.bands) continue;
        const FloatAdmWeights& w = settings[i];
        decouple(m, w, rows.size * columns.size);
        if (w.reference) sum_bands(m.ref_bands, nullptr, w, rows, columns, out[i].reference);
        sum_bands(m.restored, w.masking ? &m.added : nullptr, w, rows, columns, out[i].kept);
        sum_bands(m.added, w.masking ? &m.restored : nullptr, w, rows, columns, out[i].impairment);
    }
}

}  // namespace

extern const FloatAdmKernels float_adm_kernels;
const FloatAdmKernels float_adm_kernels = {.scratch_bytes = scratch_bytes, .scale = scale};

}  // namespace acuity::plain
