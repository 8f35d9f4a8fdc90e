// ADM's scale 0, for one gain limit, and the additive impairment.
constexpr int kGains = 1;
constexpr bool kAim = true;
#include "adm_scale0.cuh"
