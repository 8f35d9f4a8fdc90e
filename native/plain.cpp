#include "plain.h"

#include <algorithm>

namespace acuity {

namespace {

std::size_t scratch_bytes(int width, int height) {
    return std::max({plain::vif_scratch_bytes(width, height), plain::adm_scratch_bytes(width, height),
                     plain::motion_scratch_bytes(width, height)});
}

}  // namespace

namespace plain {

#define ACUITY_EXTERN(Type, name) extern const Type##Kernels name##_kernels;
ACUITY_FAMILIES(ACUITY_EXTERN)
#undef ACUITY_EXTERN

}  // namespace plain

extern const Kernels kernels_plain;
const Kernels kernels_plain = {
    .name = "plain",
    .scratch_bytes = scratch_bytes,
    .vif_statistic = plain::vif_statistic,
    .vif_decimate = plain::vif_decimate,
    .adm_scale = plain::adm_scale,
    .motion_sad = plain::motion_sad,
#define ACUITY_ENTRY(Type, name) .name = &plain::name##_kernels,
    ACUITY_FAMILIES(ACUITY_ENTRY)
#undef ACUITY_ENTRY
};

}  // namespace acuity
