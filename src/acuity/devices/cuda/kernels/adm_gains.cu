// ADM for two gain limits.
constexpr int kGains = 2;
constexpr bool kAim = false;
#include "adm_kernels.cuh"
