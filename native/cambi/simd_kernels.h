// The fast kernels of one instruction set, one file each.
#pragma once

#include "cambi/table.h"
#include "simd/isa.h"

namespace acuity::ACUITY_ISA {

void cambi_flatten(const CambiSource& source, void* scratch, CambiPlane out);
void cambi_filter(CambiPlane plane, int width, int height, int step, const CambiLevels& levels, void* scratch,
                  CambiSurvey& out);
void cambi_contrast(const CambiScale& scale, void* scratch, CambiContrasts& out);
unsigned __int128 cambi_largest(std::uint32_t* list, std::int64_t listed, std::int64_t count, std::uint32_t* bins);

}  // namespace acuity::ACUITY_ISA
