#include <bit>

#include "check/check.h"
#include "integer_ssim/table.h"

namespace acuity::check {

namespace {

void check_pair(Session& session, const Pair& pair) {
    const Plane ref = pair.ref.plane(), dis = pair.dis.plane();
    session.run("ssim_similarity", std::to_string(ref.depth) + " bit, " + pair.pattern, ref.width, ref.height,
                [&](const Kernels& t, Integers* out) {
                    void* scratch = session.scratch(t.integer_ssim->scratch_bytes(ref.width));
                    const double sum = t.integer_ssim->similarity(ref, dis, scratch);
                    if (out != nullptr) out->push_back(std::bit_cast<std::uint64_t>(sum));
                });
}

}  // namespace

void check_integer_ssim(Session& session) {
    const Options& o = session.options;
    if (o.bench) return check_pair(session, natural_pair(o.width, o.height, o.depth, session.random));
    for (const Size& size : sizes(1, o, session.random))
        for (int depth : kDepths)
            for (const Pair& pair : pairs(size.width, size.height, depth, session.random)) check_pair(session, pair);
}

}  // namespace acuity::check
