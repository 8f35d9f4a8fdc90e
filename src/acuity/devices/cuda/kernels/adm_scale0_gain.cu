// ADM's scale 0, for one gain limit.
constexpr int kGains = 1;
constexpr bool kAim = false;
#include "adm_scale0.cuh"
