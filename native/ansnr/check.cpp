#include <bit>

#include "ansnr/table.h"
#include "check/check.h"

namespace acuity::check {

namespace {

void check_pair(Session& session, const Pair& pair) {
    const Plane ref = pair.ref.plane(), dis = pair.dis.plane();
    session.run("ansnr", std::to_string(ref.depth) + " bit, " + pair.pattern, ref.width, ref.height,
                [&](const Kernels& t, Integers* out) {
                    AnsnrSums sums;
                    t.ansnr->sums(ref, dis, session.scratch(ansnr_scratch_bytes(ref.width)), sums);
                    if (out == nullptr) return;
                    out->push_back(std::bit_cast<std::uint32_t>(sums.signal));
                    out->push_back(std::bit_cast<std::uint32_t>(sums.noise));
                });
}

}  // namespace

void check_ansnr(Session& session) {
    const Options& o = session.options;
    if (o.bench) return check_pair(session, natural_pair(o.width, o.height, o.depth, session.random));
    for (const Size& size : sizes(kAnsnrMinSize, o, session.random))
        for (int depth : kDepths)
            for (const Pair& pair : pairs(size.width, size.height, depth, session.random)) check_pair(session, pair);
}

}  // namespace acuity::check
