// The SIMD sources as a kernel table. Each kernels_<set>.cpp includes its vocabulary, then this.
#pragma once

#include "adm_simd.h"
#include "kernels.h"
#include "motion_simd.h"
#include "vif_halve_simd.h"
#include "vif_simd.h"

// The set whose family kernels this one uses: its own, unless the including file says otherwise.
#ifndef ACUITY_FAMILY_ISA
#define ACUITY_FAMILY_ISA ACUITY_ISA
#endif

namespace acuity::ACUITY_FAMILY_ISA {

#define ACUITY_EXTERN(Type, name) extern const Type##Kernels name##_kernels;
ACUITY_FAMILIES(ACUITY_EXTERN)
#undef ACUITY_EXTERN

}  // namespace acuity::ACUITY_FAMILY_ISA

namespace acuity::ACUITY_ISA {

inline std::size_t scratch_bytes(int width, int height) {
    const std::size_t wanted[] = {sizeof(VifScratch), sizeof(HalveScratch), adm_scratch_bytes(width, height),
                                  motion_scratch_bytes(width, height)};
    std::size_t most = 0;
    for (const std::size_t bytes : wanted) most = bytes > most ? bytes : most;
    return most;
}

constexpr Kernels table(const char* name) {
    return {
        .name = name,
        .scratch_bytes = scratch_bytes,
        .vif_statistic = vif_statistic,
        .vif_decimate = vif_decimate,
        .adm_scale = adm_scale,
        .motion_sad = motion_sad,
#define ACUITY_ENTRY(Type, name) .name = &ACUITY_FAMILY_ISA::name##_kernels,
        ACUITY_FAMILIES(ACUITY_ENTRY)
#undef ACUITY_ENTRY
    };
}

}  // namespace acuity::ACUITY_ISA
