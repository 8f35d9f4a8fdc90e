// The kernel families that live in folders of their own: one line each.
//
// native/<name>/ holds table.h, which declares struct <Type>Kernels; plain.cpp, the plain twin; simd.cpp,
// compiled once for each instruction set; <name>.cpp, what calls them for a picture pair; module.cpp, its
// Python class; and check.cpp, its part of native_check.
#pragma once

#define ACUITY_FAMILIES(X) \
    X(Ansnr, ansnr) \
    X(Cambi, cambi) \
    X(Ciede, ciede) \
    X(FloatAdm, float_adm) \
    X(FloatMotion, float_motion) \
    X(FloatVif, float_vif) \
    X(IntegerSsim, integer_ssim) \
    X(Moment, moment) \
    X(Psnr, psnr) \
    X(PsnrHvs, psnr_hvs) \
    X(Speed, speed) \
    X(Ssim, ssim) \
    X(Ssimulacra2, ssimulacra2) \
    X(Xpsnr, xpsnr)
