// SpEED: means and covariance of what the places of a block see.
//
// Each place sees the plane but for the last four rows and columns, shifted. Positions come row by row, and
// each sum takes them one after the other, so that the latency of an addition decides. Everything else goes
// on beside it: samples come from a tile in shared memory, before they are needed.
#pragma once
#include "speed_plan.cuh"

// A plane is taken in tiles of whole rows of positions, or of a part of one row where the plane is too wide.
constexpr int kTileFloats = 8192, kWidestTile = 1024, kTileSlack = 32;

struct SpeedTiles {
    const float* plane;
    int stride;                        // of the plane
    int rows, columns;                 // positions
    int wide, high, across, count;     // positions of a tile; tiles in a row; tiles
    int pitch;                         // of a tile

    __device__ __forceinline__ explicit SpeedTiles(const SpeedPlan& plan)
        : plane(plan.centred + side_index(plan) * reduced_area(plan)),
          stride(plan.columns.outputs),
          rows((plan.down - 1) * kSide + 1),
          columns((plan.across - 1) * kSide + 1),
          wide(min(columns, kWidestTile)),
          across((columns + wide - 1) / wide) {
        // With these pitches the places of a block are in different banks.
        constexpr u32 kConflictFree = 1u << 5 | 1u << 6 | 1u << 13 | 1u << 19 | 1u << 26 | 1u << 27;
        pitch = wide + kSide - 1;
        while ((kConflictFree >> (pitch % 32) & 1) == 0) ++pitch;
        high = across > 1 ? 1 : min(rows, kTileFloats / pitch - (kSide - 1));
        count = (rows + high - 1) / high * across;
    }

    __device__ __forceinline__ int positions() const { return rows * columns; }
    __device__ __forceinline__ int tile_rows(int tile) const { return min(rows - tile / across * high, high); }
    __device__ __forceinline__ int tile_columns(int tile) const { return min(columns - tile % across * wide, wide); }

    // All threads of a block copy a tile.
    __device__ __forceinline__ void load(int tile, float* into) const {
        const float* from = plane + static_cast<i64>(tile / across * high) * stride + tile % across * wide;
        const int width = tile_columns(tile) + kSide - 1, height = tile_rows(tile) + kSide - 1;
        for (int y = threadIdx.x / 32; y < height; y += blockDim.x / 32)
            for (int x = threadIdx.x % 32; x < width; x += 32) into[y * pitch + x] = from[y * stride + x];
    }

    // Where a place of a block reads the first position of a tile.
    __device__ __forceinline__ int offset(int cell) const { return cell / kSide * pitch + cell % kSide; }
};

constexpr int kMeanThreads = 256;

// Each lane of the first warp has one place.
__device__ void find_means(const Frame* frames, const SpeedPlan& plan) {
    constexpr int kAhead = 16;  // samples read before they are added
    __shared__ float tile[kTileFloats + kTileSlack];
    if (!comparable(frames[blockIdx.z], plan)) return;
    const SpeedTiles tiles(plan);
    const int cell = min(static_cast<int>(threadIdx.x), kCells - 1);
    float sum = 0;
    const auto add = [&](const float* at, int length) {
        float now[kAhead], next[kAhead];
        const auto fetch = [&](float* into, int x) {
#pragma unroll
            for (int i = 0; i < kAhead; ++i) into[i] = at[x + i];
        };
        const auto take = [&](const float* from, int left) {
            if (left >= kAhead) {
#pragma unroll
                for (int i = 0; i < kAhead; ++i) sum += from[i];
            } else {
#pragma unroll
                for (int i = 0; i < kAhead; ++i)
                    if (i < left) sum += from[i];
            }
        };
        fetch(now, 0);
        for (int x = 0; x < length; x += 2 * kAhead) {
            if (x + kAhead < length) fetch(next, x + kAhead);
            take(now, length - x);
            if (x + 2 * kAhead < length) fetch(now, x + 2 * kAhead);
            take(next, length - x - kAhead);
        }
    };
    for (int t = 0; t < tiles.count; ++t) {
        __syncthreads();
        tiles.load(t, tile);
        __syncthreads();
        if (threadIdx.x >= 32) continue;
        const int rows = tiles.tile_rows(t), columns = tiles.tile_columns(t);
        for (int y = 0; y < rows; ++y) add(tile + tiles.offset(cell) + y * tiles.pitch, columns);
    }
    if (threadIdx.x < kCells)
        plan.means[side_index(plan) * kCells + threadIdx.x] = sum / static_cast<float>(tiles.positions());
}

