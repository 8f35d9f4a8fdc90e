#include <cstring>

#include "check/check.h"
#include "speed/plan.h"

namespace acuity::check {

namespace {

void append_floats(Integers* out, const float* values, int count) {
    if (out == nullptr) return;
    for (int i = 0; i < count; ++i) {
        std::uint32_t bits;
        std::memcpy(&bits, values + i, sizeof bits);
        out->push_back(values[i] == values[i] ? bits : 0x7fc00000u);  // all NaNs are equal here
    }
}

// Memory for one plane, which ends where a kernel may no longer write.
class Stages {
  public:
    Stages(const Plane& plane, const SpeedOptions& options)
        : plan(plane.width, plane.height, options),
          width_(plan.reduction().columns.outputs),
          height_(plan.reduction().rows.outputs),
          stride_((width_ + 2 * kSpeedSlack - 1) / kSpeedSlack * kSpeedSlack),
          scratch_(static_cast<std::size_t>(kSpeedRows * speed_row(plane.width, plan.reduction()))),
          reduced_(static_cast<std::size_t>(stride_ * height_)),
          centred_(reduced_.size()),
          variances_(static_cast<std::size_t>(plan.blocks() + kSpeedSlack)),
          entropies_(variances_.size()) {}

    void reduce(const SpeedKernels& kernels, const SpeedSource& source, Integers* out) {
        kernels.reduce(source, plan.reduction(), scratch_.data(), reduced_.data(), stride_);
        for (int y = 0; y < height_; ++y) append_floats(out, reduced_.data() + y * stride_, width_);
    }

    void remove_mean(const SpeedKernels& kernels, Integers* out) {
        kernels.remove_mean(reduced_.data(), plan.reduction(), scratch_.data(), centred_.data(), stride_);
        for (int y = 0; y < height_; ++y) append_floats(out, centred_.data() + y * stride_, width_ + kSpeedSlack);
    }

    void describe(const SpeedKernels& kernels, Integers* out) {
        const SpeedBlocks blocks = {centred_.data(), stride_, plan.across(), plan.down()};
        const bool regular = kernels.describe(blocks, eigenvalues_, variances_.data());
        if (out != nullptr) out->push_back(regular);
        append_floats(out, eigenvalues_, kSpeedCells);
        append_floats(out, variances_.data(), plan.blocks());
    }

    void entropies(const SpeedKernels& kernels, Integers* out) {
        kernels.entropies(eigenvalues_, variances_.data(), plan.blocks(), 0.29f, entropies_.data());
        append_floats(out, entropies_.data(), plan.blocks());
    }

    SpeedPlan plan;

  private:
    int width_, height_;
    std::ptrdiff_t stride_;
    std::vector<float> scratch_, reduced_, centred_, variances_, entropies_;
    float eigenvalues_[kSpeedCells] = {};
};

const SpeedKernels& plain_kernels() {
    return *acuity::plain::kernels.speed;
}

// Samples converted, weighed and added in single precision, down at every 16th row and then across at every 16th column.
Least reduce_least(const SpeedSource& source, const SpeedReduction& reduction) {
    constexpr double step = kSpeedStep;
    const double products = reduction.taps / step + reduction.taps / (step * step);
    const int pictures = source.minus.data == nullptr ? 1 : 2;
    return {1.0 * pictures * bytes_of(source.plane.depth), 2 * products, 2 * (1 + products)};
}

// Products of 25 cells with each other, added up, in double precision, for every place of the reduced plane.
Least describe_least(const Plane& plane, const SpeedReduction& reduction) {
    const double places = static_cast<double>(reduction.rows.outputs) * reduction.columns.outputs;
    const double products = 4 * 25 * 26 / 2 * places / plane.width / plane.height;
    return {0, products, products};
}

// Each stage works on what the plain one before it left.
void check_source(Session& session, const SpeedSource& source, const std::string& what, const SpeedOptions& options) {
    Stages stages(source.plane, options);
    const auto run = [&](const char* kernel, auto&& call, const Least& least = {}) {
        session.run(kernel, what, source.plane.width, source.plane.height,
                    [&](const Kernels& t, Integers* out) { call(*t.speed, out); }, least);
        call(plain_kernels(), nullptr);
    };
    run("speed_reduce", [&](const SpeedKernels& k, Integers* out) { stages.reduce(k, source, out); },
        options.prescale == 1.0 ? reduce_least(source, stages.plan.reduction()) : Least{});
    run("speed_remove_mean", [&](const SpeedKernels& k, Integers* out) { stages.remove_mean(k, out); });
    run("speed_describe", [&](const SpeedKernels& k, Integers* out) { stages.describe(k, out); },
        describe_least(source.plane, stages.plan.reduction()));
    run("speed_entropies", [&](const SpeedKernels& k, Integers* out) { stages.entropies(k, out); });
}

void check_pair(Session& session, const Pair& pair, const SpeedOptions& options) {
    const Plane ref = pair.ref.plane(), dis = pair.dis.plane();
    const std::string what = std::to_string(ref.depth) + " bit, " + pair.pattern + ", scale " +
                             std::to_string(options.kernelscale) + " " + std::to_string(options.prescale) + " " +
                             options.prescale_method;
    check_source(session, {ref, {}}, what, options);
    check_source(session, {dis, ref}, what + ", difference", options);
}

const SpeedOptions kUsual = {1.0, 1.0, "nearest"};

}  // namespace

void check_speed(Session& session) {
    const Options& o = session.options;
    if (o.bench) {
        const Pair pair = natural_pair(o.width, o.height, o.depth, session.random);
        for (const SpeedOptions& options : {kUsual, SpeedOptions{1.0, 0.6, "bilinear"}})
            check_pair(session, pair, options);
        return;
    }
    const Size all[] = {{80, 80}, {95, 161}, {193, 209}, {263, 305}, {1029, 243}};
    for (const Size& size : all)
        for (int depth : kDepths)
            for (const Pair& pair : pairs(size.width, size.height, depth, session.random))
                check_pair(session, pair, kUsual);
    const SpeedOptions unusual[] = {{2.4, 1.0, "nearest"},   {1.0, 0.6, "nearest"},  {1.0, 0.5, "bilinear"},
                                    {0.5, 0.7, "bicubic"},   {1.0, 0.4, "lanczos4"}, {3.7, 0.999, "nearest"},
                                    {2.0, 0.6, "bilinear"}};
    for (const SpeedOptions& options : unusual)
        for (int depth : {8, 16})
            for (int i = 0; i < 2 * o.rounds; ++i) {
                const int width = 330 + static_cast<int>(session.random() % 200);
                check_pair(session, natural_pair(width, 423, depth, session.random), options);
            }
}

}  // namespace acuity::check
