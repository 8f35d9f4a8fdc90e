// ADM's scale 0, low-pass bands alone.
constexpr int kGains = 0;
constexpr bool kAim = false;
#include "adm_scale0.cuh"
