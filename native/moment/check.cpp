#include "check/check.h"
#include "moment/table.h"

namespace acuity::check {

namespace {

void check_pair(Session& session, const Pair& pair) {
    const Plane ref = pair.ref.plane(), dis = pair.dis.plane();
    const std::string what = std::to_string(ref.depth) + " bit, " + pair.pattern;
    session.run("moments", what, ref.width, ref.height, [&](const Kernels& t, Integers* out) {
        const Moments found = t.moment->moments(ref);
        if (out != nullptr) out->insert(out->end(), {found.sum, found.squares});
    });
    if (ref.depth <= 12) return;
    session.run("rounded_error", what, ref.width, ref.height, [&](const Kernels& t, Integers* out) {
        const std::uint64_t sum = t.moment->rounded_error(ref, dis);
        if (out != nullptr) out->push_back(sum);
    });
}

}  // namespace

void check_moment(Session& session) {
    const Options& o = session.options;
    if (o.bench) return check_pair(session, natural_pair(o.width, o.height, o.depth, session.random));
    for (const Size& size : sizes(1, o, session.random))
        for (int depth : kDepths)
            for (const Pair& pair : pairs(size.width, size.height, depth, session.random)) check_pair(session, pair);
}

}  // namespace acuity::check
