#include <bit>
#include <iterator>

#include "check/check.h"
#include "ciede/ciede.h"

namespace acuity::check {

namespace {

struct Layout {
    const char* name;
    ChromaShift shift;
    bool half_columns, half_rows;  // of the chroma planes
    bool round_up;
};

// libvmaf's way with each layout: 4:2:2 is read as if its rows were halved.
constexpr Layout kLayouts[] = {
    {"4:2:0", {1, 1}, true, true, true},
    {"4:2:0 rounded down", {1, 1}, true, true, false},
    {"4:2:2", {0, 1}, true, false, true},
    {"4:4:4", {0, 0}, false, false, true},
};

void check_pair(Session& session, const Pair& luma, const Pair& cb, const Pair& cr, const Layout& layout) {
    const Plane ref[3] = {luma.ref.plane(), cb.ref.plane(), cr.ref.plane()};
    const Plane dis[3] = {luma.dis.plane(), cb.dis.plane(), cr.dis.plane()};
    const int width = ref[0].width, height = ref[0].height;
    session.run("ciede", std::to_string(ref[0].depth) + " bit " + layout.name + ", " + luma.pattern, width, height,
                [&, workspace = std::make_shared<Workspace>()](const Kernels& t, Integers* out) {
                    const double sum = Ciede(workspace, t, width).run(ref, dis, layout.shift);
                    if (out != nullptr) out->push_back(std::bit_cast<std::uint64_t>(sum));
                });
}

Size chroma_size(const Layout& layout, int width, int height) {
    const auto half = [&](int side, bool halved) { return halved ? (side + layout.round_up) / 2 : side; };
    return {half(width, layout.half_columns), half(height, layout.half_rows)};
}

}  // namespace

void check_ciede(Session& session) {
    const Options& o = session.options;
    if (o.bench) {
        const auto pair = [&](int divisor) {
            return natural_pair(o.width / divisor, o.height / divisor, o.depth, session.random);
        };
        return check_pair(session, pair(1), pair(2), pair(2), kLayouts[0]);
    }
    int turn = 0;  // depths take turns: plain is slow
    for (const Size& size : sizes(1, o, session.random))
        for (const Layout& layout : kLayouts) {
            const int depth = kDepths[turn++ * 5 / 4 % std::size(kDepths)];
            const Size chroma = chroma_size(layout, size.width, size.height);
            if (chroma.width == 0 || chroma.height == 0) continue;
            const auto luma = pairs(size.width, size.height, depth, session.random);
            const auto cb = pairs(chroma.width, chroma.height, depth, session.random);
            for (std::size_t i = 0; i < luma.size(); ++i)
                check_pair(session, luma[i], cb[i], cb[(i + 1) % cb.size()], layout);
        }
}

}  // namespace acuity::check
