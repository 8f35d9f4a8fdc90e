// VIF, plain: Gaussian-windowed means and variances of both pictures, then the information each
// place carries, as logarithms in 1/2048.
#include <algorithm>
#include <bit>

#include "core/plain.h"
#include "vif/log2.h"
#include "vif/table.h"

namespace acuity::plain {

namespace {

// How the vertical pass brings sums down to 16-bit means and 32-bit squares.
struct Rounding {
    int mean_shift, square_shift;
    std::uint32_t mean_add;
    std::uint64_t square_add;
};

Rounding vertical_rounding(int scale, int depth) {
    if (scale > 0) return {16, 16, 32768, 32768};
    const int square_shift = (depth - 8) * 2;
    return {depth, square_shift, 1u << (depth - 1),
            square_shift == 0 ? 0 : std::uint64_t{1} << (square_shift - 1)};
}

// One row of vertically filtered means and products.
struct Moments {
    std::uint32_t *ref, *dis, *ref_ref, *dis_dis, *ref_dis;
};

void filter_columns(const VifLevel& level, int row, const Moments& out) {
    const Plane& p = level.ref;
    const bool bytes = level.scale == 0 && p.depth == 8;
    const int taps = kVifTaps[level.scale];
    const Rounding r = vertical_rounding(level.scale, p.depth);
    for (int x = 0; x < p.width; ++x) {
        std::uint32_t ref = 0, dis = 0;
        std::uint64_t ref_ref = 0, dis_dis = 0, ref_dis = 0;
        for (int k = 0; k < taps; ++k) {
            const int y = reflect(row - taps / 2 + k, p.height);
            const std::uint32_t c = kVifFilter[level.scale][k];
            const std::uint32_t a = Row(level.ref, y, bytes)[x], b = Row(level.dis, y, bytes)[x];
            ref += c * a;
            dis += c * b;
            ref_ref += std::uint64_t{c * a} * a;
            dis_dis += std::uint64_t{c * b} * b;
            ref_dis += std::uint64_t{c * a} * b;
        }
        out.ref[x] = static_cast<std::uint16_t>((ref + r.mean_add) >> r.mean_shift);
        out.dis[x] = static_cast<std::uint16_t>((dis + r.mean_add) >> r.mean_shift);
        out.ref_ref[x] = static_cast<std::uint32_t>((ref_ref + r.square_add) >> r.square_shift);
        out.dis_dis[x] = static_cast<std::uint32_t>((dis_dis + r.square_add) >> r.square_shift);
        out.ref_dis[x] = static_cast<std::uint32_t>((ref_dis + r.square_add) >> r.square_shift);
    }
}

// Windowed variances and covariance at one place, in Q16.
struct Variances {
    std::int32_t ref, dis, both;
};

Variances filter_row(const Moments& m, int scale, int width, int x) {
    std::uint32_t ref = 0, dis = 0;
    std::uint64_t ref_ref = 0, dis_dis = 0, ref_dis = 0;
    const int taps = kVifTaps[scale];
    for (int k = 0; k < taps; ++k) {
        const int i = reflect(x - taps / 2 + k, width);
        const std::uint32_t c = kVifFilter[scale][k];
        ref += c * m.ref[i];
        dis += c * m.dis[i];
        ref_ref += std::uint64_t{c} * m.ref_ref[i];
        dis_dis += std::uint64_t{c} * m.dis_dis[i];
        ref_dis += std::uint64_t{c} * m.ref_dis[i];
    }
    const auto less_means = [](std::uint64_t products, std::uint32_t a, std::uint32_t b) {
        const auto mean = static_cast<std::uint32_t>((products + 32768) >> 16);
        const auto of_means = static_cast<std::uint32_t>((std::uint64_t{a} * b + (1u << 31)) >> 32);
        return static_cast<std::int32_t>(mean - of_means);
    };
    return {less_means(ref_ref, ref, ref), std::max(less_means(dis_dis, dis, dis), 0),
            less_means(ref_dis, ref, dis)};
}

// log2(n) in 1/2048 from the 16 leading bits of n, which must be at least 32768.
std::int32_t log2_q11(std::uint64_t n, const std::uint16_t* table) {
    const int k = static_cast<int>(std::bit_width(n)) - 16;
    return table[(n >> k) - 32768] + 2048 * k;
}

void add_information(const Variances& s, const double* gains, int n_gains, const std::uint16_t* table,
                     VifSums& out) {
    if (s.ref < kVifNoise) {
        out.num_flat += s.dis;
        out.den_flat += 1;
        return;
    }
    // log2(1 + variance / noise), the noise being 2^17.
    const auto total = static_cast<std::uint32_t>(kVifNoise) + static_cast<std::uint32_t>(s.ref);
    out.den_log += log2_q11(total, table) - 2048 * 17;
    if (s.both <= 0 || s.dis <= 0) return;

    const double gain = s.both / (s.ref + kVifEpsilon);
    const auto rest = static_cast<std::int32_t>(s.dis - gain * s.both);
    const auto noise = static_cast<std::uint32_t>(std::max(rest, 0) + kVifNoise);
    for (int g = 0; g < n_gains; ++g) {
        const double limited = std::min(gain, gains[g]);
        const std::int64_t signal = static_cast<std::int64_t>(limited * limited * s.ref) + noise;
        out.num_log[g] += log2_q11(static_cast<std::uint64_t>(signal), table) - log2_q11(noise, table);
    }
}

std::size_t scratch_bytes(int width, int) { return 5 * sizeof(std::uint32_t) * static_cast<std::size_t>(width); }

void statistic(const VifLevel& level, const double* gains, int n_gains, void* scratch, VifSums& out) {
    const int width = level.ref.width;
    auto* rows = static_cast<std::uint32_t*>(scratch);
    const Moments m = {rows, rows + width, rows + 2 * width, rows + 3 * width, rows + 4 * width};
    const std::uint16_t* table = log2_table();
    out = {};
    for (int y = 0; y < level.ref.height; ++y) {
        filter_columns(level, y, m);
        for (int x = 0; x < width; ++x)
            add_information(filter_row(m, level.scale, width, x), gains, n_gains, table, out);
    }
}

void decimate(const Plane& in, int scale, void* scratch, std::uint16_t* out, std::ptrdiff_t out_stride) {
    const bool bytes = scale == 0 && in.depth == 8;
    const int taps = kVifTaps[scale + 1];
    const std::uint16_t* filter = kVifFilter[scale + 1];
    const Rounding r = vertical_rounding(scale, in.depth);
    auto* columns = static_cast<std::uint32_t*>(scratch);
    for (int y = 0; y < in.height / 2; ++y) {
        for (int x = 0; x < in.width; ++x) {
            std::uint32_t sum = 0;
            for (int k = 0; k < taps; ++k)
                sum += filter[k] * Row(in, reflect(2 * y - taps / 2 + k, in.height), bytes)[x];
            columns[x] = static_cast<std::uint16_t>((sum + r.mean_add) >> r.mean_shift);
        }
        for (int x = 0; x < in.width / 2; ++x) {
            std::uint32_t sum = 0;
            for (int k = 0; k < taps; ++k) sum += filter[k] * columns[reflect(2 * x - taps / 2 + k, in.width)];
            out[x] = static_cast<std::uint16_t>((sum + 32768) >> 16);
        }
        out = reinterpret_cast<std::uint16_t*>(reinterpret_cast<unsigned char*>(out) + out_stride);
    }
}

void logarithms(const std::uint32_t* x, int n, std::int32_t* out) {
    for (int i = 0; i < n; ++i) out[i] = log2_q11(x[i], log2_table());
}

}  // namespace

extern const VifKernels vif_kernels;
const VifKernels vif_kernels = {
    .scratch_bytes = scratch_bytes, .statistic = statistic, .decimate = decimate, .logarithms = logarithms};

}  // namespace acuity::plain
