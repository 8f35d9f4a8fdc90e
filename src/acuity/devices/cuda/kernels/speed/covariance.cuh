// SpEED: means and covariance of what the places of a block see.
//
// Each place sees the plane but for the last four rows and columns, shifted. Positions come row by row, and
// each sum takes them one after the other, so that the latency of an addition decides. Everything else goes
// on beside it: samples come from a tile in shared memory, before they are needed.
#pragma once
#include "speed/plan.cuh"

constexpr int kSummers = 2;         // warps that add
constexpr int kCovarianceRows = 2;  // of the covariance, that each of them has
constexpr int kMakers = 2;          // warps that make what is added
constexpr int kCovarianceRun = 32;  // positions that they add at a time: one for each lane of the warps that make them
constexpr int kCovarianceThreads = 32 * (kSummers + kMakers);
// Blocks of threads a side: rows but for the last, which is the last column of the others.
constexpr int kCovarianceGroups = (kCells - 1) / (kSummers * kCovarianceRows);
static_assert(kCovarianceGroups * kSummers * kCovarianceRows == kCells - 1, "rows are shared out evenly");

// A plane is taken in tiles of whole rows of positions, or of a part of one row where the plane is too wide.
constexpr int kTileFloats = 8192, kWidestTile = 1024, kTileSlack = 64;

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

    // All threads of a block copy a tile, and wait for each other before and after.
    __device__ __forceinline__ void load(int tile, float* into) const {
        const float* from = plane + static_cast<i64>(tile / across * high) * stride + tile % across * wide;
        const int width = tile_columns(tile) + kSide - 1, height = tile_rows(tile) + kSide - 1;
        __syncthreads();
        for (int x = threadIdx.x % 32; x < width; x += 32)
#pragma unroll 8
            for (int y = threadIdx.x / 32; y < height; y += kCovarianceThreads / 32)
                into[y * pitch + x] = from[y * stride + x];
        __syncthreads();
    }

    // Where a place of a block reads the first position of a tile.
    __device__ __forceinline__ int offset(int cell) const { return cell / kSide * pitch + cell % kSide; }
};

// Adds the samples of a tile to the sum of a place, by one lane. Samples are read a row's part ahead.
__device__ __forceinline__ float add_tile(const SpeedTiles& tiles, int tile, const float* at, float sum) {
    constexpr int kAhead = 32;
    const int rows = tiles.tile_rows(tile), columns = tiles.tile_columns(tile);
    for (int y = 0; y < rows; ++y, at += tiles.pitch) {
        float samples[kAhead];
#pragma unroll
        for (int i = 0; i < kAhead; ++i) samples[i] = at[i];
        int x = 0;
        for (; x + kAhead <= columns; x += kAhead) {
#pragma unroll
            for (int i = 0; i < kAhead; ++i) {
                sum += samples[i];
                samples[i] = at[x + kAhead + i];
            }
        }
#pragma unroll
        for (int i = 0; i < kAhead; ++i) sum += x + i < columns ? samples[i] : 0.0f;
    }
    return sum;
}

// Positions less the means of their places. Places are in pairs, of which the last is only half used, and 0.
constexpr int kPlaces = kCells + 1, kShare = kPlaces / kMakers;
static_assert(kShare * kMakers == kPlaces, "places are shared out evenly");
struct alignas(16) CentredRun {
    double place[kCovarianceRun][kPlaces];
};

// A warp that makes runs: a lane a position, and some of the places.
struct RunMaker {
    int first;  // of its places
    int offsets[kShare];
    double means[kShare];

    __device__ __forceinline__ RunMaker(const SpeedTiles& tiles, const double (&found)[kCells], int number)
        : first(number * kShare) {
#pragma unroll
        for (int i = 0; i < kShare; ++i) {
            const int place = min(first + i, kCells - 1);
            offsets[i] = tiles.offset(place);
            means[i] = found[place];
        }
    }

    // Makes a run that starts at a position of a tile. After the tile come zeros.
    __device__ __forceinline__ void make(const SpeedTiles& tiles, int tile, const float* samples, int start,
                                         CentredRun& run) const {
        const int lane = threadIdx.x % 32, columns = tiles.tile_columns(tile), position = start + lane;
        const bool there = position < tiles.tile_rows(tile) * columns;
        const int y = there ? position / columns : 0, x = there ? position % columns : 0;
        const float* at = samples + y * tiles.pitch + x;
        float seen[kShare];
#pragma unroll
        for (int i = 0; i < kShare; ++i) seen[i] = at[offsets[i]];
#pragma unroll
        for (int i = 0; i < kShare; ++i) {
            const double value = static_cast<double>(seen[i]) - means[i];
            run.place[lane][first + i] = there && first + i < kCells ? value : 0.0;
        }
    }
};

// Lane l of a warp has column l of its rows; one more lane has the last value of the diagonal.
__device__ void find_covariance(const Frame* frames, const SpeedPlan& plan) {
    __shared__ float samples[kTileFloats + kTileSlack];
    __shared__ CentredRun made[2];
    __shared__ double found[kCells];
    if (!comparable(frames[blockIdx.z], plan)) return;
    const SpeedTiles tiles(plan);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool sums_up = warp < kSummers;

    float mean = 0;
    for (int t = 0; t < tiles.count; ++t) {
        tiles.load(t, samples);
        if (warp == 0) mean = add_tile(tiles, t, samples + tiles.offset(min(lane, kCells - 1)), mean);
    }
    if (threadIdx.x < kCells)
        found[threadIdx.x] = static_cast<double>(mean / static_cast<float>(tiles.positions()));
    __syncthreads();
    const RunMaker maker(tiles, found, max(warp - kSummers, 0));

    const int group = (blockIdx.x * kSummers + warp) * kCovarianceRows;
    const int column = min(lane, kCells - 1), row = lane == kCells ? kCells - 1 : group;
    double sums[kCovarianceRows] = {};
    for (int t = 0; t < tiles.count; ++t) {
        if (tiles.count > 1) tiles.load(t, samples);
        const int positions = tiles.tile_rows(t) * tiles.tile_columns(t);
        if (!sums_up) maker.make(tiles, t, samples, 0, made[0]);
        __syncthreads();
        int number = 0;
        for (int start = 0; start < positions; start += kCovarianceRun, number ^= 1) {
            if (sums_up) {
                const CentredRun& run = made[number];
#pragma unroll
                for (int i = 0; i < kCovarianceRun; ++i) {
                    const double mine = run.place[i][column];
#pragma unroll
                    for (int k = 0; k < kCovarianceRows; k += 2) {
                        const int place = lane == kCells ? kCells - 1 : row + k;
                        const double2 pair = *reinterpret_cast<const double2*>(&run.place[i][place]);
                        sums[k] += pair.x * mine;
                        sums[k + 1] += pair.y * mine;
                    }
                }
            } else if (start + kCovarianceRun < positions) {
                maker.make(tiles, t, samples, start + kCovarianceRun, made[number ^ 1]);
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
