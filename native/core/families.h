// The kernel families: one line each. native/<name>/ holds
//
//     table.h     struct <Type>Kernels: the functions' signatures, and the constants of their arithmetic
//     plain.cpp   the plain twin, which the fast path must equal
//     simd.cpp    the fast path, compiled once for each instruction set
//     module.cpp  bind_<name>(): its Python class or function
//     check.cpp   check_<name>(): its part of native_check
//
// and <name>.cpp if a picture pair takes more than one call. Larger families also have plain_*.cpp, simd_*.cpp
// and *_simd.h.
#pragma once

#define ACUITY_FAMILIES(X) \
    X(Adm, adm) \
    X(Ansnr, ansnr) \
    X(Cambi, cambi) \
    X(Ciede, ciede) \
    X(FloatAdm, float_adm) \
    X(FloatMotion, float_motion) \
    X(FloatVif, float_vif) \
    X(IntegerSsim, integer_ssim) \
    X(Moment, moment) \
    X(Motion, motion) \
    X(Psnr, psnr) \
    X(PsnrHvs, psnr_hvs) \
    X(Samples, samples) \
    X(Signature, signature) \
    X(Speed, speed) \
    X(Ssim, ssim) \
    X(Ssimulacra2, ssimulacra2) \
    X(Vif, vif) \
    X(Xpsnr, xpsnr)

// The families whose kernels take dot products, of words (dot2 in simd/) or of bytes: the set that has an instruction
// for them compiles these alone, and shares all others with the set before it.
#if defined(__x86_64__)
#define ACUITY_DOT_FAMILIES(X) X(Adm, adm) X(Motion, motion) X(Vif, vif)
#else
#define ACUITY_DOT_FAMILIES(X) X(Psnr, psnr) X(Vif, vif)
#endif
