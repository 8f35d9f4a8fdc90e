// Single precision in half registers and double precision in whole ones, with the same number of lanes.
//
// The compiler converts between such vectors by quarters, so each instruction set defines its own conversion.
#pragma once

#include "simd/isa.h"

namespace acuity::ACUITY_ISA {

using F32h [[gnu::vector_size(kBytes / 2), gnu::may_alias]] = float;

#if defined(ACUITY_ISA_AVX512)

inline F64 widen(F32h v) { return as<F64>(_mm512_cvtps_pd(reinterpret_cast<__m256>(v))); }
inline F32h narrow(F64 v) { return as<F32h>(_mm512_cvtpd_ps(reinterpret_cast<__m512d>(v))); }
inline F32h root(F32h v) { return as<F32h>(_mm256_sqrt_ps(reinterpret_cast<__m256>(v))); }

#elif defined(ACUITY_ISA_AVX2)

inline F64 widen(F32h v) { return as<F64>(_mm256_cvtps_pd(reinterpret_cast<__m128>(v))); }
inline F32h narrow(F64 v) { return as<F32h>(_mm256_cvtpd_ps(reinterpret_cast<__m256d>(v))); }
inline F32h root(F32h v) { return as<F32h>(_mm_sqrt_ps(reinterpret_cast<__m128>(v))); }

#elif defined(ACUITY_ISA_SSE4)

// The upper half of these is zero.
inline __m128 whole(F32h v) { return _mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(&v))); }
inline F32h lower(__m128 v) {
    F32h half;
    _mm_storel_epi64(reinterpret_cast<__m128i*>(&half), _mm_castps_si128(v));
    return half;
}
inline F64 widen(F32h v) { return as<F64>(_mm_cvtps_pd(whole(v))); }
inline F32h narrow(F64 v) { return lower(_mm_cvtpd_ps(reinterpret_cast<__m128d>(v))); }
inline F32h root(F32h v) { return lower(_mm_sqrt_ps(whole(v))); }

#elif defined(ACUITY_ISA_NEON)

inline F64 widen(F32h v) { return as<F64>(vcvt_f64_f32(reinterpret_cast<float32x2_t>(v))); }
inline F32h narrow(F64 v) { return as<F32h>(vcvt_f32_f64(reinterpret_cast<float64x2_t>(v))); }
inline F32h root(F32h v) { return as<F32h>(vsqrt_f32(reinterpret_cast<float32x2_t>(v))); }

#endif

inline F64 widen(const float* p) { return widen(load<F32h>(p)); }

}  // namespace acuity::ACUITY_ISA
