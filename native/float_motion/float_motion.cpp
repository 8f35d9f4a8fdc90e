#include "float_motion/float_motion.h"

#include <algorithm>

#include "float_vif/table.h"

namespace acuity {

namespace {

const std::vector<float> kBlur5 = {0.054488685f, 0.244201342f, 0.402619947f, 0.244201342f, 0.054488685f};
const std::vector<float> kBlur3 = {0.166378498f, 0.667243004f, 0.166378498f};
const std::vector<float> kBlur1 = {1.0f};

int half_of(int size) { return static_cast<int>(size * 0.5 + 0.5); }

}  // namespace

// The blurred pictures at both sizes, where the half size counts, and the kernels' scratch.
struct FloatMotion::Memory {
    Grid<float> whole[2], half[2];
    void* scratch;
    std::size_t bytes;
};

FloatMotion::Memory FloatMotion::carve(Carver carver, const Size& size) const {
    Memory m;
    std::size_t scratch = kernels_.float_motion->scratch_bytes(size.width, size.height);
    const Size half = {half_of(size.width), half_of(size.height)};
    if (halves_.front()) {
        for (int i = 0; i < 2; ++i) {
            m.whole[i] = carver.grid<float>(size.width, size.height);
            m.half[i] = carver.grid<float>(half.width, half.height);
        }
        scratch = std::max({scratch, kernels_.float_motion->scratch_bytes(half.width, half.height),
                            kernels_.float_vif->resample_bytes(size.width, size.height, half.width)});
    }
    m.scratch = carver.bytes(scratch);
    m.bytes = carver.used();
    return m;
}

FloatMotion::FloatMotion(std::shared_ptr<Workspace> workspace, const Kernels& kernels, const std::vector<Size>& planes,
                         int blur_size, bool add_half_size)
    : workspace_(std::move(workspace)), kernels_(kernels),
      blur_(blur_size == 1 ? kBlur1 : blur_size == 3 ? kBlur3 : kBlur5), halves_(planes.size()) {
    for (std::size_t i = 0; i < planes.size() && add_half_size; ++i)
        halves_[i].emplace(Resampling::Method::kBilinear, planes[i].width, planes[i].height, half_of(planes[i].width),
                           half_of(planes[i].height));
    for (const Size& size : planes) workspace_->reserve(carve(Carver(nullptr), size).bytes);
}

double FloatMotion::plane(const Plane& before, const Plane& now, const std::optional<Resampling>& half) const {
    const Memory m = carve(Carver(workspace_->block()), {now.width, now.height});
    FloatMotionPair pair = {FloatPicture::of(before), FloatPicture::of(now), blur_.data(),
                            static_cast<int>(blur_.size())};
    if (half) {
        pair.before_blurred = m.whole[0].data;
        pair.now_blurred = m.whole[1].data;
        pair.stride = m.whole[0].stride;
    }
    const float sad = kernels_.float_motion->sad(pair, m.scratch);
    const float mean = sad / static_cast<float>(now.width * now.height);
    if (!half) return static_cast<double>(mean);
    const int width = half->x.size, height = half->y.size;
    FloatPicture pictures[2];
    for (int i = 0; i < 2; ++i) {
        const auto& [data, stride] = m.whole[i];
        kernels_.float_vif->resample(FloatPicture::of(data, stride, now.width, now.height), *half, m.scratch,
                                     m.half[i].data, m.half[i].stride);
        pictures[i] = FloatPicture::of(m.half[i].data, m.half[i].stride, width, height);
    }
    const float half_sad =
        kernels_.float_motion->sad({pictures[0], pictures[1], kBlur1.data(), 1}, m.scratch);
    return static_cast<double>(mean + half_sad / static_cast<float>(width * height));
}

double FloatMotion::run(const std::vector<Plane>& before, const std::vector<Plane>& now) const {
    double sum = 0;
    for (std::size_t i = 0; i < halves_.size(); ++i) sum += plane(before[i], now[i], halves_[i]);
    return sum;
}

}  // namespace acuity
