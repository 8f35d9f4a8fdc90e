#include "alignment/track.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace acuity {

namespace {

constexpr double kNever = 1e12;      // the squared error of a frame that isn't there
constexpr double kSlope = 1.0001;    // times the error of a lag beside: a lag above that is on the way to it
constexpr double kStill = 0.1;       // of the usual motion
constexpr double kStirring = 0.02;   // squared change of a cell that counts as motion
constexpr double kBackwards = -0.3;  // correlation of changes
constexpr int kHalfSecond = 12;      // frames

// Sums of products in lanes, in one order for every machine. A lane adds a few dozen products, which single precision
// holds well enough for errors that are compared with a tolerance.
template <class Term>
double sum(int count, Term&& term) {
    constexpr int kLanes = 16;
    float lanes[kLanes] = {};
    int i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += term(i + lane);
    for (; i < count; ++i) lanes[i % kLanes] += term(i);
    return std::accumulate(lanes, lanes + kLanes, 0.0);
}

double squared_error(const float* one, const float* other, int count) {
    return sum(count, [=](int i) {
        const float off = one[i] - other[i];
        return off * off;
    });
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

double upper_quartile(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() * 3 / 4];
}

}  // namespace

void mean_squared_errors(std::span<const float* const> ones, std::span<const float* const> others, int cells, int band,
                         double* out) {
    const std::size_t columns = band > 0 ? static_cast<std::size_t>(band) : others.size();
    for (std::size_t row = 0; row < ones.size(); ++row)
        for (std::size_t column = 0; column < columns; ++column) {
            const std::size_t other = band > 0 ? row + column : column;
            *out++ = other < others.size() ? squared_error(ones[row], others[other], cells) / cells
                                           : std::numeric_limits<double>::infinity();
        }
}

Track::Track(const TrackRules& rules) : rules_(rules), path_costs_(static_cast<std::size_t>(2 * rules.reach + 1), rules.jump) {
    path_costs_[static_cast<std::size_t>(rules.reach)] = 0.0;
}

void Track::open(int cells) {
    cells_ = cells;
    for (std::vector<float>* rows : {&ref_, &dis_}) rows->resize(static_cast<std::size_t>(room()) * cells);
    for (std::vector<double>* figures : {&moved_ref_, &moved_dis_, &tracking_, &error_})
        figures->reserve(static_cast<std::size_t>(room()));
}

const float* Track::row(const std::vector<float>& rows, int index) const {
    return rows.data() + static_cast<std::size_t>(index) * cells_;
}

void Track::put(std::vector<float>& rows, int index, const float* signature) const {
    std::copy_n(signature, cells_, rows.data() + static_cast<std::size_t>(index) * cells_);
}

void Track::extend(std::span<const float* const> ref, std::span<const float* const> dis) {
    const int count = static_cast<int>(ref.size());
    rest_ref_ = rest_dis_ = 0;
    if (rows() + count > room()) forget(rows() - rules_.kept);
    for (int i = 0; i < count; ++i) {
        const int at = rows();
        put(ref_, at, ref[static_cast<std::size_t>(i)]);
        put(dis_, at, dis[static_cast<std::size_t>(i)]);
        measure(at);
    }
}

void Track::measure(int at) {
    const float *ref = row(ref_, at), *dis = row(dis_, at);
    double moved_ref = 0.0, moved_dis = 0.0, tracking = 1.0;  // of a frame that no other comes before
    if (at > 0) {
        const float *ref_before = row(ref_, at - 1), *dis_before = row(dis_, at - 1);
        moved_ref = squared_error(ref, ref_before, cells_);
        moved_dis = squared_error(dis, dis_before, cells_);
        const double both = sum(cells_, [=](int i) {
            return (ref[i] - ref_before[i]) * (dis[i] - dis_before[i]);
        });
        tracking = both / std::sqrt(moved_ref * moved_dis + 1e-9);
    }
    moved_ref_.push_back(moved_ref);
    moved_dis_.push_back(moved_dis);
    tracking_.push_back(tracking);
    error_.push_back(squared_error(dis, ref, cells_));
}

void Track::add_rest(std::span<const float* const> ref, std::span<const float* const> dis) {
    if (rows() > rules_.kept) forget(rows() - rules_.kept);
    for (std::size_t i = 0; i < ref.size(); ++i) put(ref_, rows() + static_cast<int>(i), ref[i]);
    for (std::size_t i = 0; i < dis.size(); ++i) put(dis_, rows() + static_cast<int>(i), dis[i]);
    rest_ref_ = static_cast<int>(ref.size());
    rest_dis_ = static_cast<int>(dis.size());
}

void Track::forget(int count) {
    for (std::vector<float>* rows : {&ref_, &dis_})
        std::memmove(rows->data(), row(*rows, count), sizeof(float) * static_cast<std::size_t>(rules_.kept) * cells_);
    for (std::vector<double>* figures : {&moved_ref_, &moved_dis_, &tracking_, &error_})
        figures->erase(figures->begin(), figures->begin() + count);
    first_ += count;
}

// ---- the path ---------------------------------------------------------------------------------

double Track::error_at(int frame, int lag) const {
    const int other = frame + lag;
    if (other < first_ || other >= end()) return kNever;
    return squared_error(row(ref_, other - first_), row(dis_, frame - first_), cells_);
}

