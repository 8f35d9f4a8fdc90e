// log2 in steps of 1/2048, as VIF's fixed-point arithmetic defines it: for x >= 2^16 the upper 16
// bits i of x (32768 <= i < 65536) give round(log2f(i) * 2048), plus 2048 for each bit dropped.
//
// Both forms are made outside the per-instruction-set sources: start-up code must run on every machine.
#pragma once

#include <cstdint>

namespace acuity {

// The whole table, for the plain twin: [i] is log2(32768 + i) in 1/2048, for i in 0..32767.
const std::uint16_t* log2_table();

// The same for the fast path, less log2(32768). The whole table is larger than a first-level cache. But log2 climbs
// less than one step in eight entries, so each group of eight is a base and the place where it steps up, folded into
// one number: log2(group, place) - kLog2Least = (entry[group] + place) >> 3.
constexpr std::int32_t kLog2Least = 15 * 2048;
struct Log2Steps {
    std::uint16_t entry[4096];  // 8 * base + 8 - (first place, 1..8, that is base + 1)
};
extern const Log2Steps log2_steps;

}  // namespace acuity
