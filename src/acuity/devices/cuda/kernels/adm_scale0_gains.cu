// ADM's scale 0, for two gain limits.
constexpr int kGains = 2;
constexpr bool kAim = false;
#include "adm_scale0.cuh"
