// Banding: contrast of every sample with those around it.
//
// A warp goes down a strip of 32 columns, a row at a time, a lane for each sample. It keeps how many samples of
// each level every column of its windows has within the window's rows; one row enters and one leaves. Counts are
// bytes, four columns in a word, so that a window's count of a level is a few words added by __dp4a. There is
// room for some levels only: a strip with more of them is gone through again for the next ones.
#pragma once
#include "cambi/plan.cuh"
#include "cambi/pool.cuh"

namespace {

constexpr int kStripWarps = 4, kStripRows = 32;  // of a block; of a strip
constexpr int kTogether = 4;                     // steps that are looked at together
// Levels with counts. Words of the same columns lie together; with 4 more than a multiple of 32, lanes whose
// samples have up to four neighbouring levels read different banks.
constexpr int kLevels = 68;
constexpr u32 kNone = 0xFFFF;

// Which bytes of the first and last two words are in a lane's window, as factors for __dp4a.
struct WindowWords {
    int words;
    u32 first, last_but_one, last;

    __device__ WindowWords(int lane, int radius) {
        const int from = lane % 4, to = from + 2 * radius;  // bytes from the lane's first word on
        words = (3 + 2 * radius) / 4 + 1;
        const auto up_to = [to](int word) -> u32 {
            const int bytes = min(max(to - 4 * word + 1, 0), 4);
            return bytes == 4 ? 0x01010101u : 0x01010101u & ((1u << (8 * bytes)) - 1);
        };
        first = (0x01010101u << (8 * from)) & up_to(0);
        last_but_one = up_to(words - 2);
        last = up_to(words - 1);
    }
};

// How many samples of a level, and of those a few steps above and below it, the window has.
struct Counts {
    u32 here, above[kTogether], below[kTogether];
};

// The steps are `away` + 1 and on.
__device__ __forceinline__ Counts count_levels(const u32* at, const WindowWords& window, int away) {
    Counts found = {};
    const u32 *above = at + away, *below = at - away;
    const auto add = [&](int word, u32 factors) {
        found.here = __dp4a(at[word * kLevels], factors, found.here);
#pragma unroll
        for (int i = 0; i < kTogether; ++i) {
            found.above[i] = __dp4a(above[word * kLevels + 1 + i], factors, found.above[i]);
            found.below[i] = __dp4a(below[word * kLevels - 1 - i], factors, found.below[i]);
        }
    };
    add(0, window.first);
    for (int word = 1; word < window.words - 2; ++word) add(word, 0x01010101u);
    if (window.words > 2) add(window.words - 2, window.last_but_one);
    if (window.words > 1) add(window.words - 1, window.last);
    return found;
}

// What steps weigh; here because what is in memory is read again for every sample.
struct Steps {
    const i32* first;
    const float *weights, *inverse;
    float near_weights[kTogether];
    int count;

    __device__ explicit Steps(const CambiPlan& plan)
        : first(plan.first), weights(plan.weights), inverse(plan.inverse), count(plan.steps) {
        for (int i = 0; i < kTogether; ++i) near_weights[i] = i < count ? weights[i] : 0;
    }

