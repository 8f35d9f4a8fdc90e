// Banding of a picture: flat places, five scales, contrasts, and the sum of the strongest contrasts of each.
#include "cambi/contrast.cuh"
#include "cambi/flatten.cuh"
#include "cambi/pool.cuh"

extern "C" __global__ void cambi_flatten_8_1(const Frame* frames, int reference, int depth, const CambiPlan* plan,
                                             u16* planes) {
    flatten<u8, 1>(frames, reference, depth, *plan, planes);
}

extern "C" __global__ void cambi_flatten_8_2(const Frame* frames, int reference, int depth, const CambiPlan* plan,
                                             u16* planes) {
    flatten<u8, 2>(frames, reference, depth, *plan, planes);
}

extern "C" __global__ void cambi_flatten_16_1(const Frame* frames, int reference, int depth, const CambiPlan* plan,
                                              u16* planes) {
    flatten<u16, 1>(frames, reference, depth, *plan, planes);
}

extern "C" __global__ void cambi_flatten_16_2(const Frame* frames, int reference, int depth, const CambiPlan* plan,
                                              u16* planes) {
    flatten<u16, 2>(frames, reference, depth, *plan, planes);
}

extern "C" __global__ void cambi_shrink(const CambiPlan* plan, int scale, u16* planes) { shrink(*plan, scale, planes); }

// Windows with a radius of 16 at most.
extern "C" __global__ void cambi_contrast_16(const CambiPlan* plan, const u16* planes, float* maps, i64 map_step,
                                             Pool* pools) {
    contrasts<16>(*plan, planes, maps, map_step, pools);
}

// Windows with a radius of 32 at most.
extern "C" __global__ void cambi_contrast_32(const CambiPlan* plan, const u16* planes, float* maps, i64 map_step,
                                             Pool* pools) {
    contrasts<24>(*plan, planes, maps, map_step, pools);
}

extern "C" __global__ void cambi_choose(const CambiPlan* plan, const float* maps, i64 map_step, Pool* pools, int pass,
                                        u64* sums, int words) {
    choose(*plan, maps, map_step, pools, pass, sums, words);
}
