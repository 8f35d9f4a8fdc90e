// The largest of many contrasts, by counting instead of sorting.
#include <algorithm>
#include <bit>

#include "cambi/cambi.h"

namespace acuity {

namespace {

using Sum = unsigned __int128;

// Positive floats are ordered as their bits are. A contrast is 0, or at least 0.5 and below 2^14.
constexpr std::uint32_t kLeast = 0x3f000000;   // 0.5
constexpr std::uint32_t kBound = 0x46800000;   // 2^14
constexpr int kCoarse = 16;                    // bits left out of a coarse bin
constexpr std::uint32_t kCoarseBins = ((kBound - kLeast) >> kCoarse) + 1;  // and one for 0
constexpr std::uint32_t kFineBins = 1u << kCoarse;

std::uint32_t coarse(std::uint32_t bits) { return bits < kLeast ? 0 : ((bits - kLeast) >> kCoarse) + 1; }

std::uint64_t in_units(std::uint32_t bits) {
    return static_cast<std::uint64_t>(std::bit_cast<float>(bits) * 0x1p24f);
}

// The bin in which the count-th of the largest is; `count` becomes its number within the bin.
std::uint32_t bin_of(const std::uint32_t* bins, std::uint32_t size, std::int64_t& count) {
    std::uint32_t bin = size - 1;
    for (; bin > 0 && bins[bin] < count; --bin) count -= bins[bin];
    return bin;
}

}  // namespace

static_assert(kCambiBins >= kCoarseBins && kCambiBins >= kFineBins);

double cambi_mean_of_largest(std::uint32_t* list, std::int64_t listed, std::int64_t count, std::uint32_t* bins) {
    const std::int64_t wanted = count;
    std::fill_n(bins, kCoarseBins, 0u);
    std::for_each(list, list + listed, [&](std::uint32_t bits) { ++bins[coarse(bits)]; });
    const std::uint32_t bin = bin_of(bins, kCoarseBins, count);

    Sum sum = 0;
    std::int64_t same = 0;  // contrasts in that bin, moved to the front
    for (std::int64_t i = 0; i < listed; ++i) {
        const std::uint32_t bits = list[i], its = coarse(bits);
        if (its > bin) sum += in_units(bits);
        list[same] = bits;
        same += its == bin;
    }
    if (bin > 0) {
        std::fill_n(bins, kFineBins, 0u);
        std::for_each(list, list + same, [&](std::uint32_t bits) { ++bins[bits % kFineBins]; });
        std::int64_t left = count;
        const std::uint32_t least = bin_of(bins, kFineBins, left);
        const std::uint32_t upper = kLeast + ((bin - 1) << kCoarse);
        for (std::uint32_t fine = least + 1; fine < kFineBins; ++fine) sum += Sum{bins[fine]} * in_units(upper + fine);
        sum += Sum(static_cast<std::uint64_t>(left)) * in_units(upper + least);
    }
    return static_cast<double>(sum) / 0x1p24 / static_cast<double>(wanted);
}

}  // namespace acuity
