// SSIMULACRA 2: errors of structure and of edges in a space of perceived colour, at several scales.
//
// Kernels of a slab, in their order; blockIdx.z is the frame. Light is taken scale by scale, the rest at all at once.
// They work on copies of what they are told, which stay in registers: memory might change by what they write.
#include "ssimulacra2/blur.cuh"
#include "ssimulacra2/colour.cuh"
#include "ssimulacra2/errors.cuh"

extern "C" __global__ void __launch_bounds__(256)
    ssimulacra2_take_8(const Frame* frames, const Ssimulacra2Colour* colour, const Ssimulacra2Scale* scale,
                       const Ssimulacra2Scale* next, int slab) {
    take_samples<u8>(frames, Ssimulacra2Colour(*colour), Ssimulacra2Scale(*scale), next, slab);
}

extern "C" __global__ void __launch_bounds__(256)
    ssimulacra2_take_16(const Frame* frames, const Ssimulacra2Colour* colour, const Ssimulacra2Scale* scale,
                        const Ssimulacra2Scale* next, int slab) {
    take_samples<u16>(frames, Ssimulacra2Colour(*colour), Ssimulacra2Scale(*scale), next, slab);
}

// The same at the scales after the first.
extern "C" __global__ void __launch_bounds__(256)
    ssimulacra2_take_light(const Ssimulacra2Colour* colour, const Ssimulacra2Scale* scale,
                           const Ssimulacra2Scale* next, int slab) {
    take_light(Ssimulacra2Colour(*colour), Ssimulacra2Scale(*scale), next, slab);
}

extern "C" __global__ void __launch_bounds__(kAcrossThreads)
    ssimulacra2_across(const Ssimulacra2Scale* scales, int count, int slab) {
    int block = blockIdx.x;
    const Ssimulacra2Scale of = scale_of(scales, count, kAcross, block);
    blur_across(of, slab, block);
}

extern "C" __global__ void __launch_bounds__(kDownThreads, 3)
    ssimulacra2_down(const Ssimulacra2Scale* scales, int count, int slab) {
    int block = blockIdx.x;
    const Ssimulacra2Scale of = scale_of(scales, count, kDown, block);
    blur_down(of, slab, block);
}

extern "C" __global__ void __launch_bounds__(kErrorsThreads)
    ssimulacra2_plain(const Ssimulacra2Scale* scales, int count, int slab) {
    int chunk = blockIdx.x;
    const Ssimulacra2Scale of = scale_of(scales, count, kErrors, chunk);
    sum_plainly(of, slab, chunk);
}

// Warps (x) of a scale's sums, which are kChains of a frame's `words` for each scale and channel.
extern "C" __global__ void __launch_bounds__(32)
    ssimulacra2_reach(const Ssimulacra2Scale* scales, const double* sums, int words, int slab) {
    const int scale = blockIdx.x / kChains, chain = blockIdx.x % kChains;
    const i64 at = static_cast<i64>(blockIdx.z) * words + (scale * kChannels + blockIdx.y) * kChains + chain;
    const Ssimulacra2Scale of = scales[scale];
    find_reached(of, slab, chain, sums[at]);
}

extern "C" __global__ void __launch_bounds__(kErrorsThreads)
    ssimulacra2_grow(const Ssimulacra2Scale* scales, int count, int slab) {
    int chunk = blockIdx.x;
    const Ssimulacra2Scale of = scale_of(scales, count, kErrors, chunk);
    find_chunk_growths(of, slab, chunk);
}

extern "C" __global__ void __launch_bounds__(32)
    ssimulacra2_add(const Ssimulacra2Scale* scales, double* sums, int words, int slab) {
    const int scale = blockIdx.x / kChains, chain = blockIdx.x % kChains;
    const i64 at = static_cast<i64>(blockIdx.z) * words + (scale * kChannels + blockIdx.y) * kChains + chain;
    const Ssimulacra2Scale of = scales[scale];
    const double found = add_chunks(of, slab, chain, sums[at]);
    if (threadIdx.x == 0) sums[at] = found;
}
