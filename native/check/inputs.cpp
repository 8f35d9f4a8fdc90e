#include <algorithm>
#include <cmath>

#include "check/check.h"

namespace acuity::check {

Samples::Samples(int width, int height, int depth, int row_padding)
    : width_(width), height_(height), depth_(depth), stride_((width + row_padding) * (depth > 8 ? 2 : 1)) {
    const auto last_row = static_cast<std::size_t>(width) * (depth > 8 ? 2 : 1);
    bytes_.resize(static_cast<std::size_t>(stride_) * static_cast<std::size_t>(height - 1) + last_row);
    bytes_.shrink_to_fit();
}

void Samples::set(int x, int y, std::uint32_t value) {
    auto* row = bytes_.data() + y * stride_;
    if (depth_ > 8)
        reinterpret_cast<std::uint16_t*>(row)[x] = static_cast<std::uint16_t>(value);
    else
        row[x] = static_cast<unsigned char>(value);
}

std::uint32_t Samples::get(int x, int y) const {
    const auto* row = bytes_.data() + y * stride_;
    return depth_ > 8 ? reinterpret_cast<const std::uint16_t*>(row)[x] : row[x];
}

Plane Samples::plane() const { return {bytes_.data(), stride_, width_, height_, depth_}; }

namespace {

using Draw = std::function<std::uint32_t(int x, int y)>;

void fill(Samples& samples, const Draw& draw) {
    for (int y = 0; y < samples.height(); ++y)
        for (int x = 0; x < samples.width(); ++x) samples.set(x, y, draw(x, y));
}

Pair empty_pair(int width, int height, int depth, std::mt19937& random, std::string pattern) {
    const auto padding = [&] { return static_cast<int>(random() % 9); };
    return {Samples(width, height, depth, padding()), Samples(width, height, depth, padding()), std::move(pattern)};
}

struct Pattern {
    const char* name;
    Draw ref, dis;
};

// Patterns of two values at `a` and `b`, which swap or shift between the pictures.
std::vector<Pattern> extremes(std::uint32_t peak, std::mt19937& random) {
    const auto noise = [&random, peak](int, int) { return static_cast<std::uint32_t>(random()) & peak; };
    const auto coin = [&random, peak](int, int) { return random() & 1 ? peak : 0u; };
    const auto is = [](std::uint32_t value) { return [value](int, int) { return value; }; };
    const auto board = [peak](int cell, bool odd) {
        return [=](int x, int y) { return ((x / cell + y / cell) & 1) == odd ? peak : 0u; };
    };
    const auto columns = [peak](int cell, int shift) {
        return [=](int x, int) { return ((x + shift) / cell) & 1 ? peak : 0u; };
    };
    const auto rows = [peak](int cell, int shift) {
        return [=](int, int y) { return ((y + shift) / cell) & 1 ? peak : 0u; };
    };
    const auto impulses = [peak](int step, std::uint32_t on, std::uint32_t off) {
        return [=](int x, int y) { return x % step == step / 2 && y % step == step / 2 ? on & peak : off & peak; };
    };
    return {
        {"zeros", is(0), is(0)},
        {"peaks", is(peak), is(peak)},
        {"zeros against peaks", is(0), is(peak)},
        {"noise", noise, noise},
        {"coins", coin, coin},
        {"coins against grey", coin, is(peak / 2)},
        {"checkerboard, inverted", board(1, false), board(1, true)},
        {"checkerboard of 3", board(3, false), board(3, false)},
        {"columns, shifted", columns(2, 0), columns(2, 1)},
        {"columns of 1", columns(1, 0), columns(1, 0)},
        {"rows, shifted", rows(2, 0), rows(2, 1)},
        {"rows of 5", rows(5, 0), rows(5, 2)},
        {"impulses", impulses(7, peak, 0), impulses(7, 0, peak)},
        {"impulse in a corner", [peak](int x, int y) { return x + y == 0 ? peak : 0u; }, is(0)},
        {"ramp", [peak](int x, int y) { return static_cast<std::uint32_t>(x * 7 + y * 5) & peak; }, noise},
    };
}

}  // namespace

Pair natural_pair(int width, int height, int depth, std::mt19937& random) {
    Pair pair = empty_pair(width, height, depth, random, "natural");
    const double peak = pair.ref.peak();
    std::normal_distribution<double> grain(0.0, peak / 90), loss(0.0, peak / 60);
    const auto clip = [peak](double v) { return static_cast<std::uint32_t>(std::clamp(v, 0.0, peak)); };
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            const double shade = peak * (0.5 + 0.2 * std::sin(x * 0.11) + 0.2 * std::cos(y * 0.07 + x * 0.013));
            const double edge = ((x / 37 + y / 23) & 1) != 0 ? peak * 0.1 : 0.0;
            const double ref = shade + edge + grain(random);
            pair.ref.set(x, y, clip(ref));
            pair.dis.set(x, y, clip(shade * 1.02 + edge * 0.7 + loss(random)));
        }
    }
    return pair;
}

std::vector<Pair> pairs(int width, int height, int depth, std::mt19937& random) {
    std::vector<Pair> all;
    all.push_back(natural_pair(width, height, depth, random));
    for (const Pattern& p : extremes((1u << depth) - 1, random)) {
        Pair pair = empty_pair(width, height, depth, random, p.name);
        fill(pair.ref, p.ref);
        fill(pair.dis, p.dis);
        all.push_back(std::move(pair));
    }
    return all;
}

std::vector<Size> sizes(int smallest, const Options& options, std::mt19937& random) {
    std::vector<Size> all = {{smallest, smallest},
                             {smallest + 1, smallest + 2},
                             {33, 35},
                             {64, 32},
                             {65, 67},
                             {127, 34},
                             {129, 66},
                             {160, 90},
                             {263, 47},
                             {517, smallest + 2}};  // the last strip of 512 is narrower than a filter
    for (int i = 0; i < 4 * options.rounds; ++i)
        all.push_back({smallest + static_cast<int>(random() % 180), smallest + static_cast<int>(random() % 60)});
    std::erase_if(all, [&](const Size& size) { return size.width * size.height > options.pixels; });
    return all;
}

}  // namespace acuity::check
