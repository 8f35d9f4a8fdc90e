// Banding: takes a picture's samples and marks those in flat places, and makes the smaller scales.
//
// A warp goes down a strip of columns and keeps what it needs of the last rows in registers: the seven rows of
// counts around a sample are seven groups of three bits.
#pragma once
#include "cambi/plan.cuh"

namespace {

constexpr int kFlattenWarps = 4, kFlattenRows = 64, kFlattenColumns = 24;  // of a block; of a strip
constexpr int kReach = 3;                                                  // surroundings are 7x7 samples

// The samples of one column in 10 bits.
template <class T>
class Column {
  public:
    __device__ Column(const Picture& picture, const CambiPlan& plan, int x, int depth)
        : rows_(plan.rows), pitch_(picture.pitch[0]), last_(plan.height - 1), depth_(depth) {
        x = min(max(x, 0), plan.width - 1);
        samples_ = picture.plane[0] + sizeof(T) * (plan.columns == nullptr ? x : plan.columns[x]);
    }

    __device__ u32 operator[](int y) const {
        y = min(max(y, 0), last_);
        const u8* at = samples_ + static_cast<i64>(pitch_) * (rows_ == nullptr ? y : rows_[y]);
        const u32 value = *reinterpret_cast<const T*>(at);
        if (sizeof(T) == 1) return value << 2;
        return depth_ <= 10 ? value << (10 - depth_) : (value + (1u << (depth_ - 11))) >> (depth_ - 10);
    }

  private:
    const u8* samples_;
    const i32* rows_;
    int pitch_, last_, depth_;
};

// Writes the first scale, filtered. Step: 2 leaves out every other row and column.
template <class T, int Step>
__device__ void flatten(const Frame* frames, int reference, int depth, const CambiPlan& plan, u16* planes) {
    constexpr int kKept = Step == 1 ? 5 : 3;  // rows filtered across
    const int width = plan.width, height = plan.height, limit = plan.flat, stride = plan.scales[0].stride;
    const bool smooth = plan.smooth != 0;
    const int lane = threadIdx.x % 32, strip = blockIdx.x * kFlattenWarps + threadIdx.x / 32;
    const int x = strip * kFlattenColumns - kReach + lane, y0 = blockIdx.y * kFlattenRows;
    if (strip * kFlattenColumns >= width) return;
    const Frame& frame = frames[blockIdx.z];
    const Column<T> column(reference != 0 ? frame.ref : frame.dis, plan, x, depth);
    const bool right = x + 1 < width, edge = x < Step || x + Step >= width;
    const bool written = lane >= kReach && lane < kReach + kFlattenColumns && x < width && x % Step == 0;
    u16* out = planes + blockIdx.z * plan.samples + plan.scales[0].plane + x / Step;
    out += static_cast<i64>(y0 / Step) * stride;

    // A sample, with its right neighbour if it is to be averaged; and the average with the row below.
    const auto pair = [&](u32 here) {
        if (!smooth) return here;
        const u32 beside = __shfl_down_sync(kAll, here, 1);
        return right ? here + beside : here;
    };
    const auto average = [&](int y, u32 above, u32 below) {
        if (!smooth) return above;
        return y + 1 < height ? (above + below) >> (right + 1) : above >> static_cast<int>(right);
    };

    const int first = y0 - kReach, last = min(y0 + kFlattenRows, height) - 1 + kReach;
    u32 pair_below = pair(column[first + 1]);
    u32 value = average(first, pair(column[first]), pair_below);
    u32 ahead = column[first + 2];  // asked for a row before it is needed
    u32 kept[kKept] = {};           // the newest first; above the filtered value the value itself
    u32 counts = 0, around = 0;
    for (int y = first; y <= last; ++y) {
        const u32 pair_next = pair(ahead);
        ahead = column[y + 3];
        const u32 below = average(y + 1, pair_below, pair_next);
        const u32 beside = __shfl_down_sync(kAll, value, 1);
        const bool inside = x >= 0 && x < width && y >= 0 && y < height;
        const bool same = inside && (!right || value == beside) && (y + 1 >= height || value == below);
        const u32 bits = __ballot_sync(kAll, same);
        const u32 count = __popc((bits >> ((lane - kReach) & 31)) & 0x7F);
        around += count - ((counts >> 18) & 7);
        counts = counts << 3 | count;

        if (Step == 1 || y % 2 == 0) {
            const u32 before = __shfl_up_sync(kAll, value, Step);
            const u32 after = Step == 1 ? beside : __shfl_down_sync(kAll, value, Step);
#pragma unroll
            for (int i = kKept - 1; i > 0; --i) kept[i] = kept[i - 1];
            kept[0] = (edge ? value : most_frequent(before, value, after)) | value << 16;
        }
        const int centre = y - kReach;
        if (centre >= y0 && (Step == 1 || centre % 2 == 0)) {
            const u32 middle = kept[kKept - 2];
            const bool border = centre < Step || centre + Step >= height;
            const u32 found = border ? middle >> 16
                                     : most_frequent(kept[kKept - 1] & 0xFFFF, middle & 0xFFFF,
                                                     kept[kKept - 3] & 0xFFFF);
            const u32 flat = static_cast<i32>(around) > limit ? kFlat : 0;
            if (written) *out = static_cast<u16>(found | flat);
            out += stride;
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
