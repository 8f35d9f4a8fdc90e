#include <bit>

#include "check/check.h"
#include "float_motion/table.h"

namespace acuity::check {

namespace {

constexpr float kBlurs[3][5] = {{1.0f}, {0.17f, 0.66f, 0.17f}, {0.054488685f, 0.244201342f, 0.402619947f, 0.244201342f, 0.054488685f}};

void check_pair(Session& session, const Pair& pair, int taps, bool kept) {
    const Plane before = pair.ref.plane(), now = pair.dis.plane();
    OwnedGrid<float> blurred[2] = {{now.width, now.height}, {now.width, now.height}};
    FloatMotionPair compared = {FloatPicture::of(before), FloatPicture::of(now), kBlurs[taps / 2], taps};
    if (kept) {
        compared.before_blurred = blurred[0].grid.data;
        compared.now_blurred = blurred[1].grid.data;
        compared.stride = blurred[0].grid.stride;
    }
    session.run("float_motion", std::to_string(now.depth) + " bit, " + std::to_string(taps) + " taps, " + pair.pattern,
                now.width, now.height, [&](const Kernels& t, Integers* out) {
                    void* scratch = session.scratch(t.float_motion->scratch_bytes(now.width, now.height));
                    const float sad = t.float_motion->sad(compared, scratch);
                    if (out == nullptr) return;
                    out->push_back(std::bit_cast<std::uint32_t>(sad));
                    for (int y = 0; kept && y < now.height; ++y)
                        for (int x = 0; x < now.width; ++x)
                            for (const auto& picture : blurred)
                                out->push_back(std::bit_cast<std::uint32_t>(picture.grid.data[y * compared.stride + x]));
                });
}

}  // namespace

void check_float_motion(Session& session) {
    const Options& o = session.options;
    if (o.bench) return check_pair(session, natural_pair(o.width, o.height, o.depth, session.random), 5, false);
    for (const Size& size : sizes(3, o, session.random))
        for (int depth : kDepths)
            for (const Pair& pair : pairs(size.width, size.height, depth, session.random))
                for (int taps : {1, 3, 5}) check_pair(session, pair, taps, session.random() % 2 != 0);
}

}  // namespace acuity::check
