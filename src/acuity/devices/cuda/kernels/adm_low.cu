// ADM for no gain limit: low-pass bands alone.
constexpr int kGains = 0;
constexpr bool kAim = false;
#include "adm_kernels.cuh"
