#include <algorithm>
#include <bit>
#include <iterator>

#include "check/check.h"
#include "float_vif/float_vif.h"

namespace acuity::check {

namespace {

void push(Integers& out, float value) { out.push_back(std::bit_cast<std::uint32_t>(value)); }

void push(Integers& out, const Grid<float>& grid, int width, int height) {
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) push(out, grid.data[y * grid.stride + x]);
}

// Filled, so that reading uninitialised memory changes the result.
void check_scale(Session& session, const Pair& pair, double window_scale, int s, double noise) {
    const Plane ref = pair.ref.plane(), dis = pair.dis.plane();
    const FloatVifWindows windows(window_scale);
    if (std::min(ref.width, ref.height) < windows.smallest()) return;
    const bool last = s + 1 == kScales;
    OwnedGrid<float> ref_low(ref.width / 2, ref.height / 2), dis_low(ref.width / 2, ref.height / 2);
    const FloatVifScale scale = {FloatPicture::of(ref),
                                 FloatPicture::of(dis),
                                 windows.at[s].data(),
                                 static_cast<int>(windows.at[s].size()),
                                 true,
                                 last ? nullptr : windows.at[s + 1].data(),
                                 last ? 0 : static_cast<int>(windows.at[s + 1].size()),
                                 ref_low.grid.data,
                                 dis_low.grid.data,
                                 ref_low.grid.stride};
    const FloatVifNoise eye(noise);
    constexpr float kGains[] = {100.0f, 1.0f, 1.2f};
    session.run("float_vif", std::to_string(ref.depth) + " bit, " + std::to_string(scale.taps) + " taps, " + pair.pattern,
                ref.width, ref.height, [&](const Kernels& t, Integers* out) {
                    void* scratch = session.scratch(t.float_vif->scratch_bytes(ref.width, ref.height, scale.taps));
                    FloatVifSums sums;
                    const int gains = out == nullptr ? 1 : 3;
                    t.float_vif->scale(scale, eye, kGains, gains, scratch, sums);
                    if (out == nullptr) return;
                    for (int i = 0; i < gains; ++i) push(*out, sums.num[i]);
                    push(*out, sums.den);
                    if (last) return;
                    push(*out, ref_low.grid, ref.width / 2, ref.height / 2);
                    push(*out, dis_low.grid, ref.width / 2, ref.height / 2);
                });
}

void check_resample(Session& session, const Pair& pair, const char* method, int width, int height) {
    const Plane in = pair.ref.plane();
    const Resampling to(resampling_method(method), in.width, in.height, width, height);
    OwnedGrid<float> grid(width, height);
    session.run("resample", std::string(method) + ", " + pair.pattern, in.width, in.height,
                [&](const Kernels& t, Integers* out) {
                    void* scratch = session.scratch(t.float_vif->resample_bytes(in.width, in.height, width));
                    t.float_vif->resample(FloatPicture::of(in), to, scratch, grid.grid.data, grid.grid.stride);
                    if (out != nullptr) push(*out, grid.grid, width, height);
                });
}

}  // namespace

void check_float_vif(Session& session) {
    const Options& o = session.options;
    if (o.bench) {
        const Pair pair = natural_pair(o.width, o.height, o.depth, session.random);
        for (int s = 0; s < kScales; ++s) check_scale(session, pair, 1.0, s, 2.0);
        check_scale(session, pair, 1.5, 0, 2.0);
        check_resample(session, pair, "bicubic", o.width / 2, o.height / 2);
        return;
    }
    struct Variant {
        double window_scale, noise;
    };
    static constexpr Variant kVariants[] = {{1.0, 2.0}, {360.0 / 97, 0.7}, {0.5, 0.0}};
    int turn = 0;  // each pattern meets another variant at the next depth, as their number is no multiple of 3
    for (const Size& size : sizes(16, o, session.random)) {
        for (int depth : kDepths) {
            for (const Pair& pair : pairs(size.width, size.height, depth, session.random)) {
                const Variant& v = kVariants[turn++ % std::size(kVariants)];
                check_scale(session, pair, v.window_scale, static_cast<int>(session.random() % 4), v.noise);
            }
            const Pair pair = natural_pair(size.width, size.height, depth, session.random);
            for (const char* method : {"nearest", "bilinear", "bicubic", "lanczos4"})
                check_resample(session, pair, method, size.width * 2 / 3 + 1, size.height * 3 / 2);
        }
    }
}

}  // namespace acuity::check
