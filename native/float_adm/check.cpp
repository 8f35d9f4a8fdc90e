#include <bit>

#include "check/check.h"
#include "float_adm/table.h"

namespace acuity::check {

namespace {

// Gain limits that single precision holds and one that it doesn't; cubes, another exponent, no masking.
constexpr FloatAdmWeights kSettings[] = {{0.0174f, 0.0059f, 100.0, 3.0, true, true},
                                         {0.03f, 0.02f, 1.2, 3.0, true, false},
                                         {0.03f, 0.02f, 1.0, 2.4, true, true},
                                         {1.0f, 3.0f, 1.1, 3.0, false, true}};

void push(Integers& out, const float (&values)[3]) {
    for (const float value : values) out.push_back(std::bit_cast<std::uint32_t>(value));
}

void check_pair(Session& session, const Pair& pair, bool bands) {
    const Plane ref = pair.ref.plane(), dis = pair.dis.plane();
    const int width = (ref.width + 1) / 2, height = (ref.height + 1) / 2;
    OwnedGrid<float> ref_low(width, height), dis_low(width, height);
    const FloatAdmScale scale = {FloatPicture::of(ref), FloatPicture::of(dis), bands,
                                 ref_low.grid.data, dis_low.grid.data, ref_low.grid.stride};
    session.run("float_adm", std::to_string(ref.depth) + " bit, " + pair.pattern, ref.width, ref.height,
                [&](const Kernels& t, Integers* out) {
                    const int count = out == nullptr ? 1 : 4;
                    void* scratch = session.scratch(t.float_adm->scratch_bytes(ref.width, ref.height, count));
                    FloatAdmSums sums[4];
                    t.float_adm->scale(scale, kSettings, count, scratch, sums);
                    if (out == nullptr) return;
                    for (const FloatAdmSums& s : sums) {
                        push(*out, s.reference);
                        push(*out, s.kept);
                        push(*out, s.impairment);
                    }
                    for (const auto& low : {ref_low.grid, dis_low.grid})
                        for (int y = 0; y < height; ++y)
                            for (int x = 0; x < width; ++x)
                                out->push_back(std::bit_cast<std::uint32_t>(low.data[y * low.stride + x]));
                });
}

}  // namespace

void check_float_adm(Session& session) {
    const Options& o = session.options;
    if (o.bench) return check_pair(session, natural_pair(o.width, o.height, o.depth, session.random), true);
    for (const Size& size : sizes(3, o, session.random))
        for (int depth : kDepths)
            for (const Pair& pair : pairs(size.width, size.height, depth, session.random)) {
                check_pair(session, pair, true);
                if (depth == 8) check_pair(session, pair, false);
            }
}

}  // namespace acuity::check
