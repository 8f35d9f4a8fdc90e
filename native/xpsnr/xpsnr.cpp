#include "xpsnr/xpsnr.h"

#include <algorithm>
#include <cmath>

#include "psnr/table.h"

namespace acuity {

namespace {

constexpr double kUhd = 3840.0 * 2160.0;
constexpr int kHd = 2048 * 1152;         // samples of a picture, from where on details are halved
constexpr int kSmoothed = 640 * 480;     // samples of a picture, up to where weights are smoothed
constexpr int kNarrow = 12;              // columns of a halved block without texture: a quirk of the filter
constexpr std::uint64_t kChangeWeight = 2;

Plane part(const Plane& plane, const XpsnrArea& area) {
    const std::ptrdiff_t sample = plane.depth == 8 ? 1 : 2;
    return {static_cast<const unsigned char*>(plane.data) + area.top * plane.stride + area.left * sample,
            plane.stride, area.right - area.left, area.bottom - area.top, plane.depth};
}

// The whole part of a sum of weighted errors.
std::uint64_t rounded(double sum) { return sum <= 0.0 ? 0 : static_cast<std::uint64_t>(sum + 0.5); }

}  // namespace

Xpsnr::Xpsnr(const Kernels& kernels, const XpsnrShape& shape) : kernels_(kernels), shape_(shape) {
    const double samples = static_cast<double>(shape.width) * shape.height;
    const double ratio = samples / kUhd;
    halved_ = samples > kHd;
    block_ = 4 * static_cast<int>(32.0 * std::sqrt(ratio) + 0.5);
    columns_ = block_ < 4 ? 0 : (shape.width + block_ - 1) / block_;
    rows_ = block_ < 4 ? 0 : (shape.height + block_ - 1) / block_;
    scale_ = std::sqrt(16.0 * static_cast<double>(1 << (2 * shape.depth - 9)) / std::sqrt(std::max(0.00001, ratio)));
    weights_.resize(static_cast<std::size_t>(columns_) * static_cast<std::size_t>(rows_));
    zeros_.resize(static_cast<std::size_t>(shape.width) * 2);
}

void Xpsnr::run(const Plane* ref, const Plane* dis, const Plane* before, const Plane* earlier, std::uint64_t* out) {
    if (block_ < 4) {
        for (int c = 0; c < planes(); ++c) out[c] = kernels_.psnr->squared_error(ref[c], dis[c]);
        return;
    }
    const Plane none = black();
    weigh(ref[0], before != nullptr ? *before : none, earlier != nullptr ? *earlier : none);
    out[0] = weighted_error(ref[0], dis[0], block_, block_);
    if (planes() == 1) return;
    const int width = shape_.chroma_width < shape_.width ? block_ / 2 : block_;
    const int height = shape_.chroma_height < shape_.height ? block_ / 2 : block_;
    for (int c = 1; c < 3; ++c) out[c] = weighted_error(ref[c], dis[c], width, height);
}

XpsnrArea Xpsnr::block(int column, int row) const {
    const int left = column * block_, top = row * block_;
    return {left, top, std::min(shape_.width, left + block_), std::min(shape_.height, top + block_)};
}

// Every row of it is the same row of zeros.
Plane Xpsnr::black() const { return {zeros_.data(), 0, shape_.width, shape_.height, shape_.depth}; }

// Mean activity of a block, in texture and in change, squared; 1 where the picture's edge leaves nothing of it.
double Xpsnr::activity(const Plane& now, const Plane& before, const Plane& earlier, const XpsnrArea& area) const {
    const XpsnrKernels& kernels = *kernels_.xpsnr;
    const int edge = halved_ ? 2 : 1;  // where the high-pass would look past the picture
    XpsnrArea inner = area;
    if (area.left == 0) inner.left += edge;
    if (area.top == 0) inner.top += edge;
    if (area.right == shape_.width) inner.right -= edge;
    if (area.bottom == shape_.height) inner.bottom -= edge;
    if (inner.right <= inner.left || inner.bottom <= inner.top) return 1.0;
    const double inner_size =
        static_cast<double>(inner.right - inner.left) * static_cast<double>(inner.bottom - inner.top);
    const double size = static_cast<double>(area.right - area.left) * static_cast<double>(area.bottom - area.top);

    std::uint64_t texture = 0, change = 0;
    if (halved_) {
        // Odd pictures: squares that would need a sample past the edge are left out.
        const XpsnrArea squares = {inner.left, inner.top, std::min(inner.right, shape_.width - 3),
                              std::min(inner.bottom, shape_.height - 3)};
        if (inner.right - area.left > kNarrow) texture = kernels.texture_halved(now, squares);
        const XpsnrArea whole = {area.left, area.top, area.right & ~1, area.bottom & ~1};
        change = shape_.fast ? kernels.bend_halved(now, before, earlier, whole)
                             : kernels.change_halved(now, before, whole);
    } else {
        texture = kernels.texture(now, inner);
        change = shape_.fast ? kernels.bend(now, before, earlier, area) : kernels.change(now, before, area);
    }
    double mean = static_cast<double>(texture) / inner_size;
    mean += static_cast<double>(kChangeWeight * change) / size;
    mean = std::max(mean, static_cast<double>(1 << (shape_.depth - 6)));
    return mean * mean;
}

void Xpsnr::weigh(const Plane& now, const Plane& before, const Plane& earlier) {
    const bool smoothed = shape_.width * static_cast<std::int64_t>(shape_.height) <= kSmoothed;
    std::size_t index = 0;
    for (int row = 0; row < rows_; ++row)
        for (int column = 0; column < columns_; ++column) {
            weights_[index++] = 1.0 / std::sqrt(activity(now, before, earlier, block(column, row)));
            if (smoothed) smooth(column, row);
        }
}

// Limits the weight of the block before this one to the largest of its neighbours', and in the end that of the
// last block. The order is the filter's: blocks above were limited already, and the row before counts as the left.
void Xpsnr::smooth(int column, int row) {
    const auto columns = static_cast<std::size_t>(columns_);
    const std::size_t index = static_cast<std::size_t>(row) * columns + static_cast<std::size_t>(column);
    double* const weight = weights_.data() + index;
    double most;
    if (column == 0)
        most = index > 1 ? weight[-2] : 0.0;
    else
        most = column > 1 ? std::max(weight[-2], weight[0]) : weight[0];
    if (index > columns) most = std::max(most, *(weight - columns - 1));
    if (index > 0) weight[-1] = std::min(weight[-1], most);
    if (index + 1 == weights_.size() && index > columns)
        weight[0] = std::min(weight[0], std::max(weight[-1], *(weight - columns)));
}

// Blocks of chroma have the weights of the luma they belong to.
std::uint64_t Xpsnr::weighted_error(const Plane& ref, const Plane& dis, int block_width, int block_height) const {
    double sum = 0.0;
    const double* weight = weights_.data();
    for (int row = 0; row < rows_; ++row)
        for (int column = 0; column < columns_; ++column, ++weight) {
            const int left = column * block_width, top = row * block_height;
            const XpsnrArea area = {left, top, std::min(ref.width, left + block_width),
                               std::min(ref.height, top + block_height)};
            if (area.left >= area.right || area.top >= area.bottom) continue;
            const std::uint64_t error = kernels_.psnr->squared_error(part(ref, area), part(dis, area));
            sum += static_cast<double>(error) * *weight;
        }
    return rounded(sum * scale_);
}

}  // namespace acuity
