#include <algorithm>
#include <deque>
#include <iterator>

#include "adm/table.h"
#include "check/check.h"

namespace acuity::check {

namespace {

struct Setting {
    const char* name;
    std::uint32_t straight0, diagonal0;  // factors of scale 0
    double above;                        // of the scales above, in 1
    int n_gains;
    double gains[kMaxGains];
    bool aim;
};

// The default screen with one gain limit and with several, then factors at both ends of their range.
constexpr Setting kSettings[] = {
    {"default", 36453, 49417, 0.04, 1, {100.0}, true},
    {"two models", 36453, 49417, 0.04, 2, {100.0, 1.0}, true},
    {"four gains", 36453, 49417, 0.03, 4, {1.2, 100.0, 1.0, 37.5}, true},
    {"no aim", 36453, 49417, 0.04, 1, {100.0}, false},
    {"far", 193, 420, 0.0001, 1, {1.0}, true},
    {"near", 65535, 65535, 0.9999, 2, {100.0, 3.0}, true},
};

AdmScale scale_of(const Setting& s, int scale, int width, int height, int depth) {
    AdmScale out = {scale, width, height, depth, {}, {}, s.n_gains, true, s.aim};
    std::copy_n(s.gains, s.n_gains, out.gains);
    const auto above = static_cast<std::uint32_t>(s.above * 4294967296.0);
    out.rfactor[0] = out.rfactor[1] = scale == 0 ? s.straight0 : above;
    out.rfactor[2] = scale == 0 ? s.diagonal0 : above / 2;
    return out;
}

// For each of two pictures four taps of two filters down, at every other row, and four bands of four taps across, at a
// quarter of the places; above scale 0 twice, as values there take two words. Of the coefficients, a quarter of the
// pixels, 64 % are summed: their direction takes 14 operations, sharing and cubing those of three bands 14 each, and
// each masking 5 and 16 a band. At scale 0 they are words, but for squares and cubes, and above twice as wide.
Least least(const AdmScale& s) {
    const double samples = s.scale == 0 ? bytes_of(s.depth) : s.scale == 1 ? 2 : 4;
    const double wide = s.scale == 0 ? 1 : 2, maskings = s.bands ? s.n_gains * (s.aim ? 2 : 1) : 0;
    const double places = s.bands ? 0.64 / 4 * (14 + 3 * 14 + (5 + 3 * 16) * maskings) : 0;
    return {2 * samples, 16 * wide, places * wide};
}

template <class Sample>
void append_low(const void* low, std::ptrdiff_t stride, int width, int height, Integers& out) {
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x)
            out.push_back(static_cast<std::uint64_t>(std::int64_t{static_cast<const Sample*>(low)[y * stride + x]}));
}

void one_scale(Session& session, const AdmKernels& kernels, const AdmScale& s, const AdmInput& in, const AdmLow& low,
               Integers* out) {
    AdmSums sums;
    kernels.scale(s, in, session.scratch(kernels.scratch_bytes(s.width, s.height)), low, sums);
    if (out == nullptr) return;
    if (s.bands) {
        out->insert(out->end(), sums.den, sums.den + 3);
        for (int g = 0; g < s.n_gains; ++g)
            for (int b = 0; b < 3; ++b) {
                out->push_back(static_cast<std::uint64_t>(sums.num[g][b]));
                if (s.aim) out->push_back(static_cast<std::uint64_t>(sums.aim[g][b]));
            }
    }
    const int width = (s.width + 1) / 2, height = (s.height + 1) / 2;
    if (s.scale == kScales - 1) return;  // the last low-pass band is not used
    const auto append = s.scale == 0 ? append_low<AdmLowSample<0>> : append_low<AdmLowSample<1>>;
    for (const void* band : {low.ref, low.dis}) append(band, low.stride, width, height, *out);
}

// Walks down the scales from `in`, the input of scale `first`.
void walk(Session& session, AdmInput in, int first, int width, int height, int depth, const Setting& setting,
          bool skip_first, const std::string& pattern) {
    std::deque<OwnedGrid<std::int32_t>> grids;
    std::deque<OwnedGrid<std::int16_t>> word_grids;
    for (int scale = first; scale < kScales; ++scale) {
        AdmScale s = scale_of(setting, scale, width, height, depth);
        s.bands = scale > first || !skip_first;
        const std::string what = "scale " + std::to_string(scale) + ", " + std::to_string(depth) + " bit, " +
                                 setting.name + (s.bands ? ", " : ", low only, ") + pattern;
        width = (width + 1) / 2;
        height = (height + 1) / 2;
        const auto low_in = [&](auto& of) -> AdmLow {
            const auto ref = of.emplace_back(width, height).grid, dis = of.emplace_back(width, height).grid;
            return {ref.data, dis.data, ref.stride};
        };
        const AdmLow low = scale == 0 ? low_in(word_grids) : low_in(grids);
        session.run("adm_scale", what, s.width, s.height, [&](const Kernels& t, Integers* out) {
            one_scale(session, *t.adm, s, in, low, out);
        }, least(s));

        // The next scale always starts from the plain table's output.
        one_scale(session, *plain::kernels.adm, s, in, low, nullptr);
        in.ref_low = low.ref;
        in.dis_low = low.dis;
        in.low_stride = low.stride;
    }
}

void walk_pair(Session& session, const Pair& pair, const Setting& setting, bool skip_scale0) {
    const Plane ref = pair.ref.plane();
    walk(session, {ref, pair.dis.plane(), nullptr, nullptr, 0}, 0, ref.width, ref.height, ref.depth, setting,
         skip_scale0, pair.pattern);
}

// Scale 1 fed with coefficients as large as scale 0 can make them, in every combination of signs.
void walk_extreme_bands(Session& session, const Size& size, const Setting& setting) {
    constexpr std::int16_t kLargest = 23000;
    OwnedGrid<std::int16_t> ref(size.width, size.height), dis(size.width, size.height);
    for (int y = 0; y < size.height; ++y) {
        for (int x = 0; x < size.width; ++x) {
            const auto at = y * ref.grid.stride + x;
            ref.grid.data[at] = session.random() & 1 ? kLargest : std::int16_t{-kLargest};
            dis.grid.data[at] = session.random() & 1 ? kLargest : std::int16_t{-kLargest};
        }
    }
    walk(session, {{}, {}, ref.grid.data, dis.grid.data, ref.grid.stride}, 1, size.width, size.height, 8, setting,
         false, "extreme bands");
}

}  // namespace

void check_adm(Session& session) {
    const Options& o = session.options;
    if (o.bench) {
        const Pair pair = natural_pair(o.width, o.height, o.depth, session.random);
        for (const Setting& setting : {kSettings[0], kSettings[1], kSettings[3]})
            walk_pair(session, pair, setting, false);
        return;
    }
    for (const Size& size : sizes(17, o, session.random)) {
        for (int depth : kDepths)
            for (const Pair& pair : pairs(size.width, size.height, depth, session.random))
                walk_pair(session, pair, kSettings[session.random() % std::size(kSettings)], session.random() % 8 == 0);
        for (const Setting& setting : kSettings)
            walk_extreme_bands(session, {(size.width + 1) / 2, (size.height + 1) / 2}, setting);
    }
}

}  // namespace acuity::check
