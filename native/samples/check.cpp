#include "check/check.h"
#include "samples/table.h"

namespace acuity::check {

namespace {

void check_picture(Session& session, const Samples& picture, const std::string& pattern) {
    const Plane plane = picture.plane();
    session.run("bits", std::to_string(plane.depth) + " bit, " + pattern, plane.width, plane.height,
                [&](const Kernels& t, Integers* out) {
                    const std::uint32_t found = t.samples->bits(plane);
                    if (out != nullptr) out->push_back(found);
                });
}

}  // namespace

void check_samples(Session& session) {
    const Options& o = session.options;
    if (o.bench) return check_picture(session, natural_pair(o.width, o.height, o.depth, session.random).ref, "natural");
    for (const Size& size : sizes(1, o, session.random))
        for (int depth : kDepths)
            for (const Pair& pair : pairs(size.width, size.height, depth, session.random))
                check_picture(session, pair.ref, pair.pattern);
}

}  // namespace acuity::check