constexpr int kSummers = 2;         // warps that add
constexpr int kCovarianceRows = 2;  // of the covariance, that each of them has
constexpr int kCovarianceRun = 32;  // positions that they add at a time
constexpr int kCovarianceThreads = 32 * (kSummers + 1);
// Blocks of threads a side: rows but for the last, which is the last column of the others.
constexpr int kCovarianceGroups = (kCells - 1) / (kSummers * kCovarianceRows);
static_assert(kCovarianceGroups * kSummers * kCovarianceRows == kCells - 1, "rows are shared out evenly");

// Positions less the means of their places; places are in pairs.
constexpr int kPlaces = kCells + 1;
struct alignas(16) CentredRun {
    double place[kCovarianceRun][kPlaces];
};

// Makes the runs of a tile; one warp, whose lanes have a place each. After the tile come zeros.
class RunMaker {
  public:
    __device__ __forceinline__ RunMaker(const SpeedTiles& tiles, const SpeedPlan& plan, const float* tile)
        : from_(tile + tiles.offset(min(static_cast<int>(threadIdx.x % 32), kCells - 1))), step_(tiles.pitch) {
        const int cell = threadIdx.x % 32;
        if (cell < kCells) mean_ = static_cast<double>(plan.means[side_index(plan) * kCells + cell]);
    }

    __device__ __forceinline__ void start(int rows, int columns) {
        x_ = place_ = 0;
        columns_ = columns;
        left_ = rows * columns;
    }

    __device__ __forceinline__ void make(CentredRun& run) {
        const int lane = threadIdx.x % 32;
#pragma unroll 8
        for (int i = 0; i < kCovarianceRun; ++i) {
            const double value = i < left_ ? static_cast<double>(from_[place_ + x_]) - mean_ : 0.0;
            if (lane < kPlaces) run.place[i][lane] = value;
            if (i + 1 < left_ && ++x_ == columns_) {
                x_ = 0;
                place_ += step_;
            }
        }
        left_ -= kCovarianceRun;
    }

  private:
    const float* from_;
    int step_;
    double mean_ = 0;
    int x_ = 0, place_ = 0, columns_ = 0, left_ = 0;
};

// Lane l of a warp has column l of its rows; one more lane has the last value of the diagonal.
__device__ void find_covariance(const Frame* frames, const SpeedPlan& plan) {
    __shared__ float tile[kTileFloats + kTileSlack];
    __shared__ CentredRun made[2];
    if (!comparable(frames[blockIdx.z], plan)) return;
    const SpeedTiles tiles(plan);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool sums_up = warp < kSummers;
    RunMaker maker(tiles, plan, tile);

    const int group = (blockIdx.x * kSummers + warp) * kCovarianceRows;
    const int column = min(lane, kCells - 1), row = lane == kCells ? kCells - 1 : group;
    double sums[kCovarianceRows] = {};
    for (int t = 0; t < tiles.count; ++t) {
        __syncthreads();
        tiles.load(t, tile);
        __syncthreads();
        const int rows = tiles.tile_rows(t), columns = tiles.tile_columns(t);
        const int runs = (rows * columns + kCovarianceRun - 1) / kCovarianceRun;
        if (!sums_up) {
            maker.start(rows, columns);
            maker.make(made[0]);
        }
        __syncthreads();
        for (int run = 0; run < runs; ++run) {
            if (sums_up) {
                const CentredRun& here = made[run % 2];
#pragma unroll
                for (int i = 0; i < kCovarianceRun; ++i) {
                    const double mine = here.place[i][column];
                    // The last lane's second row is of no use.
                    const double* beside = &here.place[i][row];
#pragma unroll
                    for (int k = 0; k < kCovarianceRows; k += 2) {
                        const double2 pair = *reinterpret_cast<const double2*>(beside + (lane == kCells ? 0 : k));
                        sums[k] += pair.x * mine;
                        sums[k + 1] += pair.y * mine;
                    }
                }
            } else if (run + 1 < runs) {
                maker.make(made[(run + 1) % 2]);
            }
            __syncthreads();
        }
    }
    if (!sums_up || lane > kCells) return;
    float* out = plan.covariance + side_index(plan) * kCells * kCells;
    for (int k = 0; k < kCovarianceRows; ++k) {
        const float value = static_cast<float>(sums[k] / static_cast<double>(tiles.positions()));
        if (lane < kCells) out[(row + k) * kCells + lane] = value;
        if (lane == kCells - 1) out[lane * kCells + row + k] = value;
        if (lane == kCells && k == 0 && group == 0) out[kCells * kCells - 1] = value;
    }
}
