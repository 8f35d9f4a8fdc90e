// ADM, plain: a wavelet transform of both pictures, the distorted one split into what the reference
// explains (restored) and what was added (additive), each weighted by contrast sensitivity, masked
// by the other and summed as cubes.
//
// The reference keeps 16-bit coefficients at scale 0 and 32-bit ones above, and some of its
// intermediate values wrap on extreme input. They wrap here the same way, hence the casts.
#include <algorithm>
#include <bit>
#include <cstring>

#include "adm/plan.h"
#include "core/plain.h"

namespace acuity::plain {

namespace {

// Two's complement arithmetic that wraps without undefined behaviour.
std::int32_t wrap16(std::int64_t x) { return static_cast<std::int16_t>(x); }
std::int32_t wrap32(std::int64_t x) { return static_cast<std::int32_t>(x); }
std::uint32_t magnitude(std::int32_t x) { return x < 0 ? 0u - static_cast<std::uint32_t>(x) : static_cast<std::uint32_t>(x); }

// Three planes of coefficients: bands h (vertical detail), v (horizontal detail) and d.
struct Bands {
    std::int32_t* at[3];
};

// ---- wavelet --------------------------------------------------------------------------------

struct WaveletRounding {
    int column_shift, row_shift;
    std::int64_t column_add, row_add;
    std::int64_t low_bias;  // centres unsigned samples on zero
};

WaveletRounding wavelet_rounding(int scale, int depth) {
    if (scale == 0) {
        const std::int64_t half = std::int64_t{1} << (depth - 1);
        return {depth, 16, half, 32768, -kDwtLowSum * half};
    }
    if (scale == 1) return {0, 15, 0, 16384, 0};
    if (scale == 2) return {16, 16, 32768, 32768, 0};
    return {16, 15, 32768, 16384, 0};
}

// Tap k of output i reads sample 2i - 1 + k; past the end the picture repeats backwards from its last
// sample, before the start it is reflected.
int wavelet_index(int i, int k, int n) {
    const int at = 2 * i - 1 + k;
    if (at < 0) return -at;
    return at < n ? at : 2 * n - at - 1;
}

// `sample(row, column)` reads the input; `column_low` and `column_high` hold a row each.
template <class Sample, class Low>
void wavelet(const AdmScale& s, Sample sample, std::int32_t* column_low, std::int32_t* column_high, Low* low,
             std::ptrdiff_t low_stride, const Bands* bands) {
    const int width = (s.width + 1) / 2, height = (s.height + 1) / 2;
    const WaveletRounding r = wavelet_rounding(s.scale, s.depth);
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < s.width; ++x) {
            std::int64_t lo = r.low_bias, hi = 0;
            for (int k = 0; k < 4; ++k) {
                const std::int64_t v = sample(wavelet_index(y, k, s.height), x);
                lo += kDwtLow[k] * v;
                hi += kDwtHigh[k] * v;
            }
            column_low[x] = wrap32((lo + r.column_add) >> r.column_shift);
            column_high[x] = wrap32((hi + r.column_add) >> r.column_shift);
        }
        for (int x = 0; x < width; ++x) {
            std::int64_t a = 0, h = 0, v = 0, d = 0;
            for (int k = 0; k < 4; ++k) {
                const int i = wavelet_index(x, k, s.width);
                a += std::int64_t{kDwtLow[k]} * column_low[i];
                v += std::int64_t{kDwtHigh[k]} * column_low[i];
                h += std::int64_t{kDwtLow[k]} * column_high[i];
                d += std::int64_t{kDwtHigh[k]} * column_high[i];
            }
            low[y * low_stride + x] = static_cast<Low>((a + r.row_add) >> r.row_shift);
            if (bands == nullptr) continue;
            bands->at[0][y * width + x] = wrap32((h + r.row_add) >> r.row_shift);
            bands->at[1][y * width + x] = wrap32((v + r.row_add) >> r.row_shift);
            bands->at[2][y * width + x] = wrap32((d + r.row_add) >> r.row_shift);
        }
    }
}

