#include "check/check.h"
#include "motion/table.h"

namespace acuity::check {

namespace {

// A difference of words, five products down and five across, shifted and rounded each time, and a magnitude added up.
Least least(int depth) { return {2.0 * bytes_of(depth), 10, 1 + 2 * 2 + 2 * 2}; }

void check_pair(Session& session, const Pair& pair) {
    const Plane before = pair.ref.plane(), now = pair.dis.plane();
    session.run("motion_sad", std::to_string(now.depth) + " bit, " + pair.pattern, now.width, now.height,
                [&](const Kernels& t, Integers* out) {
                    const std::uint64_t sad = t.motion->sad(before, now, session.scratch(t.motion->scratch_bytes(now.width)));
                    if (out != nullptr) out->push_back(sad);
                }, least(now.depth));
}

}  // namespace

void check_motion(Session& session) {
    const Options& o = session.options;
    if (o.bench) return check_pair(session, natural_pair(o.width, o.height, o.depth, session.random));
    for (const Size& size : sizes(3, o, session.random))
        for (int depth : kDepths)
            for (const Pair& pair : pairs(size.width, size.height, depth, session.random)) check_pair(session, pair);
}

}  // namespace acuity::check
