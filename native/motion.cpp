#include "motion.h"

namespace acuity {

Motion::Motion(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height)
    : workspace_(std::move(workspace)), kernels_(kernels) {
    workspace_->reserve(kernels.scratch_bytes(width, height));
}

double Motion::run(const Plane& before, const Plane& now) const {
    const std::uint64_t sad = kernels_.motion_sad(before, now, workspace_->block());
    const auto area = static_cast<std::uint32_t>(now.width) * static_cast<std::uint32_t>(now.height);
    return static_cast<double>(sad) / 256.0 / area;
}

}  // namespace acuity
