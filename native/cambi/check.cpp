#include "check/check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "cambi/cambi.h"

namespace acuity::check {

namespace {

// Bands with a few samples out of place, in the range of values where steps are visible.
Samples banded(int width, int height, int depth, std::mt19937& random) {
    Samples samples(width, height, depth, static_cast<int>(random() % 9));
    const double peak = samples.peak(), scale = 1 + random() % 5;
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            const double shade = 0.25 + 0.15 * std::sin(x * scale / 300) * std::cos(y * scale / 170);
            const int levels = y * 5 / height == 2 ? 300 : 1023;
            const double value = std::floor(shade * levels) + (random() % 16 == 0 ? random() % 3 : 0);
            samples.set(x, y, static_cast<std::uint32_t>(value / levels * peak));
        }
    }
    return samples;
}

std::vector<CambiStep> steps(int count, int limit) {
    static constexpr float kWeights[] = {1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7};
    std::vector<CambiStep> all;
    for (int d = 0; d < count; ++d)
        all.push_back({kWeights[std::min(d, 11)], limit - count - d, std::min(1023, 178 + 127 * d)});
    return all;
}

// A plane of marked samples of its own, filled by the plain kernels.
class Planes {
  public:
    Planes(int width, int height) : grid_(width, height), width_(width), height_(height) {}

    CambiPlane plane() const { return grid_.grid; }
    std::size_t bytes() const { return static_cast<std::size_t>(grid_.grid.stride_bytes() * height_); }
    void copy(const Planes& from) { std::memcpy(plane().data, from.plane().data, bytes()); }

    void list(int width, int height, Integers* out) const {
        if (out == nullptr) return;
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x) out->push_back(plane().data[y * plane().stride + x]);
    }
    int width() const { return width_; }
    int height() const { return height_; }

  private:
    OwnedGrid<std::uint16_t> grid_;
    int width_, height_;
};

const CambiKernels& plain() {
    return *acuity::plain::kernels.cambi;
}

// Words that are averaged (4), compared (3), added up in columns (2, bytes) and in rows (7, bytes), and marked (2). What
// contrasts take depends on the picture.
Least flatten_least(const Plane& in, bool smooth) {
    return {1.0 * bytes_of(in.depth), 0, (smooth ? 4 : 0) + 3 + 9 / 2.0 + 2};
}

// The most frequent of three words, across and down: two minima, three comparisons and two choices each.
constexpr Least kFilterLeast = {2, 0, 2 * 7};

struct Variant {
    bool smooth, halve;
    int flat, steps, limit, radius;
};

void check_largest(Session& session, const std::string& what, const CambiScale& scale, std::uint32_t* list) {
    Workspace memory;
    memory.reserve(std::max(cambi_scratch_bytes(scale.width, scale.levels), kCambiBins * sizeof(std::uint32_t)));
    CambiContrasts found{};
    found.list = list;
    plain().contrast(scale, memory.block(), found);
    const std::vector<std::uint32_t> all(list, list + found.listed);
    for (std::int64_t count : {found.listed / 50 + 1, found.listed * 3 / 5 + 1, found.listed, found.listed + 1}) {
        session.run("cambi_largest", what, scale.width, scale.height, [&](const Kernels& t, Integers* out) {
            std::copy(all.begin(), all.end(), list);
            auto* bins = static_cast<std::uint32_t*>(memory.block());
            const auto sum = t.cambi->largest(list, found.listed, count, bins);
            if (out != nullptr) out->push_back(static_cast<std::uint64_t>(sum));
        });
    }
}

void check_contrast(Session& session, const std::string& what, const CambiScale& scale) {
    const int width = scale.width, height = scale.height;
    Workspace memory;
    memory.reserve(cambi_scratch_bytes(width, scale.levels));
    const int padded = static_cast<int>(scale.plane.stride);
    OwnedGrid<float> map(padded, height);
    OwnedGrid<std::uint32_t> list(padded, height + 1);
    const auto call = [&](bool listed, bool drawn) {
        return [&, listed, drawn](const Kernels& t, Integers* out) {
            CambiContrasts found{};
            if (listed) found.list = list.grid.data;
            if (drawn) {
                found.map = map.grid;
                std::fill_n(map.grid.data, map.grid.stride * height, 0.0f);
            }
            if (out != nullptr) std::memset(memory.block(), 0xA5, memory.size());
            t.cambi->contrast(scale, memory.block(), found);
            if (out == nullptr) return;
            out->push_back(static_cast<std::uint64_t>(found.sum));
            std::uint32_t* end = std::remove(list.grid.data, list.grid.data + found.listed, 0u);
            std::sort(list.grid.data, end);
            if (listed) out->insert(out->end(), list.grid.data, end);
            for (int y = 0; y < height && drawn; ++y)
                for (int x = 0; x < width; ++x)
                    out->push_back(std::bit_cast<std::uint32_t>(map.grid.data[y * map.grid.stride + x]));
        };
    };
    session.run("cambi_contrast", what, width, height, call(false, false));
    session.run("cambi_contrast", what + ", all", width, height, call(true, !session.options.bench));
    check_largest(session, what, scale, list.grid.data);
}

