// The largest of many contrasts, by counting instead of sorting.
#include <algorithm>
#include <bit>

#include "cambi/simd_kernels.h"

namespace acuity::ACUITY_ISA {

namespace {

using Sum = unsigned __int128;

// Positive floats are ordered as their bits are. A contrast is 0, or at least 0.5 and below 2^14.
constexpr std::uint32_t kLeast = 0x3f000000;  // 0.5
constexpr std::uint32_t kBound = 0x46800000;  // 2^14
constexpr int kFineBits = 16;                 // left out of a coarse bin
constexpr std::uint32_t kCoarseBins = (kBound - kLeast) >> kFineBits;
constexpr std::uint32_t kFineBins = 1u << kFineBits;
constexpr int kWays = 4;  // neighbours are often equal: separate counters avoid waiting for the same one

static_assert(kCambiBins >= kFineBins && kCambiBins >= kWays * (kCoarseBins + 1));

std::uint64_t in_units(std::uint32_t bits) { return static_cast<std::uint64_t>(std::bit_cast<float>(bits) * 0x1p24f); }

// The bin in which the count-th of the largest is, and its number there; bin 0 if there are fewer.
struct Place {
    std::uint32_t bin;
    std::int64_t number;

    Place(const std::uint32_t* bins, std::uint32_t size, std::int64_t count) : bin(size - 1), number(count) {
        for (; bin > 0 && bins[bin] < number; --bin) number -= bins[bin];
    }
};

// Bin 0 is for zeros.
void count_coarse(const std::uint32_t* list, std::int64_t listed, std::uint32_t* bins) {
    constexpr std::uint32_t size = kCoarseBins + 1;
    std::fill_n(bins, kWays * size, 0u);
    const auto bin = [](std::uint32_t bits) { return (bits < kLeast ? 0 : bits - (kLeast - kFineBins)) >> kFineBits; };
    std::int64_t i = 0;
    for (; i + kWays <= listed; i += kWays)
        for (int way = 0; way < kWays; ++way) ++bins[static_cast<std::uint32_t>(way) * size + bin(list[i + way])];
    for (; i < listed; ++i) ++bins[bin(list[i])];
    for (std::uint32_t b = 0; b < size; ++b)
        for (std::uint32_t way = 1; way < kWays; ++way) bins[b] += bins[way * size + b];
}

// Sums all from `high` on; what lies from `low` up to that goes to the front of the list, with zeros between.
std::int64_t sum_above(std::uint32_t* list, std::int64_t listed, std::uint32_t low, std::uint32_t high, Sum& sum) {
    constexpr std::int64_t kExact = 4096;  // so many contrasts have an exact sum in every lane
    std::int64_t kept = 0;
    for (std::int64_t start = 0; start < listed; start += kExact) {
        const std::int64_t end = std::min(start + kExact, listed);
        F64 part{};
        for (std::int64_t i = start; i < end; i += kLanes32) {
            const I32 bits = load<I32>(list + i);
            const I32 above = bits >= static_cast<std::int32_t>(high);
            const F64x2 wide = to_f64(as<F32>(bits & above));
            part += wide.lo + wide.hi;
            kept += append_nonzero(reinterpret_cast<std::int32_t*>(list) + kept,
                                   bits & ~above & (bits >= static_cast<std::int32_t>(low)));
        }
        for (int i = 0; i < kLanes64; ++i) sum += static_cast<std::uint64_t>(part[i] * 0x1p24);
    }
    return kept;
}

}  // namespace

unsigned __int128 cambi_largest(std::uint32_t* list, std::int64_t listed, std::int64_t count, std::uint32_t* bins) {
    std::fill_n(list + listed, kLanes32, 0u);
    count_coarse(list, listed, bins);
    const Place coarse(bins, kCoarseBins + 1, count);
    const std::int64_t there = bins[coarse.bin];
    const std::uint32_t low = coarse.bin == 0 ? kLeast : kLeast + ((coarse.bin - 1) << kFineBits);
    const std::uint32_t high = coarse.bin == 0 ? kLeast : low + kFineBins;
    Sum sum = 0;
    const std::int64_t kept = sum_above(list, listed, low, high, sum);
    if (coarse.bin == 0) return sum;

    std::fill_n(bins, kFineBins, 0u);
    std::for_each(list, list + kept, [bins](std::uint32_t bits) { ++bins[bits % kFineBins]; });
    bins[0] -= static_cast<std::uint32_t>(kept - there);  // the zeros between
    const Place fine(bins, kFineBins, coarse.number);
    for (std::uint32_t b = fine.bin + 1; b < kFineBins; ++b) sum += Sum{bins[b]} * in_units(low + b);
    return sum + static_cast<std::uint64_t>(fine.number) * Sum{in_units(low + fine.bin)};
}

}  // namespace acuity::ACUITY_ISA