// ---- decoupling -----------------------------------------------------------------------------

// dis / ref in Q15, kept within 0..1; 1 where ref is 0. Multiplies by the reciprocal of ref's 15
// leading bits, rounded down.
std::int64_t restored_share(std::int32_t ref, std::int32_t dis) {
    if (ref == 0) return 32768;
    std::uint32_t size = magnitude(ref);
    int shift = 0;
    if (size >= 32768) {
        shift = std::bit_width(size) - 15;
        size = (size + (1u << (shift - 1))) >> shift;
    }
    const std::int64_t round = static_cast<std::int32_t>(1u << (14 + shift));
    const std::int64_t product = std::int64_t{(1u << 30) / size} * dis * (ref < 0 ? -1 : 1);
    return std::clamp<std::int64_t>((product + round) >> (15 + shift), 0, 32768);
}

// Whether the gradients of both pictures point the same way to within a degree.
bool same_direction(std::int64_t rh, std::int64_t rv, std::int64_t dh, std::int64_t dv, float cos_squared) {
    const double dot = static_cast<float>(rh * dh + rv * dv) / 4096.0;
    const double ref = static_cast<float>(rh * rh + rv * rv) / 4096.0;
    const double dis = static_cast<float>(dh * dh + dv * dv) / 4096.0;
    return dot >= 0.0 && dot * dot >= cos_squared * ref * dis;
}

void decouple(const Bands& ref, const Bands& dis, int size, double gain, const Bands& restored,
              const Bands& additive) {
    const float cos_squared = cos_one_degree_squared();
    for (int i = 0; i < size; ++i) {
        const bool enhanced = same_direction(ref.at[0][i], ref.at[1][i], dis.at[0][i], dis.at[1][i], cos_squared);
        for (int b = 0; b < 3; ++b) {
            const std::int32_t o = ref.at[b][i], t = dis.at[b][i];
            const std::int64_t share = restored_share(o, t);
            auto r = static_cast<std::int32_t>((share * o + 16384) >> 15);
            if (enhanced && share > 0 && o > 0) r = static_cast<std::int32_t>(std::min<double>(r * gain, t));
            if (enhanced && share > 0 && o < 0) r = static_cast<std::int32_t>(std::max<double>(r * gain, t));
            restored.at[b][i] = r;
            additive.at[b][i] = t - r;
        }
    }
}

// ---- contrast sensitivity and masking -------------------------------------------------------

// Scale 0: products in 32 bits, kept in 16.
struct Fine {
    static constexpr int kWeightShift[3] = {15, 15, 17};
    static constexpr std::int32_t kWeightAdd[3] = {16384, 16384, 65535};
    static constexpr int kMaskShift[3] = {10, 10, 12};
    static constexpr int kSquareShift[3] = {29, 29, 30};

    static std::int32_t weigh(std::int32_t x, std::uint32_t factor, int band) {
        return wrap16((signal(x, factor) + std::int64_t{kWeightAdd[band]}) >> kWeightShift[band]);
    }
    static std::int32_t neighbour(std::int32_t x) { return wrap16((4369 * magnitude(x) + 2048) >> 12); }
    static std::int32_t centre(std::int32_t x) { return wrap16((8738 * magnitude(x) + 2048) >> 12); }
    static std::int32_t signal(std::int32_t x, std::uint32_t factor) { return wrap32(std::int64_t{x} * factor); }
    static std::uint32_t threshold(std::uint32_t sum, int band) { return sum << kMaskShift[band]; }
};

// Scales 1 to 3: products in 64 bits, kept in 32. The rounding term of the two shares is negative
// because the reference stores 2^31 in a signed word.
struct Coarse {
    static constexpr int kSquareShift[3] = {30, 30, 30};

    static std::int32_t weigh(std::int32_t x, std::uint32_t factor, int) { return signal(x, factor); }
    static std::int32_t neighbour(std::int32_t x) { return share(x, 143165577); }
    static std::int32_t centre(std::int32_t x) { return share(x, 286331153); }
    static std::int32_t signal(std::int32_t x, std::uint32_t factor) {
        return wrap32((std::int64_t{x} * factor + (1 << 27)) >> 28);
    }
    static std::uint32_t threshold(std::uint32_t sum, int) { return sum; }

