// ADM for one gain limit.
constexpr int kGains = 1;
constexpr bool kAim = false;
#include "adm_kernels.cuh"
