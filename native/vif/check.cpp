#include <deque>

#include "check/check.h"
#include "vif/table.h"

namespace acuity::check {

namespace {

constexpr double kGains[kMaxGains] = {100.0, 1.0, 1.2, 37.5};

void statistic(const VifKernels& kernels, void* scratch, const VifLevel& level, int n_gains, Integers* out) {
    VifSums sums;
    kernels.statistic(level, kGains, n_gains, scratch, sums);
    if (out == nullptr) return;
    for (std::int64_t sum : {sums.den_log, sums.num_flat, sums.den_flat}) out->push_back(static_cast<std::uint64_t>(sum));
    for (int g = 0; g < n_gains; ++g) out->push_back(static_cast<std::uint64_t>(sums.num_log[g]));
}

void decimate(const VifKernels& kernels, void* scratch, const Plane& in, int scale, const Grid<std::uint16_t>& to,
              Integers* out) {
    kernels.decimate(in, scale, scratch, to.data, to.stride_bytes());
    if (out == nullptr) return;
    for (int y = 0; y < in.height / 2; ++y)
        for (int x = 0; x < in.width / 2; ++x) out->push_back(to.data[y * to.stride + x]);
}

// Filters of 17, 9, 5 and 3 taps: down on two means and three products, which are made first, and across on two rows of
// means and three of sums in two words each. Statistics: five operations of 32 bits on the moments, and as many divisions,
// logarithms and operations in double precision as the table of docs/speed.md says, 80 registers for 16 pixels.
Least statistic_least(int scale, int depth) {
    static constexpr int kTaps[kScales] = {17, 9, 5, 3};
    return {2.0 * (scale == 0 ? bytes_of(depth) : 2), 3 + 13.0 * kTaps[scale], 80.0 * 32 / 16};
}

// Walks a pair down the scales, checking both kernels at each.
void walk(Session& session, const Pair& pair, int n_gains) {
    const VifKernels& plain = *plain::kernels.vif;
    VifLevel level = {pair.ref.plane(), pair.dis.plane(), 0};
    const int depth = level.ref.depth;
    std::deque<OwnedGrid<std::uint16_t>> grids;
    for (int scale = 0; scale < kScales; ++scale) {
        const int width = level.ref.width, height = level.ref.height;
        const std::string what = "scale " + std::to_string(scale) + ", " + std::to_string(depth) + " bit, " +
                                 std::to_string(n_gains) + " gains, " + pair.pattern;
        session.run("vif_statistic", what, width, height,
                    [&](const Kernels& t, Integers* out) {
                        statistic(*t.vif, session.scratch(t.vif->scratch_bytes(width, height)), level, n_gains, out);
                    }, statistic_least(scale, depth));
        if (scale == kScales - 1) break;
        const Grid<std::uint16_t> spare = grids.emplace_back(width / 2, height / 2).grid;
        session.run("vif_decimate", what, width, height, [&](const Kernels& t, Integers* out) {
            decimate(*t.vif, session.scratch(t.vif->scratch_bytes(width, height)), level.ref, scale, spare, out);
        });

        // The next scale always starts from the plain output.
        void* scratch = session.scratch(plain.scratch_bytes(width, height));
        const Grid<std::uint16_t> ref = grids.emplace_back(width / 2, height / 2).grid;
        const Grid<std::uint16_t> dis = grids.emplace_back(width / 2, height / 2).grid;
        plain.decimate(level.ref, scale, scratch, ref.data, ref.stride_bytes());
        plain.decimate(level.dis, scale, scratch, dis.data, dis.stride_bytes());
        level = {{ref.data, ref.stride_bytes(), width / 2, height / 2, depth},
                 {dis.data, dis.stride_bytes(), width / 2, height / 2, depth},
                 scale + 1};
    }
}

// Every mantissa of 16 bits at every exponent, with the bits that don't count all 0 and all 1.
void check_logarithms(Session& session) {
    std::vector<std::uint32_t> x;
    for (std::uint32_t shift = 1; shift < 16; ++shift)
        for (std::uint32_t i = 32768; i < 65536; ++i)
            for (const std::uint32_t rest : {0u, (1u << shift) - 1}) x.push_back(i << shift | rest);
    std::vector<std::int32_t> logs(x.size());
    session.run("vif_log2", "all", static_cast<int>(x.size()), 1, [&](const Kernels& t, Integers* out) {
        t.vif->logarithms(x.data(), static_cast<int>(x.size()), logs.data());
        if (out != nullptr) out->assign(logs.begin(), logs.end());
    });
}

}  // namespace

void check_vif(Session& session) {
    const Options& o = session.options;
    if (o.bench) {
        const Pair pair = natural_pair(o.width, o.height, o.depth, session.random);
        walk(session, pair, 1);
        walk(session, pair, 2);
        check_logarithms(session);
        return;
    }
    check_logarithms(session);
    for (const Size& size : sizes(16, o, session.random))
        for (int depth : kDepths)
            for (const Pair& pair : pairs(size.width, size.height, depth, session.random))
                walk(session, pair, 1 + static_cast<int>(session.random() % kMaxGains));
}

}  // namespace acuity::check