  private:
    static std::int32_t share(std::int32_t x, std::int64_t part) {
        return wrap32((part * static_cast<std::int32_t>(magnitude(x)) - (std::int64_t{1} << 31)) >> 32);
    }
};

template <class Arithmetic>
void weigh(const Bands& in, int size, const std::uint32_t* factors, const Bands& weighted, const Bands& around) {
    for (int b = 0; b < 3; ++b) {
        for (int i = 0; i < size; ++i) {
            const std::int32_t w = Arithmetic::weigh(in.at[b][i], factors[b], b);
            weighted.at[b][i] = w;
            around.at[b][i] = Arithmetic::neighbour(w);
        }
    }
}

// What masks the coefficient at (x, y): its eight neighbours and a larger part of itself, over all
// bands. Outside, the picture is reflected at the top and left and repeated at the bottom and right.
template <class Arithmetic>
std::uint32_t masking(const Bands& weighted, const Bands& around, int width, int height, int x, int y) {
    const int rows[3] = {y == 0 ? 1 : y - 1, y, y == height - 1 ? y : y + 1};
    const int columns[3] = {x == 0 ? 1 : x - 1, x, x == width - 1 ? x : x + 1};
    std::uint32_t sum = 0;
    for (int b = 0; b < 3; ++b) {
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 3; ++c)
                if (r != 1 || c != 1) sum += static_cast<std::uint32_t>(around.at[b][rows[r] * width + columns[c]]);
        sum += static_cast<std::uint32_t>(Arithmetic::centre(weighted.at[b][y * width + x]));
    }
    return sum;
}

// Sums of cubes of what stands out of the masking, for each band.
template <class Arithmetic>
void masked_sums(const Bands& in, const Bands& weighted, const Bands& around, const std::uint32_t* factors,
                 const AdmShifts& shifts, int width, int height, std::int64_t* out) {
    const Span rows = adm_inner(height), columns = adm_inner(width);
    std::uint64_t total[3] = {};
    for (int y = rows.begin; y < rows.end; ++y) {
        std::uint64_t row[3] = {};
        for (int x = columns.begin; x < columns.end; ++x) {
            const std::uint32_t mask = masking<Arithmetic>(weighted, around, width, height, x, y);
            for (int b = 0; b < 3; ++b) {
                const std::int32_t signal = Arithmetic::signal(in.at[b][y * width + x], factors[b]);
                const auto rest = static_cast<std::int32_t>(magnitude(signal) - Arithmetic::threshold(mask, b));
                const std::int64_t v = std::max(rest, 0);
                const int shift = Arithmetic::kSquareShift[b];
                const std::int64_t square = wrap32((v * v + (std::int64_t{1} << (shift - 1))) >> shift);
                row[b] += static_cast<std::uint64_t>((square * v + rounding(shifts.cube[b])) >> shifts.cube[b]);
            }
        }
        for (int b = 0; b < 3; ++b)
            total[b] += static_cast<std::uint64_t>(
                (static_cast<std::int64_t>(row[b]) + rounding(shifts.row)) >> shifts.row);
    }
    for (int b = 0; b < 3; ++b) out[b] = static_cast<std::int64_t>(total[b]);
}

// Sums of cubes of the reference's own coefficients.
void denominator_sums(int scale, const Bands& ref, const AdmShifts& shifts, int width, int height,
                      std::uint64_t* out) {
    static constexpr int kSquareShift[4] = {0, 31, 30, 31};
    const std::uint64_t square_add = scale == 0 ? 0 : std::uint64_t{1} << kSquareShift[scale];
    const std::uint64_t cube_add = scale == 0 ? 0 : rounding(shifts.den_cube);
    const std::uint64_t row_add = scale == 0 && shifts.den_row == 0 ? 0 : rounding(shifts.den_row);
    const Span rows = adm_inner(height), columns = adm_inner(width);
    for (int b = 0; b < 3; ++b) {
        out[b] = 0;
        for (int y = rows.begin; y < rows.end; ++y) {
            std::uint64_t row = 0;
            for (int x = columns.begin; x < columns.end; ++x) {
                const std::uint64_t v = magnitude(ref.at[b][y * width + x]);
                row += (((v * v + square_add) >> kSquareShift[scale]) * v + cube_add) >> shifts.den_cube;
            }
            out[b] += (row + row_add) >> shifts.den_row;
        }
    }
}

