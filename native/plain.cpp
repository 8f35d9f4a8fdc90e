#include "plain.h"

#include <algorithm>

namespace acuity {

namespace {

std::size_t scratch_bytes(int width, int height) {
    return std::max({plain::vif_scratch_bytes(width, height), plain::adm_scratch_bytes(width, height),
                     plain::motion_scratch_bytes(width, height)});
}

}  // namespace

extern const Kernels kernels_plain;
const Kernels kernels_plain = {
    .name = "plain",
    .scratch_bytes = scratch_bytes,
    .vif_statistic = plain::vif_statistic,
    .vif_decimate = plain::vif_decimate,
    .adm_scale = plain::adm_scale,
    .motion_sad = plain::motion_sad,
};

}  // namespace acuity
