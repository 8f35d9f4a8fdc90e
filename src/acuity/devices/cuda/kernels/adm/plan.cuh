// What ADM's kernels are told about a scale, and arithmetic that all scales share.
#pragma once
#include "pictures.cuh"

// A limit of gain. Whole ones, the usual case, multiply as integers. What grows from sizes above `most` needs
// more than 32 bits, and is cut off anyway.
struct AdmGain {
    double value;
    u32 times, most;  // times is 0 if the limit isn't whole
};

// One scale, as twins/adm_plan.py describes it. Sums of each row of the bands are kept in `row_words` words,
// first three denominators and then three of each masking.
struct AdmPlan {
    i32 input_width, input_height;  // of what the wavelet transform reads
    i32 width, height;              // of the bands
    i32 first_row, last_row, first_column, last_column;  // summed: to before the last
    i32 segment;                    // rows that a warp makes
    i32 scale, depth;
    u32 factor[3];
    float cos_squared;
    i32 cube_shift[3], den_shift;
    u32 cube_add[3], den_add;
    i32 input_pitch, low_pitch;     // bytes from row to row of the low-pass bands, input and output
    i64 input_size, low_size;       // bytes of one
    i32 row_words, rows_a_frame, rows_before;  // of the sums of rows: rows_before are those of finer scales
    i32 first_word;                 // of the maskings of this pass
    i32 first_pass;                 // which adds denominators and keeps low-pass bands
    AdmGain gain[2];
};

// The Daubechies 2 wavelet in Q15.
__device__ constexpr i32 kLow[4] = {15826, 27411, 7345, -4240};
__device__ constexpr i32 kHigh[4] = {-4240, -7345, 27411, -15826};
constexpr i32 kLowSum = 46342;

constexpr u32 kWarp = 0xFFFFFFFFu;

__device__ __forceinline__ u32 magnitude(i32 x) { return x < 0 ? 0u - static_cast<u32>(x) : static_cast<u32>(x); }

// x where sign is 0, -x where it is -1.
__device__ __forceinline__ i32 flip(i32 x, i32 sign) { return (x ^ sign) - sign; }

// a * b + c in 64 bits: one instruction, which compilers don't find where they know that b isn't negative.
__device__ __forceinline__ i64 wide(i32 a, i32 b, i64 c) {
#ifdef __CUDA_ARCH__
    i64 found;
    asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(found) : "r"(a), "r"(b), "l"(c));
    return found;
#else
    return static_cast<i64>(a) * b + c;
#endif
}

// The rounded cube of what stands out. The square wraps in 32 bits, with its sign.
template <int kSquareShift>
__device__ __forceinline__ i64 rounded_cube(i32 v, u32 add, i32 shift) {
    const i64 square = wide(v, v, i64(1) << (kSquareShift - 1));
    return wide(static_cast<i32>(square >> kSquareShift), v, add) >> shift;
}

// Whether gradients point the same way to within a degree, given their product and squares.
__device__ __forceinline__ bool surely_parallel(float dot, float ref, float dis, float cos_squared) {
    const double product = dot;
    return product >= 0.0 && product * product >= static_cast<double>(cos_squared) * ref * dis;
}

// The same from products in single precision, which decide unless the limit is closer than all their
// roundings may amount to, one part in 2^19; then `exactly()` does.
template <class Exactly>
__device__ __forceinline__ bool parallel(float rh, float rv, float dh, float dv, float cos_squared, Exactly exactly) {
    const float dot = fmaf(rh, dh, rv * dv), product = fmaf(rh, rh, rv * rv) * fmaf(dh, dh, dv * dv);
    const float square = dot * fabsf(dot);
    const bool yes = square >= product * (cos_squared * (1 + 1.0f / (1 << 19)));
    const bool maybe = square >= product * (cos_squared * (1 - 1.0f / (1 << 19)));
    return yes == maybe ? yes : exactly();
}

// Sizes times a limit of gain, rounded down.
template <int kCount>
__device__ __forceinline__ void grow(const u32 (&sizes)[kCount], const AdmGain& gain, u32 (&out)[kCount]) {
    if (gain.times != 0) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) out[i] = min(sizes[i], gain.most) * gain.times;
    } else {
#pragma unroll
        for (int i = 0; i < kCount; ++i) out[i] = static_cast<u32>(min(sizes[i], gain.most) * gain.value);
    }
}

// 2^30 / m rounded down, for m from 2^14 to 2^15: what single precision may lack is put back.
__device__ __forceinline__ u32 reciprocal(u32 m) {
    float inverse;
#ifdef __CUDA_ARCH__
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(static_cast<float>(m)));
#else
    inverse = 1.0f / static_cast<float>(m);
#endif
    const u32 quotient = static_cast<u32>(1073740800.0f * inverse);
    return quotient + ((1u << 30) - quotient * m >= m ? 1 : 0);
}
