#include "speed/log2.h"
#include "speed/parts.h"

namespace acuity::ACUITY_ISA {

void speed_entropies(const float* eigenvalues, const float* variances, int blocks, float sigma_nn, float* out) {
    for (int j = 0; j < blocks; j += kLanes64) {
        const auto variance = load<HalfF32>(variances + j);
        HalfF32 entropy = {};
        for (int k = 0; k < kSpeedCells; ++k) {
            const float energy = eigenvalues[k] < 0 ? 0 : eigenvalues[k];
            const HalfF32 seen = energy * variance + sigma_nn;
            const F64 bits = speed_log2<F64, U64>(widen(seen)) + kLog2Of2PiE;
            entropy = __builtin_convertvector(widen(entropy) + bits, HalfF32);
        }
        store(out + j, entropy);
    }
}

extern const SpeedKernels speed_kernels;
const SpeedKernels speed_kernels = {.reduce = speed_reduce,
                                    .remove_mean = speed_remove_mean,
                                    .describe = speed_describe,
                                    .entropies = speed_entropies};

}  // namespace acuity::ACUITY_ISA
