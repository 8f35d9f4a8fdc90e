#include "check/check.h"
#include "signature/table.h"

namespace acuity::check {

namespace {

void check_picture(Session& session, const Samples& picture, const std::string& pattern) {
    const Plane luma = picture.plane();
    const CellGrid grid{std::min(96, luma.width), std::min(54, luma.height)};
    session.run("cell_sums", std::to_string(luma.depth) + " bit, " + pattern, luma.width, luma.height,
                [&](const Kernels& t, Integers* out) {
                    Integers sums(static_cast<std::size_t>(grid.columns) * grid.rows);
                    t.signature->cell_sums(luma, grid, sums.data());
                    if (out != nullptr) out->insert(out->end(), sums.begin(), sums.end());
                });
}

}  // namespace

void check_signature(Session& session) {
    const Options& o = session.options;
    if (o.bench) return check_picture(session, natural_pair(o.width, o.height, o.depth, session.random).ref, "natural");
    std::vector<Size> tried = sizes(1, o, session.random);
    tried.insert(tried.end(), {{5000, 3}, {70, 1100}, {1, 600}});  // several chunks, rows left out, one column
    for (const Size& size : tried)
        for (int depth : kDepths)
            for (const Pair& pair : pairs(size.width, size.height, depth, session.random))
                check_picture(session, pair.ref, pair.pattern);
}

}  // namespace acuity::check
