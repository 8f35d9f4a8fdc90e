#include "ciede/ciede.h"

#include <algorithm>

namespace acuity {

namespace {

// Pixels that differ, compared by the block. Those that don't have a difference of exactly zero.
class Sum {
  public:
    Sum(const CiedeKernels& kernels, CiedePixels& pixels, float* found, int depth)
        : kernels_(kernels), pixels_(pixels), found_(found) {
        pixels_.count = 0;
        pixels_.depth = depth;
    }

    // One row; chroma samples are those of the column shifted down.
    template <class Sample>
    void row(const Sample* const (&ref)[3], const Sample* const (&dis)[3], int width, int shift) {
        int count = pixels_.count;
        for (int x = 0; x < width; ++x) {
            const int c = x >> shift;
            const std::int32_t r[3] = {ref[0][x], ref[1][c], ref[2][c]};
            const std::int32_t d[3] = {dis[0][x], dis[1][c], dis[2][c]};
            for (int p = 0; p < 3; ++p) {
                pixels_.ref[p][count] = r[p];
                pixels_.dis[p][count] = d[p];
            }
            count += ((r[0] ^ d[0]) | (r[1] ^ d[1]) | (r[2] ^ d[2])) != 0;
            if (count == CiedePixels::kMost) {
                add(count);
                count = 0;
            }
        }
        pixels_.count = count;
    }

    double finish() {
        add(pixels_.count);
        return sum_;
    }

  private:
    // In the pixels' order, as libvmaf does.
    void add(int count) {
        pixels_.count = count;
        kernels_.differences(pixels_, found_);
        for (int i = 0; i < count; ++i) sum_ += static_cast<double>(found_[i]);
    }

    const CiedeKernels& kernels_;
    CiedePixels& pixels_;
    float* found_;
    double sum_ = 0.0;
};

template <class Sample>
const Sample* row_of(const Plane& plane, int row) {
    return reinterpret_cast<const Sample*>(static_cast<const unsigned char*>(plane.data) + plane.stride * row);
}

// At least `width` samples of a chroma row. Where the row has fewer, more are what libvmaf finds behind it:
// zeros up to a multiple of 32 samples, then the next row. (It takes 4:2:2, which has half the columns, for
// something that has half the rows.) Below the last row it finds other memory; here it is the last row again.
template <class Sample>
const Sample* chroma_row(const Plane& plane, int row, int width, Sample* longer) {
    constexpr int kPadding = 32;
    row = std::min(row, plane.height - 1);
    if (width <= plane.width) return row_of<Sample>(plane, row);
    const int pitch = (plane.width + kPadding - 1) / kPadding * kPadding;
    for (int x = 0; x < width; x += pitch, row = std::min(row + 1, plane.height - 1)) {
        const int run = std::min(pitch, width - x), held = std::min(run, plane.width);
        std::copy_n(row_of<Sample>(plane, row), held, longer + x);
        std::fill_n(longer + x + held, run - held, Sample{0});
    }
    return longer;
}

template <class Sample>
double sum_of(Sum& sum, const Ciede::Planes& ref, const Ciede::Planes& dis, ChromaShift shift,
              void* const (&longer)[4]) {
    const int width = ref[0].width, chroma = ((width - 1) >> shift.column) + 1;
    for (int y = 0; y < ref[0].height; ++y) {
        const auto at = [&](const Plane& plane, int i) {
            return chroma_row(plane, y >> shift.row, chroma, static_cast<Sample*>(longer[i]));
        };
        const Sample* const r[3] = {row_of<Sample>(ref[0], y), at(ref[1], 0), at(ref[2], 1)};
        const Sample* const d[3] = {row_of<Sample>(dis[0], y), at(dis[1], 2), at(dis[2], 3)};
        sum.row(r, d, width, shift.column);
    }
    return sum.finish();
}

}  // namespace

struct Ciede::Memory {
    CiedePixels* pixels;
    float* found;
    void* longer[4];  // chroma rows
    std::size_t bytes;
};

Ciede::Memory Ciede::carve(Carver carver) const {
    Memory m;
    m.pixels = static_cast<CiedePixels*>(carver.bytes(sizeof(CiedePixels)));
    m.found = static_cast<float*>(carver.bytes(CiedePixels::kMost * sizeof(float)));
    for (void*& row : m.longer) row = carver.bytes(static_cast<std::size_t>(width_) * 2);
    m.bytes = carver.used();
    return m;
}

Ciede::Ciede(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width)
    : workspace_(std::move(workspace)), kernels_(*kernels.ciede), width_(width) {
    workspace_->reserve(carve(Carver(nullptr)).bytes);
}

double Ciede::run(const Planes& ref, const Planes& dis, ChromaShift shift) const {
    const Memory m = carve(Carver(workspace_->block()));
    Sum sum(kernels_, *m.pixels, m.found, ref[0].depth);
    return ref[0].depth == 8 ? sum_of<std::uint8_t>(sum, ref, dis, shift, m.longer)
                             : sum_of<std::uint16_t>(sum, ref, dis, shift, m.longer);
}

}  // namespace acuity
