#include "check/check.h"
#include "xpsnr/table.h"
#include "xpsnr/xpsnr.h"

namespace acuity::check {

namespace {

// One sum of the reference against the distorted picture, taken as the ones before it.
using Sum = std::function<std::uint64_t(const XpsnrKernels&)>;

void check_sum(Session& session, const std::string& kernel, const Pair& pair, const Sum& sum) {
    const Plane plane = pair.ref.plane();
    session.run(kernel, std::to_string(plane.depth) + " bit, " + pair.pattern, plane.width, plane.height,
                [&](const Kernels& t, Integers* out) {
                    const std::uint64_t value = sum(*t.xpsnr);
                    if (out != nullptr) out->push_back(value);
                });
}

void check_sums(Session& session, const Pair& pair, const Pair& older) {
    const Plane now = pair.ref.plane(), before = pair.dis.plane(), earlier = older.dis.plane();
    const int w = now.width, h = now.height;
    const XpsnrArea all = {0, 0, w, h}, inner = {1, 1, w - 1, h - 1};
    const XpsnrArea squares = {2, 2, w - 3, h - 3}, even = {0, 0, w & ~1, h & ~1};
    const auto run = [&](const char* kernel, const Sum& sum) { check_sum(session, kernel, pair, sum); };
    run("xpsnr_change", [&](const XpsnrKernels& k) { return k.change(now, before, all); });
    run("xpsnr_bend", [&](const XpsnrKernels& k) { return k.bend(now, before, earlier, all); });
    run("xpsnr_change_halved", [&](const XpsnrKernels& k) { return k.change_halved(now, before, even); });
    run("xpsnr_bend_halved", [&](const XpsnrKernels& k) { return k.bend_halved(now, before, earlier, even); });
    if (w > 2 && h > 2) run("xpsnr_texture", [&](const XpsnrKernels& k) { return k.texture(now, inner); });
    if (w > 5 && h > 5)
        run("xpsnr_texture_halved", [&](const XpsnrKernels& k) { return k.texture_halved(now, squares); });
}

// The whole figure: luma alone, all planes as if they were 4:4:4, slow and fast pictures.
void check_whole(Session& session, const Pair& pair, bool fast) {
    const Plane ref = pair.ref.plane(), dis = pair.dis.plane();
    const Plane planes[2][3] = {{ref, ref, dis}, {dis, dis, dis}};
    session.run("xpsnr", std::to_string(ref.depth) + " bit, " + pair.pattern, ref.width, ref.height,
                [&](const Kernels& t, Integers* out) {
                    Xpsnr xpsnr(t, {ref.width, ref.height, ref.depth, ref.width, ref.height, fast});
                    std::uint64_t errors[3];
                    xpsnr.run(planes[0], planes[1], fast ? &dis : nullptr, nullptr, errors);
                    if (out != nullptr) out->insert(out->end(), errors, errors + 3);
                });
}

}  // namespace

void check_xpsnr(Session& session) {
    const Options& o = session.options;
    if (o.bench) {
        const Pair pair = natural_pair(o.width, o.height, o.depth, session.random);
        check_sums(session, pair, pair);
        return check_whole(session, pair, true);
    }
    for (const Size& size : sizes(1, o, session.random))
        for (int depth : kDepths) {
            const std::vector<Pair> all = pairs(size.width, size.height, depth, session.random);
            for (const Pair& pair : all) {
                check_sums(session, pair, all.front());
                for (bool fast : {false, true}) check_whole(session, pair, fast);
            }
        }
    // Larger than HD, with a narrow last column of blocks.
    check_whole(session, natural_pair(2700, 1000, 8, session.random), true);
}

}  // namespace acuity::check
