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

bool empty(const XpsnrArea& area) { return area.left >= area.right || area.top >= area.bottom; }

double size_of(const XpsnrArea& area) {
    return static_cast<double>(area.right - area.left) * static_cast<double>(area.bottom - area.top);
}

Plane cut(const Plane& plane, const XpsnrArea& area) {
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
    weighted_ = block_ >= 4;
    if (!weighted_) block_ = std::max(shape.width, shape.height);  // errors of tiny pictures are plain ones
    columns_ = (shape.width + block_ - 1) / block_;
    rows_ = (shape.height + block_ - 1) / block_;
    scale_ = std::sqrt(16.0 * static_cast<double>(1 << (2 * shape.depth - 9)) / std::sqrt(std::max(0.00001, ratio)));
    for (int row = 0; row < rows_; ++row)
        for (int column = 0; column < columns_; ++column) blocks_.push_back(block(column, row));
    weights_.resize(blocks_.size());
    sums_.resize(blocks_.size());
    zeros_.resize(static_cast<std::size_t>(shape.width) * 2);
}

void Xpsnr::run(const Plane* ref, const Plane* dis, const Plane* before, const Plane* earlier, std::uint64_t* out) {
    const XpsnrKernels& kernels = *kernels_.xpsnr;
    const Plane none = black(), &now = ref[0];
    const Plane &last = before != nullptr ? *before : none, &older = earlier != nullptr ? *earlier : none;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        const XpsnrBlock& block = blocks_[i];
        XpsnrSums& sums = sums_[i] = {};
        if (!empty(block.texture))
            sums.texture = (halved_ ? kernels.texture_halved : kernels.texture)(now, block.texture);
        if (!empty(block.change))
            sums.change = shape_.fast
                              ? (halved_ ? kernels.bend_halved : kernels.bend)(now, last, older, block.change)
                              : (halved_ ? kernels.change_halved : kernels.change)(now, last, block.change);
        for (int c = 0; c < planes(); ++c)
            if (const XpsnrArea& area = block.planes[c]; !empty(area))
                sums.errors[c] = kernels_.psnr->squared_error(cut(ref[c], area), cut(dis[c], area));
    }
    outputs(sums_.data(), out);
}

void Xpsnr::outputs(const XpsnrSums* sums, std::uint64_t* out) {
    if (weighted_) weigh(sums);
    for (int c = 0; c < planes(); ++c) {
        double sum = 0.0;
        for (std::size_t i = 0; i < blocks_.size(); ++i) sum += static_cast<double>(sums[i].errors[c]) * weights_[i];
        out[c] = weighted_ ? rounded(sum * scale_) : sums[0].errors[c];
    }
}

// A block's part of a plane. Blocks of chroma have the weights of the luma they belong to.
XpsnrArea Xpsnr::part(int column, int row, int plane) const {
    const int columns = plane == 0 ? shape_.width : shape_.chroma_width;
    const int rows = plane == 0 ? shape_.height : shape_.chroma_height;
    const int width = columns < shape_.width && weighted_ ? block_ / 2 : block_;
    const int height = rows < shape_.height && weighted_ ? block_ / 2 : block_;
    const int left = column * width, top = row * height;
    return {left, top, std::min(columns, left + width), std::min(rows, top + height)};
}

XpsnrBlock Xpsnr::block(int column, int row) const {
    XpsnrBlock block = {};
    for (int c = 0; c < planes(); ++c) block.planes[c] = part(column, row, c);
    if (!weighted_) return block;
    const XpsnrArea area = block.planes[0];
    const int edge = halved_ ? 2 : 1;  // where the high-pass would look past the picture
    XpsnrArea inner = area;
    if (area.left == 0) inner.left += edge;
    if (area.top == 0) inner.top += edge;
    if (area.right == shape_.width) inner.right -= edge;
    if (area.bottom == shape_.height) inner.bottom -= edge;
    if (empty(inner)) return block;
    block.texture_size = size_of(inner);
    block.size = size_of(area);
    block.texture = inner;
    block.change = area;
    if (halved_) {
        // Odd pictures: squares that would need a sample past the edge are left out.
        block.texture.right = std::min(inner.right, shape_.width - 3);
        block.texture.bottom = std::min(inner.bottom, shape_.height - 3);
        if (inner.right - area.left <= kNarrow) block.texture = {};
        block.change.right &= ~1;
        block.change.bottom &= ~1;
    }
    return block;
}

// A picture whose rows are all the same row of zeros.
Plane Xpsnr::black() const { return {zeros_.data(), 0, shape_.width, shape_.height, shape_.depth}; }

// Mean activity of a block, in texture and in change, squared; 1 where the picture's edge leaves nothing of it.
double Xpsnr::activity(const XpsnrBlock& block, const XpsnrSums& sums) const {
    if (block.texture_size == 0.0) return 1.0;
    double mean = static_cast<double>(sums.texture) / block.texture_size;
    mean += static_cast<double>(kChangeWeight * sums.change) / block.size;
    mean = std::max(mean, static_cast<double>(1 << (shape_.depth - 6)));
    return mean * mean;
}

void Xpsnr::weigh(const XpsnrSums* sums) {
    const bool smoothed = shape_.width * static_cast<std::int64_t>(shape_.height) <= kSmoothed;
    std::size_t index = 0;
    for (int row = 0; row < rows_; ++row)
        for (int column = 0; column < columns_; ++column, ++index) {
            weights_[index] = 1.0 / std::sqrt(activity(blocks_[index], sums[index]));
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

}  // namespace acuity
