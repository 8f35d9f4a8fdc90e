// SpEED of two planes, or of what changed in them.
#pragma once

#include <memory>
#include <vector>

#include "core/workspace.h"
#include "speed/plan.h"
#include "speed/table.h"

namespace acuity {

class Speed {
  public:
    // The settings that make scores of the statistics.
    struct Weighing {
        float sigma_nn;  // deviation of neural noise
        float nn_floor;  // entropy below that noise, raised by this part, is not seen
        int mode;        // which variances weigh the entropies; below kModes
    };
    static constexpr int kModes = 7;

    struct Result {
        bool unstable;              // the covariance of one plane or of both is singular
        std::vector<float> scores;  // one for each weighing
    };

    Speed(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height,
          const SpeedOptions& options, std::vector<Weighing> weighings);

    Result run(const SpeedSource& ref, const SpeedSource& dis) const;

  private:
    // Statistics of one plane.
    struct Side {
        bool regular;
        float eigenvalues[kSpeedCells];
        float *variances, *entropies;  // one for each block
    };
    // The scratch block: see carve().
    struct Memory {
        float *scratch, *reduced, *centred;
        std::ptrdiff_t stride;
        Side ref, dis;
    };

    Memory carve(Carver& carver) const;
    void describe(const SpeedSource& source, const Memory& memory, Side& side) const;
    float score(const Weighing& weighing, const Side& ref, const Side& dis) const;

    std::shared_ptr<Workspace> workspace_;
    const SpeedKernels& kernels_;
    int width_;
    SpeedPlan plan_;
    std::vector<Weighing> weighings_;
};

}  // namespace acuity
