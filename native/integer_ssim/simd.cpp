// Strips of columns, from top to bottom. The sums are whole numbers that floating point holds exactly: those of
// bytes fit single precision after the first direction, all others double precision.
#include "integer_ssim/table.h"
#include "simd/isa.h"

namespace acuity::ACUITY_ISA {

namespace {

constexpr int kStrip = 64;                                 // columns
constexpr int kSpan = kStrip + 2 * kSsimReach + kLanes32;  // samples they need, and a register beyond
enum Moment { kRef, kDis, kRefSquare, kDisSquare, kProduct, kMoments };

struct Strip {
    alignas(kAlign) double ring[kSsimTaps][kMoments][kStrip];  // the last rows, filtered across
    alignas(kAlign) double weights[kStrip], sums[kStrip];      // of each column
    alignas(kAlign) unsigned char row[kMoments][kSpan * sizeof(double)];

    // The row's moments in the type they are filtered in.
    template <class Number>
    Number* moment(int m) {
        return reinterpret_cast<Number*>(row[m]);
    }
};

// Where a strip lies: a row's samples from `start` on become those of the row from `at` on.
struct Reach {
    int first, columns, start, at, samples;

    Reach(int first, int width)
        : first(first), columns(std::min(kStrip, width - first)), start(std::max(0, first - kSsimReach)),
          at(start - first + kSsimReach), samples(std::min(width, first + columns + kSsimReach) - start) {}
};

template <class Sample, class Number>
void load_row(Strip& strip, const Plane& ref, const Plane& dis, int y, const Reach& reach) {
    const auto row = [&](const Plane& plane) {
        return reinterpret_cast<const Sample*>(static_cast<const char*>(plane.data) + plane.stride * y) + reach.start;
    };
    const Sample *r = row(ref), *d = row(dis);
    Number* out[kMoments];
    for (int m = 0; m < kMoments; ++m) out[m] = strip.moment<Number>(m) + reach.at;
    for (int x = 0; x < reach.samples; ++x) out[kRef][x] = static_cast<Number>(r[x]);
    for (int x = 0; x < reach.samples; ++x) out[kDis][x] = static_cast<Number>(d[x]);
    for (int x = 0; x < reach.samples; ++x) out[kRefSquare][x] = out[kRef][x] * out[kRef][x];
    for (int x = 0; x < reach.samples; ++x) out[kDisSquare][x] = out[kDis][x] * out[kDis][x];
    for (int x = 0; x < reach.samples; ++x) out[kProduct][x] = out[kRef][x] * out[kDis][x];
}

inline F32 load_register(const float* p) { return load<F32>(p); }
inline F64 load_register(const double* p) { return load<F64>(p); }

inline void store_doubles(double* out, F64 v) { store(out, v); }
inline void store_doubles(double* out, F32 v) {
    const F64x2 both = to_f64(v);
    store(out, both.lo);
    store(out + kLanes64, both.hi);
}

// The window's sum, of registers of Numbers that lie at each distance from its middle.
template <class Number, class At>
[[gnu::always_inline]] inline auto weighted(At&& at) {
    auto sum = at(0) * static_cast<Number>(kSsimWeights[0]);
    unroll<kSsimReach>([&](auto i) {
        constexpr int d = i + 1;
        sum += (at(-d) + at(d)) * static_cast<Number>(kSsimWeights[d]);
    });
    return sum;
}

template <class Number>
void filter_across(const Number* in, int columns, double* out) {
    for (int x = 0; x < columns; x += kBytes / static_cast<int>(sizeof(Number)))
        store_doubles(out + x, weighted<Number>([&](int d) { return load_register(in + x + kSsimReach + d); }));
}

template <class Sample>
void push_row(Strip& strip, const Plane& ref, const Plane& dis, int y, const Reach& reach) {
    using Number = std::conditional_t<sizeof(Sample) == 1, float, double>;
    auto& out = strip.ring[y % kSsimTaps];
    if (y >= ref.height) {
        std::memset(out, 0, sizeof out);
        return;
    }
    load_row<Sample, Number>(strip, ref, dis, y, reach);
    for (int m = 0; m < kMoments; ++m) filter_across(strip.moment<Number>(m), reach.columns, out[m]);
}

// The arithmetic is plain.cpp's.
inline F64 similarity_of(const F64 (&of)[kMoments], F64 window, const SsimStable& stable) {
    const F64 luminance = stable.luminance * window * window, contrast = stable.contrast * window * window;
    const F64 ref = of[kRef], dis = of[kDis];
    const F64 ref_mean = ref * ref, dis_mean = dis * dis, both = ref * dis;
    const F64 covariance = of[kProduct] * window - both;
    const F64 variances = of[kRefSquare] * window - ref_mean + of[kDisSquare] * window - dis_mean;
    return window * (2.0 * both + luminance) * (contrast + 2.0 * covariance) /
           ((ref_mean + dis_mean + luminance) * (variances + contrast));
}

// The row whose window ends in row y.
void add_row(Strip& strip, int y, int columns, int down, const SsimStable& stable) {
    const double(*rows[kSsimTaps])[kStrip];
    for (int k = 0; k < kSsimTaps; ++k) rows[k] = strip.ring[(y + 1 + k) % kSsimTaps];
    for (int x = 0; x < columns; x += kLanes64) {
        F64 of[kMoments];
        unroll<kMoments>([&](auto m) {
            of[m] = weighted<double>([&](int d) { return load<F64>(rows[kSsimReach + d][m] + x); });
        });
        const F64 window = load<F64>(strip.weights + x) * static_cast<double>(down);
        store(strip.sums + x, load<F64>(strip.sums + x) + similarity_of(of, window, stable));
    }
}

template <class Sample>
double strip_similarity(Strip& strip, const Plane& ref, const Plane& dis, const Reach& reach, double sum) {
    std::memset(&strip, 0, sizeof strip);
    for (int x = 0; x < reach.columns; ++x) strip.weights[x] = ssim_weight(reach.first + x, ref.width);
    const SsimStable stable(ref.depth);
    for (int y = 0; y < ref.height + kSsimReach; ++y) {
        push_row<Sample>(strip, ref, dis, y, reach);
        const int middle = y - kSsimReach;
        if (middle >= 0) add_row(strip, y, reach.columns, ssim_weight(middle, ref.height), stable);
    }
    for (int x = 0; x < reach.columns; ++x) sum += strip.sums[x];
    return sum;
}

double similarity(const Plane& ref, const Plane& dis, void* scratch) {
    auto& strip = *static_cast<Strip*>(scratch);
    double sum = 0;
    for (int first = 0; first < ref.width; first += kStrip) {
        const Reach reach(first, ref.width);
        sum = ref.depth == 8 ? strip_similarity<std::uint8_t>(strip, ref, dis, reach, sum)
                             : strip_similarity<std::uint16_t>(strip, ref, dis, reach, sum);
    }
    return sum;
}

std::size_t scratch_bytes(int) { return sizeof(Strip); }

}  // namespace

extern const IntegerSsimKernels integer_ssim_kernels;
const IntegerSsimKernels integer_ssim_kernels = {.scratch_bytes = scratch_bytes, .similarity = similarity};

}  // namespace acuity::ACUITY_ISA
