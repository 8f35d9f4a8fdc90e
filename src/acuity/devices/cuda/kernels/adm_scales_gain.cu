// ADM's scales 1 to 3, for one gain limit.
constexpr int kGains = 1;
constexpr bool kAim = false;
#include "adm_scales.cuh"
