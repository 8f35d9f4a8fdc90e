// The SIMD sources as a kernel table. Each kernels_<set>.cpp includes its vocabulary, then this.
#pragma once

#include "kernels.h"
#include "plain.h"
#include "vif_halve_simd.h"
#include "vif_simd.h"

namespace acuity::ACUITY_ISA {

inline std::size_t scratch_bytes(int width, int height) {
    const std::size_t adm = plain::adm_scratch_bytes(width, height);
    const std::size_t vif = sizeof(VifScratch);
    return adm > vif ? adm : vif;
}

constexpr Kernels table(const char* name) {
    return {
        .name = name,
        .scratch_bytes = scratch_bytes,
        .vif_statistic = vif_statistic,
        .vif_decimate = vif_decimate,
        .adm_scale = plain::adm_scale,
        .motion_sad = plain::motion_sad,
    };
}

}  // namespace acuity::ACUITY_ISA
