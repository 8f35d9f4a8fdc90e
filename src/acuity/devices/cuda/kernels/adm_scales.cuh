// ADM's scales 1 to 3: they read the low-pass bands of the scale before. See adm_scale0.cuh.
#pragma once
#include "adm_strip.cuh"

namespace {

constexpr int kMost1 = 16, kMost2 = 12;

template <int kScale, class T>
__device__ __forceinline__ void coarse_scale(const u8* in, const AdmPlan& plan, u8* low, u64* row_sums) {
    const u8* const ref = in + blockIdx.z * 2 * plan.input_size;
    const auto input = [&](const u8* rows) {
        return AdmInput{rows, plan.input_pitch, plan.input_width, plan.input_height};
    };
    adm_segment<kScale, T, AdmCoarse, kGains, kAim>(input(ref), input(ref + plan.input_size), plan, low_of(low, plan),
                                                    rows_of(row_sums, plan));
}

}  // namespace

extern "C" __global__ void __launch_bounds__(32, kMost1)
    adm_scale1(const u8* in, const AdmPlan* plan, u8* low, u64* row_sums) {
    coarse_scale<1, i16>(in, AdmPlan(*plan), low, row_sums);
}

// Scale 3 too.
extern "C" __global__ void __launch_bounds__(32, kMost2)
    adm_scale2(const u8* in, const AdmPlan* plan, u8* low, u64* row_sums) {
    coarse_scale<2, i32>(in, AdmPlan(*plan), low, row_sums);
}
