// Planes to reduced planes. Only rows and columns that a kept sample needs are filtered: of a picture that
// isn't rescaled whole rows, of a rescaled one just the entries of the columns' table.
#include <algorithm>

#include "speed/parts.h"

namespace acuity::ACUITY_ISA {

namespace {

// Rows of a source as floats. Everything up to the filters is exact: samples have at most 16 bits.
template <class T, bool Difference>
class Rows {
  public:
    explicit Rows(const SpeedSource& source)
        : source_(source), unit_(1.0f / static_cast<float>(1 << (source.plane.depth - 8))) {}

    class Row {
      public:
        Row(const T* at, const T* minus, float unit) : at_(at), minus_(minus), unit_(unit) {}
        float operator[](int x) const {
            const auto value = static_cast<std::int32_t>(at_[x]);
            if constexpr (Difference) return static_cast<float>(value - static_cast<std::int32_t>(minus_[x])) * unit_;
            return static_cast<float>(value) * unit_ - kSpeedGrey;
        }

      private:
        const T* at_;
        const T* minus_;
        float unit_;
    };

    Row operator[](int y) const {
        return {start(source_.plane, y), Difference ? start(source_.minus, y) : nullptr, unit_};
    }
    int width() const { return source_.plane.width; }

  private:
    static const T* start(const Plane& plane, int y) {
        return reinterpret_cast<const T*>(static_cast<const unsigned char*>(plane.data) + plane.stride * y);
    }

    const SpeedSource& source_;
    float unit_;
};

// Filters whole rows down to one: output row i of the low-pass filter, every column. Three taps at a time, so
// that sums are seldom written.
template <class Source>
void filter_columns(const Source& rows, const SpeedReduction& reduction, int i, float* __restrict out) {
    const SpeedAxis& axis = reduction.rows;
    const float* f = reduction.low_pass;
    const int width = rows.width();
    const auto row = [&](int t) { return rows[axis.at[t * axis.outputs + i]]; };
    std::fill_n(out, width, 0.0f);
    int t = 0;
    for (; t + 3 <= reduction.taps; t += 3) {
        const auto a = row(t), b = row(t + 1), c = row(t + 2);
        const float fa = f[t], fb = f[t + 1], fc = f[t + 2];
        for (int x = 0; x < width; ++x) out[x] = out[x] + fa * a[x] + fb * b[x] + fc * c[x];
    }
    for (; t < reduction.taps; ++t) {
        const auto a = row(t);
        const float fa = f[t];
        for (int x = 0; x < width; ++x) out[x] += fa * a[x];
    }
}

template <class Source>
void read_row(const Source& rows, int y, float* __restrict out) {
    const auto row = rows[y];
    for (int x = 0; x < rows.width(); ++x) out[x] = row[x];
}

// Entries of one row of the rescaled picture. `line` has room for a row of the source, `total` for the weights.
template <class Source>
void rescale_row(const Source& rows, const SpeedReduction& reduction, int entry, float* line, float* total,
                 float* out) {
    const SpeedAxis &across = reduction.columns, &down = reduction.rows;
    const int n = across.entries;
    std::fill_n(out, n, 0.0f);
    std::fill_n(total, n, 0.0f);
    for (int b = 0; b < reduction.blend; ++b) {
        read_row(rows, down.at[b * down.entries + entry], line);
        const float weight = down.weights[b * down.entries + entry];
        for (int a = 0; a < reduction.blend; ++a) {
            const std::int32_t* at = across.at + a * n;
            const float* weights = across.weights + a * n;
            for (int e = 0; e < n; ++e) out[e] += line[at[e]] * (weights[e] * weight);
            if (!reduction.normalised) continue;
            for (int e = 0; e < n; ++e) total[e] += weights[e] * weight;
        }
    }
    if (!reduction.normalised) return;
    for (int e = 0; e < n; ++e) out[e] /= total[e];
}

template <class Source>
void reduce_rows(const Source& rows, const SpeedReduction& reduction, float* scratch, float* out,
                 std::ptrdiff_t stride) {
    const SpeedAxis &across = reduction.columns, &down = reduction.rows;
    const std::ptrdiff_t room = speed_row(rows.width(), reduction);
    float* const sums = scratch;  // one for each column, or for each entry of the columns' table
    for (int i = 0; i < down.outputs; ++i, out += stride) {
        std::fill_n(out, across.outputs, 0.0f);
        if (reduction.blend == 0) {
            filter_columns(rows, reduction, i, sums);
            for (int t = 0; t < reduction.taps; ++t) {
                const std::int32_t* at = across.at + t * across.outputs;
                for (int j = 0; j < across.outputs; ++j) out[j] += reduction.low_pass[t] * sums[at[j]];
            }
            continue;
        }
        std::fill_n(sums, across.entries, 0.0f);
        for (int t = 0; t < reduction.taps; ++t) {
            float* const row = scratch + 2 * room;
            rescale_row(rows, reduction, t * down.outputs + i, scratch + room, scratch + 3 * room, row);
            for (int e = 0; e < across.entries; ++e) sums[e] += reduction.low_pass[t] * row[e];
        }
        for (int t = 0; t < reduction.taps; ++t) {
            const float* part = sums + t * across.outputs;
            for (int j = 0; j < across.outputs; ++j) out[j] += reduction.low_pass[t] * part[j];
        }
    }
}

template <class T>
void reduce_samples(const SpeedSource& source, const SpeedReduction& reduction, float* scratch, float* out,
                    std::ptrdiff_t stride) {
    if (source.minus.data != nullptr) return reduce_rows(Rows<T, true>(source), reduction, scratch, out, stride);
    reduce_rows(Rows<T, false>(source), reduction, scratch, out, stride);
}

inline int mirror(int i, int size) { return i < 0 ? -i : i >= size ? 2 * size - 2 - i : i; }

}  // namespace

void speed_reduce(const SpeedSource& source, const SpeedReduction& reduction, float* scratch, float* out,
                  std::ptrdiff_t stride) {
    if (source.plane.depth == 8) return reduce_samples<std::uint8_t>(source, reduction, scratch, out, stride);
    reduce_samples<std::uint16_t>(source, reduction, scratch, out, stride);
}

void speed_remove_mean(const float* in, const SpeedReduction& reduction, float* scratch, float* out,
                       std::ptrdiff_t stride) {
    const int width = reduction.columns.outputs, height = reduction.rows.outputs;
    const int half = reduction.mean_taps / 2;
    float* const sums = scratch + kSpeedSlack;  // with columns beyond both edges
    for (int y = 0; y < height; ++y) {
        std::fill_n(sums, width, 0.0f);
        for (int t = 0; t < reduction.mean_taps; ++t) {
            const float* row = in + mirror(y - half + t, height) * stride;
            for (int x = 0; x < width; ++x) sums[x] += reduction.mean[t] * row[x];
        }
        mirror_edges(sums, half, true, true, width);
        const float* here = in + y * stride;
        float* line = out + y * stride;
        float* mean = scratch + speed_row(width, reduction);
        std::fill_n(mean, width, 0.0f);
        for (int t = 0; t < reduction.mean_taps; ++t)
            for (int x = 0; x < width; ++x) mean[x] += reduction.mean[t] * sums[x - half + t];
        for (int x = 0; x < width; ++x) line[x] = here[x] - mean[x];
        std::fill_n(line + width, kSpeedSlack, 0.0f);
    }
}

}  // namespace acuity::ACUITY_ISA
