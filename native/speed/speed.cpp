#include "speed/speed.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "speed/log2.h"

namespace acuity {

namespace {

double log2_of(double x) { return speed_log2<double, std::uint64_t>(x); }

// Logarithms of the variances that weigh the entropies of both sides.
struct Weights {
    double ref, dis;
};

// Of 1 + variance, the sum being a single float where the variance is one picture's own.
double own(float variance) { return log2_of(static_cast<double>(1 + variance)); }

double mixed(double part, float ref, float dis) {
    return log2_of(1 + ((1 - part) * static_cast<double>(ref) + part * static_cast<double>(dis)));
}

double mean(float ref, float dis) { return log2_of(1 + static_cast<double>(ref + dis) / 2.0); }

// By mode.
constexpr Weights (*kWeights[Speed::kModes])(float ref, float dis) = {
    [](float r, float d) -> Weights { return {own(r), own(d)}; },
    [](float r, float) -> Weights { return {own(r), own(r)}; },
    [](float, float d) -> Weights { return {own(d), own(d)}; },
    [](float r, float d) -> Weights { return {mean(r, d), mean(r, d)}; },
    [](float r, float d) -> Weights { return {own(r), mean(r, d)}; },
    [](float r, float d) -> Weights { return {own(r), mixed(0.25, r, d)}; },
    [](float r, float d) -> Weights { return {own(r), mixed(0.75, r, d)}; },
};

}  // namespace

Speed::Speed(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height,
             const SpeedOptions& options, std::vector<Weighing> weighings)
    : workspace_(std::move(workspace)),
      kernels_(*kernels.speed),
      width_(width),
      plan_(width, height, options),
      weighings_(std::move(weighings)) {
    for (const Weighing& weighing : weighings_)
        if (weighing.mode < 0 || weighing.mode >= kModes) throw std::invalid_argument("no such weighing of variances");
    Carver measure(nullptr);
    carve(measure);
    workspace_->reserve(measure.used());
}

Speed::Memory Speed::carve(Carver& carver) const {
    const SpeedReduction& reduction = plan_.reduction();
    const auto floats = [&](std::ptrdiff_t count) {
        return static_cast<float*>(carver.bytes(static_cast<std::size_t>(count) * sizeof(float)));
    };
    Memory memory = {};
    memory.stride = (reduction.columns.outputs + 2 * kSpeedSlack - 1) / kSpeedSlack * kSpeedSlack;
    memory.scratch = floats(kSpeedRows * speed_row(width_, reduction));
    memory.reduced = floats(memory.stride * reduction.rows.outputs);
    memory.centred = floats(memory.stride * reduction.rows.outputs);
    for (Side* side : {&memory.ref, &memory.dis}) {
        side->variances = floats(plan_.blocks() + kSpeedSlack);
        side->entropies = floats(plan_.blocks() + kSpeedSlack);
    }
    return memory;
}

void Speed::describe(const SpeedSource& source, const Memory& memory, Side& side) const {
    const SpeedReduction& reduction = plan_.reduction();
    kernels_.reduce(source, reduction, memory.scratch, memory.reduced, memory.stride);
    kernels_.remove_mean(memory.reduced, reduction, memory.scratch, memory.centred, memory.stride);
    const SpeedBlocks blocks = {memory.centred, memory.stride, plan_.across(), plan_.down()};
    side.regular = kernels_.describe(blocks, side.eigenvalues, side.variances);
}

float Speed::score(const Weighing& weighing, const Side& ref, const Side& dis) const {
    const float floor = (1 + weighing.nn_floor) * weighing.sigma_nn;
    const auto unseen = static_cast<float>(kSpeedCells * (log2_of(static_cast<double>(floor)) + kLog2Of2PiE));
    const auto weigh = kWeights[weighing.mode];
    float sum = 0;
    for (int b = 0; b < plan_.blocks(); ++b) {
        if (ref.entropies[b] < unseen && dis.entropies[b] < unseen) continue;
        const Weights weights = weigh(ref.variances[b], dis.variances[b]);
        const auto r = static_cast<float>(static_cast<double>(ref.entropies[b]) * weights.ref);
        const auto d = static_cast<float>(static_cast<double>(dis.entropies[b]) * weights.dis);
        sum += std::fabs(r - d);
    }
    return sum / static_cast<float>(plan_.blocks());
}

Speed::Result Speed::run(const SpeedSource& ref, const SpeedSource& dis) const {
    Carver carver(workspace_->block());
    Memory memory = carve(carver);
    describe(ref, memory, memory.ref);
    describe(dis, memory, memory.dis);
    Result result = {!memory.ref.regular || !memory.dis.regular, {}};
    if (memory.ref.regular != memory.dis.regular) {  // a score would be large for no reason
        result.scores.assign(weighings_.size(), 0.0f);
        return result;
    }
    float noise = -1;  // that the entropies are of
    for (const Weighing& weighing : weighings_) {
        for (const Side* side : {&memory.ref, &memory.dis})
            if (weighing.sigma_nn != noise)
                kernels_.entropies(side->eigenvalues, side->variances, plan_.blocks(), weighing.sigma_nn,
                                   side->entropies);
        noise = weighing.sigma_nn;
        result.scores.push_back(score(weighing, memory.ref, memory.dis));
    }
    return result;
}

}  // namespace acuity
