// Sums down the columns of a band of rows, then across. Where the factor is a power of two, products are exact
// and single precision mostly holds their sums too.
#include "ssim/simd.h"

namespace acuity::ACUITY_ISA {

namespace {

constexpr int kMargin = kMaxFactor / 2;  // samples beyond each edge

template <class Sample, class Sum>
void add_row(const Sample* row, int width, int before, int after, float share, Sum* sums) {
    const auto product = [&](Sample v) { return static_cast<Sum>(static_cast<float>(v) * share); };
    for (int x = 0; x < width; ++x) sums[x] += product(row[x]);
    for (int x = 0; x < before; ++x) sums[-1 - x] += product(row[x]);
    for (int x = 0; x < after; ++x) sums[width + x] += product(row[width - 1 - x]);
}

template <class Sample, class Sum>
void shrink_to(const Plane& in, int factor, void* scratch, float* out, std::ptrdiff_t out_stride) {
    // A sample's scale is a power of two, so it may go with the share.
    const float share = 1.0f / static_cast<float>(factor * factor) * unit(in.depth);
    const int width = shrunk(in.width, factor), height = shrunk(in.height, factor), before = factor / 2;
    const int after = std::max(0, (width - 1) * factor - before + factor - in.width);
    Sum* sums = static_cast<Sum*>(scratch) + kMargin;
    for (int y = 0; y < height; ++y) {
        std::fill_n(sums - kMargin, in.width + 2 * kMargin, Sum{});
        for (int v = 0; v < factor; ++v)
            add_row(row_of<Sample>(in, reflect_edge(y * factor - before + v, in.height)), in.width, before, after, share,
                    sums);
        float* result = out + y * out_stride;
        for (int x = 0; x < width; ++x) {
            Sum sum = 0;
            for (int u = 0; u < factor; ++u) sum += sums[x * factor - before + u];
            result[x] = static_cast<float>(sum);
        }
    }
}

}  // namespace

std::size_t shrink_scratch_bytes(int width) { return (static_cast<std::size_t>(width) + 2 * kMargin) * sizeof(double); }

void shrink(const Plane& in, int factor, void* scratch, float* out, std::ptrdiff_t out_stride) {
    const bool exact = (factor & (factor - 1)) == 0, bytes = in.depth == 8;
    const bool single = exact && (std::int64_t{factor} * factor << in.depth) <= 1 << 24;
    auto* const to = bytes ? single ? shrink_to<std::uint8_t, float> : shrink_to<std::uint8_t, double>
                           : single ? shrink_to<std::uint16_t, float> : shrink_to<std::uint16_t, double>;
    to(in, factor, scratch, out, out_stride);
}

}  // namespace acuity::ACUITY_ISA
