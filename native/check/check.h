// native_check: compares every kernel of every table with its plain twin, and times it.
//
// A check describes one call as a function of a table that can list the integers it produced.
// Comparing runs it on every table and requires equal lists; timing runs the same function without a list.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "check/counters.h"
#include "core/dispatch.h"
#include "core/workspace.h"

namespace acuity::check {

using Integers = std::vector<std::uint64_t>;
using Call = std::function<void(const Kernels&, Integers* out)>;

// What to run, from the command line.
struct Options {
    bool bench = false;
    int width = 1920, height = 1080, depth = 8;  // of the timed pictures
    std::string only_kernel, only_table;
    unsigned seed = 1;
    int rounds = 1;  // of random sizes
    int pixels = 1 << 30;  // of the largest picture compared
};

// The least that a call must do for each pixel of the size that it is timed at: bytes that it must read, and the plain
// arithmetic, without loads, packing and edges. Products and other operations are counted in lanes of 16 bits: one of
// 32 bits is two, and one of 64 bits four.
struct Least {
    double bytes = 0, products = 0, operations = 0;
};

class Session {
  public:
    explicit Session(const Options& options) : options(options), random(options.seed) {}

    // Compares (or times) one call on pictures of that size.
    void run(const std::string& kernel, const std::string& what, int width, int height, const Call& call,
             const Least& least = {});

    // Memory for one call of a kernel. In a comparison it is exactly as large as requested, so that a sanitizer
    // finds a write past it, and filled, so that reading uninitialised memory changes the result.
    void* scratch(std::size_t bytes);

    const Options options;
    std::mt19937 random;
    int compared = 0, failed = 0;

  private:
    void compare(const std::string& name, const Call& call);
    void time(const std::string& name, const Call& call, double pixels, const Least& least);

    Counters counters_;
    std::unique_ptr<Workspace> memory_;
};

// ---- inputs -----------------------------------------------------------------------------------

// Samples in memory that ends with the last one, so that a sanitizer finds a read past it.
class Samples {
  public:
    Samples(int width, int height, int depth, int row_padding);

    void set(int x, int y, std::uint32_t value);
    std::uint32_t get(int x, int y) const;
    Plane plane() const;
    std::uint32_t peak() const { return (1u << depth_) - 1; }
    int width() const { return width_; }
    int height() const { return height_; }

  private:
    int width_, height_, depth_;
    std::ptrdiff_t stride_;
    std::vector<unsigned char> bytes_;
};

struct Pair {
    Samples ref, dis;
    std::string pattern;
};

// One pair for each pattern: realistic, flat, and made to overflow.
std::vector<Pair> pairs(int width, int height, int depth, std::mt19937& random);

// The realistic one alone.
Pair natural_pair(int width, int height, int depth, std::mt19937& random);

// Sizes to compare at: the smallest each metric takes, around register widths, and random ones.
struct Size {
    int width, height;
};
std::vector<Size> sizes(int smallest, const Options& options, std::mt19937& random);

constexpr int kDepths[] = {8, 10, 12, 16};

// Of a video's sample.
constexpr int bytes_of(int depth) { return depth > 8 ? 2 : 1; }

// An owned Grid; see workspace.h for what kernels may assume about it.
template <class Sample>
class OwnedGrid {
  public:
    OwnedGrid(int width, int height) {
        Carver measure(nullptr);
        measure.grid<Sample>(width, height);
        memory_.reserve(measure.used());
        grid = Carver(memory_.block()).grid<Sample>(width, height);
    }
    Grid<Sample> grid;

  private:
    Workspace memory_;
};

#define ACUITY_CHECK(Type, name) void check_##name(Session& session);
ACUITY_FAMILIES(ACUITY_CHECK)
#undef ACUITY_CHECK

}  // namespace acuity::check
