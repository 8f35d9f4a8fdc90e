// ADM's scale 0: reads the pictures. A program sets kGains and kAim before it includes this: how many gain limits
// a pass serves, and whether it sums the additive impairment too.
#pragma once
#include "adm_strip.cuh"

namespace {

// Warps that a processor has room for: the registers they get are a trade against instructions.
constexpr int kMost8 = kGains + kAim < 2 ? 28 : 18, kMost16 = 16;

template <class T>
__device__ __forceinline__ void scale0(const Frame* frames, const AdmPlan& plan, u8* low, u64* row_sums) {
    const auto input = [&](const Picture& picture) {
        return AdmInput{picture.plane[0], picture.pitch[0], plan.input_width, plan.input_height};
    };
    const Frame& frame = frames[blockIdx.z];
    adm_segment<0, T, AdmFine, kGains, kAim>(input(frame.ref), input(frame.dis), plan, low_of(low, plan),
                                             rows_of(row_sums, plan));
}

}  // namespace

extern "C" __global__ void __launch_bounds__(32, kMost8)
    adm_scale0_8(const Frame* frames, const AdmPlan* plan, u8* low, u64* row_sums) {
    scale0<u8>(frames, AdmPlan(*plan), low, row_sums);
}

extern "C" __global__ void __launch_bounds__(32, kMost16)
    adm_scale0_16(const Frame* frames, const AdmPlan* plan, u8* low, u64* row_sums) {
    scale0<u16>(frames, AdmPlan(*plan), low, row_sums);
}
