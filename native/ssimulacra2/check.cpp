#include <bit>

#include "check/check.h"
#include "ssimulacra2/ssimulacra2.h"

namespace acuity::check {

namespace {

// Limited-range BT.709 with a plain power as the curve: what numbers exactly doesn't matter here.
Ssimulacra2Colour some_colour(int depth) {
    const double luma = 219.0 * (1 << (depth - 8)), chroma = 224.0 * (1 << (depth - 8));
    Ssimulacra2Colour colour;
    colour.black = 16 << (depth - 8);
    colour.luma = 1.0 / luma;
    colour.red_v = 1.5748 / chroma, colour.blue_u = 1.8556 / chroma;
    colour.green_u = -0.1873 / chroma, colour.green_v = -0.4681 / chroma;
    colour.mix = {0.3f, 0.622f, 0.078f, 0.23f, 0.692f, 0.078f, 0.2434f, 0.2048f, 0.5518f};
    for (int i = 0; i <= ssimulacra2::kCurve; ++i) {
        const float x = static_cast<float>(i) / ssimulacra2::kCurve;
        colour.curve.push_back(x * x);
    }
    return colour;
}

// Whole scores: every kernel's every bit is in them. `planes` 1: luma alone, 3: chroma of the second picture's size.
void check_score(Session& session, const Pair& luma, const Pair& chroma, int planes) {
    const Plane ref[3] = {luma.ref.plane(), chroma.ref.plane(), chroma.dis.plane()};
    const Plane dis[3] = {luma.dis.plane(), chroma.dis.plane(), chroma.dis.plane()};
    const auto workspace = std::make_shared<Workspace>();
    const bool colour = planes == 3;
    session.run("ssimulacra2", std::to_string(ref[0].depth) + " bit, " + luma.pattern, ref[0].width, ref[0].height,
                [&](const Kernels& t, Integers* out) {
                    const Ssimulacra2 metric(workspace, t, ref[0].width, ref[0].height, ref[0].depth,
                                             colour ? ref[1].width : 0, colour ? ref[1].height : 0,
                                             some_colour(ref[0].depth));
                    const double score = metric.run(ref, dis);
                    if (out != nullptr) out->push_back(std::bit_cast<std::uint64_t>(score));
                });
}

}  // namespace

void check_ssimulacra2(Session& session) {
    const Options& o = session.options;
    if (o.bench) {
        const Pair luma = natural_pair(o.width, o.height, o.depth, session.random);
        const Pair chroma = natural_pair(o.width / 2, o.height / 2, o.depth, session.random);
        return check_score(session, luma, chroma, 3);
    }
    // Few of all combinations, since plain is slow: 4:2:0, 4:2:2, 4:4:4, 4:0:0 and 4:2:0 rounded down, all depths
    // and a fourth of the patterns, in turn.
    int turn = 0;
    for (const Size& size : sizes(Ssimulacra2::kMinSize, o, session.random)) {
        const int depth = kDepths[turn % 4], kind = turn % 5, round = kind == 4 ? 0 : 1;
        const int width = kind == 2 ? size.width : (size.width + round) / 2;
        const int height = kind == 1 || kind == 2 ? size.height : (size.height + round) / 2;
        const std::vector<Pair> luma = pairs(size.width, size.height, depth, session.random);
        const std::vector<Pair> chroma = pairs(width, height, depth, session.random);
        for (std::size_t i = static_cast<std::size_t>(turn + turn / 4) % 4; i < luma.size(); i += 4)
            check_score(session, luma[i], chroma[(i + 1) % chroma.size()], kind == 3 ? 1 : 3);
        ++turn;
    }
}

}  // namespace acuity::check
