// ADM: wavelet transform, decoupling, contrast masking and sums of one scale in one pass; then rows are added up.
//
// Kernels are named by how many gain limits a pass serves, and `aim` if it sums the additive impairment too.
#include "adm/strip.cuh"

namespace {

// Warps that a processor has room for: the registers they get are a trade against instructions.
constexpr int kRoom8 = 28, kRoom8Two = 20, kRoom16 = 16, kRoom1 = 16, kRoom2 = 12;

// Scale 0 reads the pictures.
template <class T, int kGains, bool kAim>
__device__ __forceinline__ void scale0(const Frame* frames, const AdmPlan& plan, u8* low, u64* row_sums) {
    const auto input = [&](const Picture& picture) {
        return AdmInput{picture.plane[0], picture.pitch[0], plan.input_width, plan.input_height};
    };
    const Frame& frame = frames[blockIdx.z];
    adm_segment<0, T, AdmFine, kGains, kAim>(input(frame.ref), input(frame.dis), plan, low_of(low, plan),
                                             rows_of(row_sums, plan));
}

// The others read the low-pass bands of the scale before.
template <int kScale, class T, int kGains, bool kAim>
__device__ __forceinline__ void coarse(const u8* in, const AdmPlan& plan, u8* low, u64* row_sums) {
    const u8* const ref = in + blockIdx.z * 2 * plan.input_size;
    const auto input = [&](const u8* rows) {
        return AdmInput{rows, plan.input_pitch, plan.input_width, plan.input_height};
    };
    adm_segment<kScale, T, AdmCoarse, kGains, kAim>(input(ref), input(ref + plan.input_size), plan, low_of(low, plan),
                                                    rows_of(row_sums, plan));
}

}  // namespace

// ---- scale 0 ----------------------------------------------------------------------------------

extern "C" __global__ void __launch_bounds__(32, kRoom8)
    adm_scale0_8_one(const Frame* frames, const AdmPlan* plan, u8* low, u64* row_sums) {
    scale0<u8, 1, false>(frames, AdmPlan(*plan), low, row_sums);
}

extern "C" __global__ void __launch_bounds__(32, kRoom8Two)
    adm_scale0_8_two(const Frame* frames, const AdmPlan* plan, u8* low, u64* row_sums) {
    scale0<u8, 2, false>(frames, AdmPlan(*plan), low, row_sums);
}

extern "C" __global__ void __launch_bounds__(32, kRoom8Two)
    adm_scale0_8_aim(const Frame* frames, const AdmPlan* plan, u8* low, u64* row_sums) {
    scale0<u8, 1, true>(frames, AdmPlan(*plan), low, row_sums);
}

extern "C" __global__ void __launch_bounds__(32, kRoom8)
    adm_scale0_8_low(const Frame* frames, const AdmPlan* plan, u8* low, u64* row_sums) {
    scale0<u8, 0, false>(frames, AdmPlan(*plan), low, row_sums);
}

extern "C" __global__ void __launch_bounds__(32, kRoom16)
    adm_scale0_16_one(const Frame* frames, const AdmPlan* plan, u8* low, u64* row_sums) {
    scale0<u16, 1, false>(frames, AdmPlan(*plan), low, row_sums);
}

extern "C" __global__ void __launch_bounds__(32, kRoom16)
    adm_scale0_16_two(const Frame* frames, const AdmPlan* plan, u8* low, u64* row_sums) {
    scale0<u16, 2, false>(frames, AdmPlan(*plan), low, row_sums);
}

extern "C" __global__ void __launch_bounds__(32, kRoom16)
    adm_scale0_16_aim(const Frame* frames, const AdmPlan* plan, u8* low, u64* row_sums) {
    scale0<u16, 1, true>(frames, AdmPlan(*plan), low, row_sums);
}

extern "C" __global__ void __launch_bounds__(32, kRoom16)
    adm_scale0_16_low(const Frame* frames, const AdmPlan* plan, u8* low, u64* row_sums) {
    scale0<u16, 0, false>(frames, AdmPlan(*plan), low, row_sums);
}

// ---- scales 1 to 3, the last two by one kernel ------------------------------------------------

extern "C" __global__ void __launch_bounds__(32, kRoom1)
    adm_scale1_one(const u8* in, const AdmPlan* plan, u8* low, u64* row_sums) {
    coarse<1, i16, 1, false>(in, AdmPlan(*plan), low, row_sums);
}

extern "C" __global__ void __launch_bounds__(32, kRoom1)
    adm_scale1_two(const u8* in, const AdmPlan* plan, u8* low, u64* row_sums) {
    coarse<1, i16, 2, false>(in, AdmPlan(*plan), low, row_sums);
}

extern "C" __global__ void __launch_bounds__(32, kRoom1)
    adm_scale1_aim(const u8* in, const AdmPlan* plan, u8* low, u64* row_sums) {
    coarse<1, i16, 1, true>(in, AdmPlan(*plan), low, row_sums);
}

extern "C" __global__ void __launch_bounds__(32, kRoom2)
    adm_scale2_one(const u8* in, const AdmPlan* plan, u8* low, u64* row_sums) {
    coarse<2, i32, 1, false>(in, AdmPlan(*plan), low, row_sums);
}

extern "C" __global__ void __launch_bounds__(32, kRoom2)
    adm_scale2_two(const u8* in, const AdmPlan* plan, u8* low, u64* row_sums) {
    coarse<2, i32, 2, false>(in, AdmPlan(*plan), low, row_sums);
}

extern "C" __global__ void __launch_bounds__(32, kRoom2)
    adm_scale2_aim(const u8* in, const AdmPlan* plan, u8* low, u64* row_sums) {
    coarse<2, i32, 1, true>(in, AdmPlan(*plan), low, row_sums);
}

// ---- rows -------------------------------------------------------------------------------------

// What rounds and shifts the rows of one scale.
struct AdmRows {
    i32 before, first, last;  // rows of finer scales; rows summed, to before the last
    i32 shift, den_shift;
    u64 add[3], den_add;
};

// Adds up the sums of rows, which are complete, rounded and shifted; leaves them 0 for the next batch. Blocks are
// words of scales of frames.
extern "C" __global__ void adm_add_rows(u64* row_sums, const AdmRows* scales, int rows_a_frame, u64* sums) {
    const int words = gridDim.x, word = blockIdx.x;
    const AdmRows rows = scales[blockIdx.y];
    u64* const from = row_sums + (static_cast<i64>(blockIdx.z) * rows_a_frame + rows.before) * words + word;
    const bool den = word < 3;
    const u64 add = den ? rows.den_add : word % 3 == 0 ? rows.add[0] : word % 3 == 1 ? rows.add[1] : rows.add[2];
    u64 total = 0;
    for (int y = rows.first + static_cast<int>(threadIdx.x); y < rows.last; y += blockDim.x) {
        u64& row = from[static_cast<i64>(y) * words];
        const u64 sum = row + add;
        row = 0;
        total += den ? sum >> rows.den_shift : static_cast<u64>(static_cast<i64>(sum) >> rows.shift);
    }
    add_block_sum(total, sums + (static_cast<i64>(blockIdx.z) * gridDim.y + blockIdx.y) * words + word);
}