// Whether no lag fits as well as 0. Most don't after a few cells, and errors only grow.
bool Track::lag_0_is_best(int frame) const {
    constexpr int kPart = 64;  // cells
    const double best = error_at(frame, 0);
    const float* dis = row(dis_, frame - first_);
    for (int lag = -rules_.reach; lag <= rules_.reach; ++lag) {
        const int other = frame + lag;
        if (lag == 0 || other < first_ || other >= end()) continue;
        const float* ref = row(ref_, other - first_);
        // A little more than the best, because parts are summed in another order.
        double part = 0.0;
        for (int i = 0; i < cells_ && part <= 1.001 * best; i += kPart)
            part += squared_error(ref + i, dis + i, std::min(kPart, cells_ - i));
        if (part > 1.001 * best) continue;
        const double error = error_at(frame, lag);
        if (lag < 0 ? error <= best : error < best) return false;
    }
    return true;
}

void Track::costs(std::span<const double> errors, double weight, double* out) const {
    const double least = *std::min_element(errors.begin(), errors.end());
    const double scale = weight / (2 * rules_.alike * std::max(rules_.floor, least / cells_));
    for (const double error : errors) *out++ = std::min(rules_.most, (error - least) * scale);
}

void Track::step(int frame) {
    const std::size_t lags = path_costs_.size(), zero = static_cast<std::size_t>(rules_.reach);
    std::optional<std::vector<int>> came;
    if (!settled_ || !lag_0_is_best(frame)) {  // mostly it is, and nothing else was begun
        std::vector<double> errors(lags), cost(lags);
        for (std::size_t i = 0; i < lags; ++i) errors[i] = error_at(frame, static_cast<int>(i) - rules_.reach);
        costs(errors, weight(frame), cost.data());
        const double paired = cost[zero];
        for (std::size_t i = 0; i < lags; ++i) {
            // A lag that is, or may be, on the way to a better one gains nothing.
            const double beside = std::min(i > 0 ? errors[i - 1] : 0.0, i + 1 < lags ? errors[i + 1] : 0.0);
            if (i != zero && errors[i] > beside * kSlope) cost[i] = std::max(cost[i], paired);
        }
        const auto best = std::min_element(path_costs_.begin(), path_costs_.end()) - path_costs_.begin();
        const double jump = path_costs_[static_cast<std::size_t>(best)] + rules_.jump;
        came.emplace(lags);
        settled_ = true;
        for (std::size_t i = 0; i < lags; ++i) {
            (*came)[i] = path_costs_[i] <= jump ? static_cast<int>(i) : static_cast<int>(best);
            path_costs_[i] = std::min(path_costs_[i], jump) + cost[i] - paired;
            settled_ = settled_ && (i == zero || path_costs_[i] >= rules_.jump);
        }
        if (settled_) {
            std::fill(path_costs_.begin(), path_costs_.end(), rules_.jump);
            path_costs_[zero] = 0.0;
        }
    }
    came_from_.push_back(std::move(came));
    const auto traced = static_cast<std::size_t>(rules_.traced);
    if (came_from_.size() >= 2 * traced) came_from_.erase(came_from_.begin(), came_from_.end() - rules_.traced);
}

int Track::advance(int frame, int limit, bool watchful) {
    for (; frame < limit; ++frame) {
        step(frame);
        if (watchful || !settled_ || still(frame) || backwards(frame - 2)) return frame;
    }
    return limit;
}

std::vector<std::pair<int, int>> Track::path(int frame) const {
    std::vector<std::pair<int, int>> matches;
    auto index = static_cast<int>(std::min_element(path_costs_.begin(), path_costs_.end()) - path_costs_.begin());
    const int known = std::min({static_cast<int>(came_from_.size()), rules_.traced, frame + 1});
    for (int back = 0; back < known; ++back) {
        const int at = frame - back;
        if (index != rules_.reach) matches.emplace_back(at, at + index - rules_.reach);
        const auto& came = came_from_[came_from_.size() - 1 - static_cast<std::size_t>(back)];
        index = came ? (*came)[static_cast<std::size_t>(index)] : rules_.reach;
    }
    std::reverse(matches.begin(), matches.end());
    return matches;
}

double Track::least_cost() const { return *std::min_element(path_costs_.begin(), path_costs_.end()); }

// ---- what pairs say ---------------------------------------------------------------------------

double Track::weight(int frame) const {
    const int at = frame - first_;
    if (at < 1 || at >= rows()) return 1.0;
    const auto begin = moved_ref_.begin() + std::max(0, at - 2), end = moved_ref_.begin() + std::min(rows(), at + 3);
    const double usual = median({begin, end});
    return std::min(1.0, moved_dis_[static_cast<std::size_t>(at)] / (0.25 * std::max(usual, 1e-9)));
}

double Track::usual_motion(int frame) const {
    const int at = frame - first_;
    const auto begin = moved_ref_.begin() + std::max(1, at - kHalfSecond);
    // The upper quartile: of pictures that are held for several frames, most frames don't move.
    return std::max(upper_quartile({begin, moved_ref_.begin() + at + 1}), cells_ * kStirring);
}

bool Track::still(int frame) const {
    const int at = frame - first_;
    return at >= 1 && moved_dis_[static_cast<std::size_t>(at)] < kStill * usual_motion(frame);
}

bool Track::backwards(int frame) const {
    const int at = frame - first_;
    return at >= 3 && tracking_[static_cast<std::size_t>(at)] <= kBackwards;
}

bool Track::matches(int start) const {
    double error = 0.0, moved = 0.0;
    for (auto at = static_cast<std::size_t>(start - first_); at < error_.size(); ++at) {
        error += error_[at];
        moved += moved_ref_[at];
    }
    return error <= 0.5 * moved + (end() - start) * cells_ * rules_.floor;
}

}  // namespace acuity
