#include <algorithm>
#include <bit>
#include <iterator>

#include "check/check.h"
#include "ssim/table.h"

namespace acuity::check {

namespace {

void list(const Grid<float>& grid, int width, int height, Integers* out) {
    if (out == nullptr) return;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) out->push_back(std::bit_cast<std::uint32_t>(grid.data[y * grid.stride + x]));
}

// Five moments, three of which are products, filtered both ways: single precision by six different weights each time,
// converted to double, and added eleven times; then 20 operations in double precision.
Least statistic_least(int depth) {
    const double samples = depth == kSingle ? 4 : bytes_of(depth);
    return {2 * samples, 2 * (3 + 2 * 5 * 6), 4 * (2 * 5 * (6 + 11) + 20)};
}

void check_statistic(Session& session, const Plane& ref, const Plane& dis, const std::string& what) {
    session.run("ssim_statistic", what, ref.width, ref.height, [&](const Kernels& t, Integers* out) {
        SsimSums sums;
        t.ssim->statistic(ref, dis, session.scratch(t.ssim->scratch_bytes(ref.width)), sums);
        if (out == nullptr) return;
        for (double sum : {sums.luminance, sums.contrast, sums.structure, sums.ssim})
            out->push_back(std::bit_cast<std::uint64_t>(sum));
    }, statistic_least(ref.depth));
}

void check_halve(Session& session, const Plane& in, const std::string& what) {
    const int width = shrunk(in.width, 2), height = shrunk(in.height, 2);
    session.run("ssim_halve", what, in.width, in.height, [&](const Kernels& t, Integers* out) {
        const OwnedGrid<float> to(width, height);
        t.ssim->halve(in, session.scratch(t.ssim->scratch_bytes(in.width)), to.grid.data, to.grid.stride);
        list(to.grid, width, height, out);
    });
}

void check_shrink(Session& session, const Plane& in, int factor, const std::string& what) {
    const int width = shrunk(in.width, factor), height = shrunk(in.height, factor);
    const std::string by = " by " + std::to_string(factor);
    session.run("ssim_shrink", what + by, in.width, in.height, [&](const Kernels& t, Integers* out) {
        const OwnedGrid<float> to(width, height);
        t.ssim->shrink(in, factor, session.scratch(t.ssim->scratch_bytes(in.width)), to.grid.data, to.grid.stride);
        list(to.grid, width, height, out);
    });
}

// The pyramid's next picture: this one halved by the plain kernel.
Plane halved(Session& session, const Plane& in, const OwnedGrid<float>& to) {
    const SsimKernels& kernels = *plain::kernels.ssim;
    kernels.halve(in, session.scratch(kernels.scratch_bytes(in.width)), to.grid.data, to.grid.stride);
    return {to.grid.data, to.grid.stride_bytes(), shrunk(in.width, 2), shrunk(in.height, 2), kSingle};
}

void check_pair(Session& session, const Pair& pair) {
    const Plane ref = pair.ref.plane(), dis = pair.dis.plane();
    const std::string what = std::to_string(ref.depth) + " bit, " + pair.pattern;
    check_statistic(session, ref, dis, what);
    check_halve(session, ref, what);
    static constexpr int kFactors[] = {2, 3, 4, 7, 10};
    const int factor = kFactors[session.random() % std::size(kFactors)];
    if (std::min(ref.width, ref.height) >= factor) check_shrink(session, ref, factor, what);
    const int width = shrunk(ref.width, 2), height = shrunk(ref.height, 2);
    if (std::min(width, height) < kWindow) return;
    const OwnedGrid<float> ref_half(width, height), dis_half(width, height);
    const Plane coarse = halved(session, ref, ref_half), other = halved(session, dis, dis_half);
    check_statistic(session, coarse, other, what + ", halved");
    check_halve(session, coarse, what + ", halved");
}

}  // namespace

void check_ssim(Session& session) {
    const Options& o = session.options;
    if (o.bench) return check_pair(session, natural_pair(o.width, o.height, o.depth, session.random));
    for (const Size& size : sizes(kWindow, o, session.random))
        for (int depth : kDepths)
            for (const Pair& pair : pairs(size.width, size.height, depth, session.random)) check_pair(session, pair);
}

}  // namespace acuity::check
