// ADM's kernels: wavelet transform, decoupling, contrast masking and sums of one scale in one pass.
//
// A program sets kGains and kAim before it includes this: how many gain limits a pass serves, and whether it
// sums the additive impairment too.
#pragma once
#include "adm_strip.cuh"

namespace {

// Warps that a processor has room for: the registers they get are a trade against instructions.
constexpr int kMost8 = kGains + kAim < 2 ? 28 : 20, kMost = 16;

// Sums of rows are those of the frame, from this scale's first row on.
__device__ __forceinline__ u64* rows_of(u64* row_sums, const AdmPlan& plan) {
    return row_sums + (static_cast<i64>(blockIdx.z) * plan.rows_a_frame + plan.rows_before) * plan.row_words;
}

// Low-pass bands of a frame: the reference's, then the distorted picture's.
__device__ __forceinline__ u8* low_of(u8* low, const AdmPlan& plan) { return low + blockIdx.z * 2 * plan.low_size; }

template <class T>
__device__ __forceinline__ void fine(const Frame* frames, const AdmPlan& plan, u8* low, u64* row_sums) {
    const auto input = [&](const Picture& picture) {
        return AdmInput{picture.plane[0], picture.pitch[0], plan.input_width, plan.input_height};
    };
    const Frame& frame = frames[blockIdx.z];
    adm_segment<0, T, AdmFine, kGains, kAim>(input(frame.ref), input(frame.dis), plan, low_of(low, plan),
                                             rows_of(row_sums, plan));
}

template <int kScale, class T>
__device__ __forceinline__ void coarse(const u8* in, const AdmPlan& plan, u8* low, u64* row_sums) {
    const u8* const ref = in + blockIdx.z * 2 * plan.input_size;
    const auto input = [&](const u8* rows) {
        return AdmInput{rows, plan.input_pitch, plan.input_width, plan.input_height};
    };
    adm_segment<kScale, T, AdmCoarse, kGains, kAim>(input(ref), input(ref + plan.input_size), plan,
                                                            low_of(low, plan), rows_of(row_sums, plan));
}

}  // namespace

extern "C" __global__ void __launch_bounds__(32, kMost8)
    adm_scale0_8(const Frame* frames, AdmPlan plan, u8* low, u64* row_sums) {
    fine<u8>(frames, plan, low, row_sums);
}

extern "C" __global__ void __launch_bounds__(32, kMost)
    adm_scale0_16(const Frame* frames, AdmPlan plan, u8* low, u64* row_sums) {
    fine<u16>(frames, plan, low, row_sums);
}

extern "C" __global__ void __launch_bounds__(32, kMost)
    adm_scale1(const u8* in, AdmPlan plan, u8* low, u64* row_sums) {
    coarse<1, i16>(in, plan, low, row_sums);
}

extern "C" __global__ void __launch_bounds__(32, kMost)
    adm_scale2(const u8* in, AdmPlan plan, u8* low, u64* row_sums) {
    coarse<2, i32>(in, plan, low, row_sums);
}
