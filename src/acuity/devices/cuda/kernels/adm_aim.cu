// ADM for one gain limit and the additive impairment.
constexpr int kGains = 1;
constexpr bool kAim = true;
#include "adm_kernels.cuh"
