// The last pairs of signatures of two videos, with figures of each, and the cheapest path through lags of a few frames.
//
// Frames count from the first pair ever added; a row is a frame's place among those that are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace acuity {

struct TrackRules {
    int kept;      // pairs that are remembered at least; at most twice as many are
    int reach;     // frames that the path may be apart
    int traced;    // frames of the path that are remembered
    double floor;  // variance of a cell that says nothing
    double alike;  // how many errors say as much as one independent one would
    double most;   // evidence that one frame may give
    double jump;   // the cost of going from one lag to another
};

// The mean squared error of each signature against others, row by row: against all of them, or, with a `band`, that of
// row i against the others from i on, as many as the band has; an other that isn't there has the error infinity.
void mean_squared_errors(std::span<const float* const> ones, std::span<const float* const> others, int cells, int band,
                         double* out);

class Track {
  public:
    explicit Track(const TrackRules& rules);

    // Makes room for signatures of so many cells; before the first pair.
    void open(int cells);
    // Adds pairs: pointers to `cells` values each.
    void extend(std::span<const float* const> ref, std::span<const float* const> dis);
    // Adds frames after the last pair, which one of the videos doesn't have; at most `kept`.
    void add_rest(std::span<const float* const> ref, std::span<const float* const> dis);

    // Continues the path from `frame`, and stops before `limit` or at the first frame that needs a closer look: one
    // where the path isn't settled at lag 0, the distorted video stands still, or it moved backwards two frames before;
    // with `watchful` any frame. Returns that frame, or `limit`.
    int advance(int frame, int limit, bool watchful);
    // The matches (distorted frame, reference frame) of the path to `frame` that aren't those of lag 0.
    std::vector<std::pair<int, int>> path(int frame) const;
    double least_cost() const;  // relative to lag 0's
    bool settled() const { return settled_; }  // nothing but lag 0 was begun

    double weight(int frame) const;        // how much a frame may say, 0 to 1: one that hardly changed says little
    double usual_motion(int frame) const;  // the usual change of the reference in the last half second, where it moves
    bool still(int frame) const;           // whether the distorted video hardly changes there
    bool backwards(int frame) const;       // whether it changes against the reference's direction
    bool matches(int start) const;         // whether the pairs since then differ less than neighbouring frames
    // What it costs to match a frame with each of several, from its squared errors against them.
    void costs(std::span<const double> errors, double weight, double* out) const;

    int first() const { return first_; }
    int end() const { return first_ + rows(); }
    int end_ref() const { return end() + rest_ref_; }
    int end_dis() const { return end() + rest_dis_; }
    int cells() const { return cells_; }
    int rows() const { return static_cast<int>(error_.size()); }
    int room() const { return 2 * rules_.kept; }
    float* ref() { return ref_.data(); }
    float* dis() { return dis_.data(); }
    // By row: each video's squared change since the frame before, the correlation of both changes, the squared error.
    const std::vector<double>& moved_ref() const { return moved_ref_; }
    const std::vector<double>& moved_dis() const { return moved_dis_; }
    const std::vector<double>& tracking() const { return tracking_; }
    const std::vector<double>& error() const { return error_; }

  private:
    const float* row(const std::vector<float>& rows, int index) const;
    void put(std::vector<float>& rows, int index, const float* signature) const;
    void measure(int row);
    void forget(int count);
    void step(int frame);
    bool lag_0_is_best(int frame) const;
    double error_at(int frame, int lag) const;

    const TrackRules rules_;
    int cells_ = 0, first_ = 0, rest_ref_ = 0, rest_dis_ = 0;
    std::vector<float> ref_, dis_;
    std::vector<double> moved_ref_, moved_dis_, tracking_, error_;
    std::vector<double> path_costs_;                           // by lag
    bool settled_ = true;
    std::vector<std::optional<std::vector<int>>> came_from_;   // by frame, the last ones; none: every lag came from 0
};

}  // namespace acuity