template <class Arithmetic>
void scale_sums(const AdmScale& s, const Bands& ref, const Bands& dis, const Bands* work, AdmSums& out) {
    const int width = (s.width + 1) / 2, height = (s.height + 1) / 2, size = width * height;
    const AdmShifts shifts = adm_shifts(s.scale, width, height);
    const auto &restored = work[0], &additive = work[1], &weighted = work[2], &around = work[3];
    denominator_sums(s.scale, ref, shifts, width, height, out.den);
    for (int g = 0; g < s.n_gains; ++g) {
        decouple(ref, dis, size, s.gains[g], restored, additive);
        weigh<Arithmetic>(additive, size, s.rfactor, weighted, around);
        masked_sums<Arithmetic>(restored, weighted, around, s.rfactor, shifts, width, height, out.num[g]);
        if (!s.aim) continue;
        weigh<Arithmetic>(restored, size, s.rfactor, weighted, around);
        masked_sums<Arithmetic>(additive, weighted, around, s.rfactor, shifts, width, height, out.aim[g]);
    }
}

constexpr int kPlanes = 6 * 3;  // six Bands

std::size_t scratch_bytes(int width, int height) {
    const auto w = static_cast<std::size_t>(width), h = static_cast<std::size_t>(height);
    return sizeof(std::int32_t) * (2 * w + kPlanes * ((w + 1) / 2) * ((h + 1) / 2));
}

void scale(const AdmScale& s, const AdmInput& in, void* scratch, const AdmLow& low, AdmSums& out) {
    auto* column_low = static_cast<std::int32_t*>(scratch);
    auto* column_high = column_low + s.width;
    const std::ptrdiff_t plane = std::ptrdiff_t{(s.width + 1) / 2} * ((s.height + 1) / 2);
    Bands bands[6];
    for (int i = 0; i < kPlanes; ++i) bands[i / 3].at[i % 3] = column_high + s.width + i * plane;

    const auto low_of = [&]<class Low>(const Low* from) {
        return [&in, from](int y, int x) { return std::int64_t{from[y * in.low_stride + x]}; };
    };
    const auto transform = [&](const Plane& video, const void* from, void* to, const Bands* into) {
        const auto run = [&]<class Low>(auto sample, Low* out_low) {
            wavelet(s, sample, column_low, column_high, out_low, low.stride, into);
        };
        const bool bytes = video.depth == 8;
        if (s.scale == 0)
            run([&](int y, int x) { return std::int64_t{Row(video, y, bytes)[x]}; }, static_cast<AdmLowSample<0>*>(to));
        else if (s.scale == 1)
            run(low_of(static_cast<const AdmLowSample<0>*>(from)), static_cast<AdmLowSample<1>*>(to));
        else
            run(low_of(static_cast<const AdmLowSample<1>*>(from)), static_cast<AdmLowSample<2>*>(to));
    };
    transform(in.ref, in.ref_low, low.ref, s.bands ? &bands[0] : nullptr);
    transform(in.dis, in.dis_low, low.dis, s.bands ? &bands[1] : nullptr);

    out = {};
    if (!s.bands) return;
    if (s.scale == 0)
        scale_sums<Fine>(s, bands[0], bands[1], bands + 2, out);
    else
        scale_sums<Coarse>(s, bands[0], bands[1], bands + 2, out);
}

}  // namespace

extern const AdmKernels adm_kernels;
const AdmKernels adm_kernels = {.scratch_bytes = scratch_bytes, .scale = scale};

}  // namespace acuity::plain
