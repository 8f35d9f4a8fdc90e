#include <bit>

#include "check/check.h"
#include "psnr_hvs/psnr_hvs.h"

namespace acuity::check {

namespace {

void check_pair(Session& session, const Pair& pair, int plane) {
    const Plane ref = pair.ref.plane(), dis = pair.dis.plane();
    session.run("psnr_hvs", std::to_string(ref.depth) + " bit, plane " + std::to_string(plane) + ", " + pair.pattern,
                ref.width, ref.height, [&](const Kernels& t, Integers* out) {
                    const double error = hvs_error(*t.psnr_hvs, ref, dis, plane);
                    if (out != nullptr) out->push_back(std::bit_cast<std::uint64_t>(error));
                });
}

}  // namespace

void check_psnr_hvs(Session& session) {
    const Options& o = session.options;
    if (o.bench && o.depth <= kHvsMostDepth)
        return check_pair(session, natural_pair(o.width, o.height, o.depth, session.random), 0);
    if (o.bench) return;
    int plane = 0;
    for (const Size& size : sizes(kHvsBlock, o, session.random))
        for (int depth : kDepths)
            if (depth <= kHvsMostDepth)
                for (const Pair& pair : pairs(size.width, size.height, depth, session.random))
                    check_pair(session, pair, plane++ % 3);
}

}  // namespace acuity::check
