// ADM's scales 1 to 3, for two gain limits.
constexpr int kGains = 2;
constexpr bool kAim = false;
#include "adm_scales.cuh"