void check_picture(Session& session, const Samples& samples, const std::string& pattern, const Variant& v,
                   bool resample) {
    const Plane in = samples.plane();
    const int width = resample ? in.width * 2 / 3 + 1 : in.width, height = resample ? in.height * 3 / 4 + 1 : in.height;
    std::vector<std::int32_t> columns, rows;
    for (int x = 0; x < width; ++x) columns.push_back(x * in.width / width);
    for (int y = 0; y < height; ++y) rows.push_back(y * in.height / height);
    CambiSource source{in, width, height, nullptr, nullptr, v.smooth, v.halve, v.flat};
    if (resample) source = {in, width, height, columns.data(), rows.data(), v.smooth, v.halve, v.flat};

    const CambiTables tables(steps(v.steps, v.limit));
    const CambiLevels levels = tables.levels();
    const int part = v.halve ? 2 : 1, w = (width + part - 1) / part, h = (height + part - 1) / part;
    Workspace memory;
    memory.reserve(cambi_scratch_bytes(width, levels));
    Planes marked(w, h), work(w, h);
    const std::string what = std::to_string(in.depth) + " bit, " + pattern;

    session.run("cambi_flatten", what, width, height, [&](const Kernels& t, Integers* out) {
        if (out != nullptr) std::memset(memory.block(), 0xA5, memory.size());
        t.cambi->flatten(source, memory.block(), work.plane());
        work.list(static_cast<int>(work.plane().stride), h, out);
    }, flatten_least(in, v.smooth));
    plain().flatten(source, memory.block(), marked.plane());
    const auto filter = [&](int step) {
        const int columns_left = (w + step - 1) / step, rows_left = (h + step - 1) / step;
        session.run("cambi_filter", what, columns_left, rows_left, [&](const Kernels& t, Integers* out) {
            if (out != nullptr) std::memset(memory.block(), 0xA5, memory.size());
            work.copy(marked);
            CambiSurvey survey;
            t.cambi->filter(work.plane(), columns_left, rows_left, step, levels, memory.block(), survey);
            work.list(static_cast<int>(work.plane().stride), rows_left, out);
            if (out == nullptr) return;
            for (const std::int64_t n : {survey.samples, std::int64_t{survey.lowest}, std::int64_t{survey.highest}})
                out->push_back(static_cast<std::uint64_t>(n));
        }, kFilterLeast);
        CambiScale scale{work.plane(), columns_left, rows_left, v.radius, levels, {}};
        work.copy(marked);
        plain().filter(work.plane(), columns_left, rows_left, step, levels, memory.block(), scale.survey);
        check_contrast(session, what, scale);
    };
    filter(1);
    if (!session.options.bench) filter(2);
}

}  // namespace

void check_cambi(Session& session) {
    const Options& o = session.options;
    const Variant usual{o.depth < 10, false, 21, 4, 0, 16};
    if (o.bench) {
        check_picture(session, banded(o.width, o.height, o.depth, session.random), "banded", usual, false);
        return check_picture(session, natural_pair(o.width, o.height, o.depth, session.random).dis, "natural", usual, false);
    }
    static constexpr Variant kVariants[] = {{true, false, 12, 4, 0, 16}, {false, true, 20, 4, 78, 8},
                                            {false, false, 7, 1, 0, 1},  {true, true, 15, 32, 300, 32},
                                            {false, false, 24, 8, 0, 5}, {true, false, 10, 2, 64, 0},
                                            {false, false, 12, 16, 0, 20}};
    std::vector<Size> all = sizes(1, o, session.random);
    all.push_back({kCambiStrip + 77, 40});
    int turn = 0;
    for (const Size& size : all) {
        for (int depth : kDepths) {
            for (int i = 0; i < 3; ++i, ++turn)
                check_picture(session, banded(size.width, size.height, depth, session.random), "banded",
                              kVariants[turn % std::size(kVariants)], i == 2);
            // A third of the patterns at each depth; another third at the next, as their number is no multiple of 3.
            for (const Pair& pair : pairs(size.width, size.height, depth, session.random)) {
                if (++turn % 3 == 0)
                    check_picture(session, pair.dis, pair.pattern, kVariants[turn % std::size(kVariants)], false);
            }
        }
    }
}

}  // namespace acuity::check
