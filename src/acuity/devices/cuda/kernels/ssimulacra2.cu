// SSIMULACRA 2: errors of structure and of edges in a space of perceived colour, at several scales.
//
// Kernels of a slab of a scale, in their order; blockIdx.z is the frame.
#include "ssimulacra2/blur.cuh"
#include "ssimulacra2/colour.cuh"

extern "C" __global__ void __launch_bounds__(256)
    ssimulacra2_take_8(const Frame* frames, const Ssimulacra2Plan* plan, int slab) {
    take_samples<u8>(frames, *plan, slab);
}

extern "C" __global__ void __launch_bounds__(256)
    ssimulacra2_take_16(const Frame* frames, const Ssimulacra2Plan* plan, int slab) {
    take_samples<u16>(frames, *plan, slab);
}

// The same at the scales after the first.
extern "C" __global__ void __launch_bounds__(256)
    ssimulacra2_take_light(const Frame* frames, const Ssimulacra2Plan* plan, int slab) {
    take_light(*plan, slab);
}

extern "C" __global__ void __launch_bounds__(kAcrossThreads)
    ssimulacra2_across(const Ssimulacra2Plan* plan, int slab) {
    blur_across(*plan, slab);
}

extern "C" __global__ void __launch_bounds__(kDownThreads)
    ssimulacra2_down(const Ssimulacra2Plan* plan, int slab) {
    blur_down(*plan, slab);
}

// Sums of a scale's channels, from `first` on of a frame's `words`.
extern "C" __global__ void __launch_bounds__(kAddThreads)
    ssimulacra2_add(const Ssimulacra2Plan* plan, double* sums, int words, int first) {
    add_slab(*plan, sums + static_cast<i64>(blockIdx.z) * words + first + blockIdx.x * kAddThreads);
}