    // The contrast of a sample, whose level's counts are from `at` on.
    //
    // Counts multiplied are below 2^24 and exact as a float; weighed, they are rounded once, and again when they
    // are divided: as on the CPU, in the same order. The larger count is chosen before that, because rounding need
    // not keep the order of contrasts that are nearly equal.
    __device__ __forceinline__ float contrast(u32 level, const u32* at, const WindowWords& window) const {
        float largest = 0;
        const int visible = first[level];
        for (int away = 0; away < count; away += kTogether) {
            if (away + kTogether <= visible) continue;
            const Counts found = count_levels(at, window, away);
#pragma unroll
            for (int i = 0; i < kTogether; ++i) {
                const int step = away + i;
                const u32 there = max(found.above[i], found.below[i]);
                if (step < visible || step >= count || there == 0) continue;
                const float weight = away == 0 ? near_weights[i] : weights[step];
                const float product = weight * static_cast<float>(found.here * there);
                const float contrast = product * inverse[found.here + there];
                largest = largest < contrast ? contrast : largest;
            }
        }
        return largest;
    }
};

// Words: groups of four columns that the windows of a warp reach, 8 columns or more for each 32 of a warp.
template <int Words>
__device__ void contrasts(const CambiPlan& plan, const u16* planes, float* maps, i64 map_step, Pool* pools) {
    constexpr int kOwn = Words * 4 / 32;  // columns that a lane keeps
    static_assert(Words % 8 == 0, "lanes keep equally many columns");
    __shared__ u32 all_counts[kStripWarps][Words * kLevels];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int strip = blockIdx.x * kStripWarps + warp;
    if (strip >= plan.strips) return;  // the whole warp: nothing here waits for the block
    int number = kScales - 1;
    while (strip < plan.scales[number].strips) --number;
    const CambiScale& scale = plan.scales[number];
    const int place = strip - scale.strips, radius = plan.radius, height = scale.height;
    const int stride = scale.stride, pitch = scale.pitch;
    const int x0 = place % scale.across * 32, y0 = place / scale.across * kStripRows;
    const int end = min(y0 + kStripRows, height);
    const u16* centre = planes + blockIdx.z * plan.samples + scale.plane + x0 + lane;
    const u16* left = centre - radius;
    float* map = maps + blockIdx.z * map_step + scale.map + x0 + lane;
    u32* counts = all_counts[warp];
    u8* columns = reinterpret_cast<u8*>(counts + lane / 4 * kLevels) + lane % 4;  // the lane's first column
    const u32* own = counts + lane / 4 * kLevels;                                 // its window's first
    const WindowWords window(lane, radius);
    const Steps steps(plan);

    const u32 lowest = kFlat + static_cast<u32>(plan.base), levels = static_cast<u32>(plan.levels);
    const u32 margin = static_cast<u32>(max(steps.count, kTogether)), judged = kLevels - 2 * margin;
    const auto level_at = [&](const u16* column, int y) -> u32 {
        return y >= 0 && y < height ? column[static_cast<i64>(y) * stride] - lowest : kAll;
    };

    u32 next = kNone;  // the smallest level of the strip that isn't judged yet
    for (int y = y0; y < end; ++y) {
        const u32 level = level_at(centre, y);
        if (level < levels) next = min(next, level);
    }
    next = __reduce_min_sync(kAll, next);
    if (next == kNone) {
        for (int y = y0; y < end; ++y) map[static_cast<i64>(y) * pitch] = 0;
        return;
    }

    double sum = 0;  // exact: contrasts are whole numbers of 2^-24 and below 2^14, and these are few
    u32 found = 0;
    bool again = false;
    do {
        const u32 start = next;
        next = kNone;
        __syncwarp();
        for (int i = lane; i < Words * kLevels; i += 32) counts[i] = 0;
        __syncwarp();
        // Levels from `low` on have counts; those that are judged have all of theirs.
        const u32 low = start < margin ? 0 : start - margin;
        const u32 high = min(levels, start - margin + kLevels);
        const auto slot = [&](int k, u32 level) { return columns + (k * 8 * kLevels + level - (start - margin)) * 4; };
        const auto counted = [&](u32 level) { return level - low < high - low; };

        for (int y = max(y0 - radius, 0); y < min(y0 + radius, height); ++y)
#pragma unroll
            for (int k = 0; k < kOwn; ++k) {
                const u32 enters = level_at(left + 32 * k, y);
                if (counted(enters)) ++*slot(k, enters);
            }
        for (int y = y0; y < end; ++y) {
            u32 enters[kOwn], leaves[kOwn];
#pragma unroll
            for (int k = 0; k < kOwn; ++k) {
                enters[k] = level_at(left + 32 * k, y + radius);
                leaves[k] = y > y0 ? level_at(left + 32 * k, y - radius - 1) : kAll;
            }
#pragma unroll
            for (int k = 0; k < kOwn; ++k) {
                if (enters[k] == leaves[k]) continue;
                if (counted(enters[k])) ++*slot(k, enters[k]);
                if (counted(leaves[k])) --*slot(k, leaves[k]);
            }
            __syncwarp();
            const u32 level = level_at(centre, y);
            const bool mine = level < levels && level - start < judged;
            float contrast = 0;
            if (mine) contrast = steps.contrast(level, own + (level - (start - margin)), window);
            if (mine || (!again && level >= levels)) map[static_cast<i64>(y) * pitch] = contrast;
            if (level < levels && level >= start + judged) next = min(next, level);
            sum += static_cast<double>(contrast);
            found += contrast > 0;
            __syncwarp();
        }
        next = __reduce_min_sync(kAll, next);
        again = true;
    } while (next != kNone);

    const u64 units = warp_sum(static_cast<u64>(sum * kUnits));
    found = __reduce_add_sync(kAll, found);
    if (lane == 0 && found > 0) {
        Pool& pool = pools[blockIdx.z * kScales + number];
        add_parts(pool.sum, units);
        atomicAdd(&pool.found, found);
    }
}

}  // namespace
