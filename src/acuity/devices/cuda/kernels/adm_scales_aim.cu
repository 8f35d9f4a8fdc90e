// ADM's scales 1 to 3, for one gain limit, and the additive impairment.
constexpr int kGains = 1;
constexpr bool kAim = true;
#include "adm_scales.cuh"
