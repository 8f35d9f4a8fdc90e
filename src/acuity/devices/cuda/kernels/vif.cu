// VIF: windowed variances of both pictures at one scale, the information each place carries, and both pictures
// halved for the next scale.
//
// A window's filter is a product with a banded matrix of its taps, so the tensor cores do it: 16 sums from 32
// samples at once, on bytes, exactly. A warp goes through tiles of 16 x 16 places, along strips of 16 rows: it filters
// the columns of a slot, then the rows of a tile, which need its slot, which begins 8 columns before it, and the next.
//
// Kernels are named by the samples they read, and by the gain limits they serve: one, 1 alone, one and 1, any.
#include "vif/slots.cuh"

namespace {

constexpr int kThreads = 128, kWarps = kThreads / 32;
constexpr int kBlocks = 4;                 // blocks that a multiprocessor has room for: registers against warps
constexpr int kMaxGains = 4, kShared = 3;  // words of a scale that all gain limits share

struct Memory {
    SlotMemory slots[kWarps][2];  // of even and odd slots
    u16 steps[kLog2Groups];
};

// A launch: one scale of a batch, for some gain limits.
struct Pass {
    const Frame* frames;
    const u8* planes;  // of scales above 0, `stride` bytes from frame to frame
    i64 stride;
    int pitch, width, height, scale, depth, tiles;  // tiles of a warp
    u8* halved;                                     // null: there is no next scale
    int halved_pitch;
    const u16* steps;
    double limits[kMaxGains];
    int count, shared, limit_word, unit_word;  // words of the sums; `shared`: add those that all limits share
    u64* sums;
    int words;
};

// Scale 0 is the frames' own luma.
template <bool kHalved>
__device__ __forceinline__ Pair pair_of(const Pass& pass) {
    if (!kHalved) {
        const Frame& frame = pass.frames[blockIdx.z];
        return {{frame.ref.plane[0], frame.ref.pitch[0]}, {frame.dis.plane[0], frame.dis.pitch[0]}};
    }
    const u8* const planes = pass.planes + pass.stride * blockIdx.z;
    return {{planes, pass.pitch}, {planes + static_cast<i64>(pass.pitch) * pass.height, pass.pitch}};
}

template <class Rounding, int kMost, bool kUnit, bool kHalved>
__device__ __forceinline__ void measure(const Pass& pass) {
    typedef typename Rounding::Sample T;
    constexpr bool kStatistic = kMost > 0 || kUnit;
    __shared__ Memory memory;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, q = lane % 4;
    if (kStatistic) {
        for (int i = threadIdx.x; i < kLog2Groups / 8; i += kThreads)
            reinterpret_cast<uint4*>(memory.steps)[i] = reinterpret_cast<const uint4*>(pass.steps)[i];
        __syncthreads();
    }
    const int across = (pass.width + kSlot - 1) / kSlot, down = (pass.height + kStrip - 1) / kStrip;
    int tile = (blockIdx.x * kWarps + warp) * pass.tiles;
    const int end = min(tile + pass.tiles, across * down);
    if (tile >= end) return;

    const Pair pair = pair_of<kHalved>(pass);
    const Filters filters(pass.scale, lane);
    const Rounding rounding(pass.depth);
    const bool pairs = aligned<T>(pair.ref) && aligned<T>(pair.dis), halving = pass.halved != nullptr;
    Limits<kMost, kUnit> limits;
    for (int i = 0; i < kMost; ++i) limits.at[i] = pass.limits[i];
    limits.count = pass.count;
    Tally<kMost> tally{};
    Rows of_ref, of_dis;
    const auto load = [&](int strip, int slot) {
        const int x = kSlot * slot - kHalo, y = kStrip * strip - kHalo;
        const bool inside = x >= 0 && x + kSlot <= pass.width && y >= 0 && y + 2 * kStrip <= pass.height;
        load_rows<T>(pair, x, y, pass.width, pass.height, pairs && inside, of_ref, of_dis);
    };
    int strip = tile / across, slot = tile % across;
    uint4 halved{};
    for (bool first = true;;) {
        load(strip, slot);
        const Patch<T> ref(of_ref), dis(of_dis);
        const int y = kStrip * strip, last = slot - 1;  // the tile that this slot completes
        if (halving) {
            const uint4 next = halve_slot(ref, dis, filters, rounding);
            if (!first) {
                const int row = y / 2 + 2 * q, column = kSlot / 2 * last + g;
                halve_tile(filters, halved, next,
                           reinterpret_cast<u16*>(pass.halved + pass.stride * blockIdx.z +
                                                  static_cast<i64>(pass.halved_pitch) * row) + column,
                           pass.halved_pitch / 2, static_cast<i64>(pass.halved_pitch / 2) * (pass.height / 2),
                           column < pass.width / 2 ? pass.height / 2 - row : 0);
            }
            halved = next;
        }
        if (kStatistic) filter_slot(ref, dis, filters, rounding, lane, memory.slots[warp][slot % 2]);
        const SlotMemory& left = memory.slots[warp][(slot + 1) % 2];
        const SlotMemory& right = memory.slots[warp][slot % 2];
        const bool ends = slot == across, complete = !first;
        first = ends;
        slot = ends ? 0 : slot + 1;
        strip += ends;
        if (complete) {
            const int columns = pass.width - kSlot * last - g;  // from a lane's first on
#pragma unroll 1
            for (int half = 0; kStatistic && half < 2; ++half) {
                const int rows = pass.height - y - 8 * half;
                if (rows <= 0) break;
                const bool upper = 2 * q < rows, lower = 2 * q + 1 < rows;
                add_places(filter_tile(filters, left[half], right[half], lane),
                           {upper && columns > 0, lower && columns > 0, upper && columns > 8, lower && columns > 8},
                           memory.steps, limits, tally);
            }
            if (++tile == end) break;
        }
    }
    if (!kStatistic) return;
    u64* const sums = pass.sums + pass.words * blockIdx.z;
    const auto add = [&](u64 value, int word) {
        value = warp_sum(value);
        if (lane == 0) atomicAdd(sums + word, value);
    };
    if (pass.shared) {
        add(static_cast<i64>(static_cast<i32>(tally.total)), 0);
        add(tally.flat_dis, 1);
        add(tally.flat, 2);
    }
    const auto information = [&](u32 signal) { return static_cast<i64>(static_cast<i32>(signal - tally.noise)); };
#pragma unroll
    for (int i = 0; i < kMost; ++i)
        if (kMost == 1 || i < pass.count) add(information(tally.signal[i]), kShared + pass.limit_word + i);
    if (kUnit) add(information(tally.unit), kShared + pass.unit_word);
}

}  // namespace

