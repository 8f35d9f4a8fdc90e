// Banding: takes a picture's samples and marks those in flat places, and makes the smaller scales.
//
// A warp goes down a strip of columns and keeps what it needs of the last rows in registers: the seven rows of
// counts around a sample are seven groups of three bits.
#pragma once
#include "cambi_plan.cuh"

namespace {

constexpr int kFlattenWarps = 4, kFlattenRows = 64, kFlattenColumns = 24;  // of a block; of a strip
constexpr int kReach = 3;                                                  // surroundings are 7x7 samples

// The samples of one column in 10 bits.
template <class T>
class Column {
  public:
    __device__ Column(const Picture& picture, const CambiPlan& plan, int x, int depth)
        : picture_(picture), rows_(plan.rows), height_(plan.height), depth_(depth) {
        x = min(max(x, 0), plan.width - 1);
        column_ = plan.columns == nullptr ? x : plan.columns[x];
    }

    __device__ u32 operator[](int y) const {
        y = min(max(y, 0), height_ - 1);
        const u32 value = row_of<T>(picture_, 0, rows_ == nullptr ? y : rows_[y])[column_];
        if (sizeof(T) == 1) return value << 2;
        return depth_ <= 10 ? value << (10 - depth_) : (value + (1u << (depth_ - 11))) >> (depth_ - 10);
    }

  private:
    const Picture& picture_;
    const i32* rows_;
    int height_, depth_, column_;
};

// Writes the first scale, filtered.
template <class T>
__device__ void flatten(const Frame* frames, int reference, int depth, const CambiPlan& plan, u16* planes) {
    const int width = plan.width, height = plan.height, step = plan.step;
    const int lane = threadIdx.x % 32, strip = blockIdx.x * kFlattenWarps + threadIdx.x / 32;
    const int x = strip * kFlattenColumns - kReach + lane, y0 = blockIdx.y * kFlattenRows;
    if (strip * kFlattenColumns >= width) return;
    const Frame& frame = frames[blockIdx.z];
    const Column<T> column(reference != 0 ? frame.ref : frame.dis, plan, x, depth);
    const bool right = x + 1 < width, edge = x < step || x + step >= width;
    const bool written = lane >= kReach && lane < kReach + kFlattenColumns && x < width && x % step == 0;
    const CambiScale& scale = plan.scales[0];
    u16* out = planes + blockIdx.z * plan.samples + scale.plane + x / step;

    // A sample, with its right neighbour if it is to be averaged; and the average with the row below.
    const auto pair = [&](int y) {
        const u32 here = column[y];
        if (plan.smooth == 0) return here;
        const u32 beside = __shfl_down_sync(kAll, here, 1);
        return right ? here + beside : here;
    };
    const auto average = [&](int y, u32 above, u32 below) {
        if (plan.smooth == 0) return above;
        return y + 1 < height ? (above + below) >> (right + 1) : above >> static_cast<int>(right);
    };

    const int first = y0 - kReach, last = min(y0 + kFlattenRows, height) - 1 + kReach;
    u32 pair_below = pair(first + 1);
    u32 value = average(first, pair(first), pair_below);
    u32 recent[6] = {};  // rows up to this one: filtered across, and above that the value
    u32 counts = 0, around = 0;
    for (int y = first; y <= last; ++y) {
        const u32 pair_next = pair(y + 2);
        const u32 below = average(y + 1, pair_below, pair_next);
        const u32 beside = __shfl_down_sync(kAll, value, 1);
        const bool inside = x >= 0 && x < width && y >= 0 && y < height;
        const bool same = inside && (!right || value == beside) && (y + 1 >= height || value == below);
        const u32 bits = __ballot_sync(kAll, same);
        const u32 count = __popc((bits >> ((lane - kReach) & 31)) & 0x7F);
        around += count - ((counts >> 18) & 7);
        counts = counts << 3 | count;

        const u32 before = __shfl_up_sync(kAll, value, step);
        const u32 after = step == 1 ? beside : __shfl_down_sync(kAll, value, step);
        for (int i = 5; i > 0; --i) recent[i] = recent[i - 1];
        recent[0] = (edge ? value : most_frequent(before, value, after)) | value << 16;

        const int centre = y - kReach;
        if (centre >= y0 && written && centre % step == 0) {
            const u32 above = (step == 1 ? recent[4] : recent[5]) & 0xFFFF;
            const u32 under = (step == 1 ? recent[2] : recent[1]) & 0xFFFF;
            const bool border = centre < step || centre + step >= height;
            const u32 found = border ? recent[3] >> 16 : most_frequent(above, recent[3] & 0xFFFF, under);
            const u32 flat = static_cast<i32>(around) > plan.flat ? kFlat : 0;
            out[static_cast<i64>(centre / step) * scale.stride] = static_cast<u16>(found | flat);
        }
        pair_below = pair_next;
        value = below;
    }
}

// Takes every other row and column of the scale before and filters them. The marks stay where they are.
__device__ __forceinline__ void shrink(const CambiPlan& plan, int number, u16* planes) {
    const CambiScale &from = plan.scales[number - 1], &to = plan.scales[number];
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= to.width || y >= to.height) return;
    u16* frame = planes + blockIdx.z * plan.samples;
    const u16* at = frame + from.plane + 2 * (static_cast<i64>(y) * from.stride + x);
    const auto across = [&](const u16* in) -> u32 {
        const u32 value = in[0] & ~kFlat;
        return x == 0 || x + 1 == to.width ? value : most_frequent(in[-2] & ~kFlat, value, in[2] & ~kFlat);
    };
    u32 found = at[0];
    if (y > 0 && y + 1 < to.height) {
        const int row = 2 * from.stride;
        found = most_frequent(across(at - row), across(at), across(at + row)) | (found & kFlat);
    }
    frame[to.plane + static_cast<i64>(y) * to.stride + x] = static_cast<u16>(found);
}

}  // namespace