#define VIF_PARAMETERS                                                                                               \
    const Frame *frames, const u8 *planes, i64 stride, int pitch, int width, int height, int scale, int depth,       \
        int tiles, u8 *halved, int halved_pitch, const u16 *steps, double limit0, double limit1, double limit2,      \
        double limit3, int count, int shared, int limit_word, int unit_word, u64 *sums, int words
#define VIF_PASS                                                                                                     \
    {frames, planes, stride, pitch, width, height, scale, depth, tiles, halved, halved_pitch, steps,                 \
     {limit0, limit1, limit2, limit3}, count, shared, limit_word, unit_word, sums, words}

// ---- scale 0 of eight bits ----------------------------------------------------------------------

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) vif_8_one(VIF_PARAMETERS) {
    measure<Rounding8, 1, false, false>(VIF_PASS);
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) vif_8_unit(VIF_PARAMETERS) {
    measure<Rounding8, 0, true, false>(VIF_PASS);
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) vif_8_both(VIF_PARAMETERS) {
    measure<Rounding8, 1, true, false>(VIF_PASS);
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) vif_8_any(VIF_PARAMETERS) {
    measure<Rounding8, kMaxGains, false, false>(VIF_PASS);
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) vif_8_halve(VIF_PARAMETERS) {
    measure<Rounding8, 0, false, false>(VIF_PASS);
}

// ---- scale 0 of more bits -----------------------------------------------------------------------

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) vif_16_one(VIF_PARAMETERS) {
    measure<RoundingDeep, 1, false, false>(VIF_PASS);
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) vif_16_unit(VIF_PARAMETERS) {
    measure<RoundingDeep, 0, true, false>(VIF_PASS);
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) vif_16_both(VIF_PARAMETERS) {
    measure<RoundingDeep, 1, true, false>(VIF_PASS);
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) vif_16_any(VIF_PARAMETERS) {
    measure<RoundingDeep, kMaxGains, false, false>(VIF_PASS);
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) vif_16_halve(VIF_PARAMETERS) {
    measure<RoundingDeep, 0, false, false>(VIF_PASS);
}

// ---- scales 1 to 3 ------------------------------------------------------------------------------

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) vif_halved_one(VIF_PARAMETERS) {
    measure<RoundingHalved, 1, false, true>(VIF_PASS);
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) vif_halved_unit(VIF_PARAMETERS) {
    measure<RoundingHalved, 0, true, true>(VIF_PASS);
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) vif_halved_both(VIF_PARAMETERS) {
    measure<RoundingHalved, 1, true, true>(VIF_PASS);
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks) vif_halved_any(VIF_PARAMETERS) {
    measure<RoundingHalved, kMaxGains, false, true>(VIF_PASS);
}
