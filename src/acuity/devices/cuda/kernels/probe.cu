// Probe: a sum over all threads, and a product that is rounded before something is added to it.
#include "pictures.cuh"

extern "C" __global__ void probe(u32 seed, float a, float b, float c, u64* sums) {
    const u32 thread = blockIdx.x * blockDim.x + threadIdx.x;
    add_block_sum((thread + seed) * 2654435761u, sums);
    if (thread == 0) *reinterpret_cast<float*>(sums + 1) = a * b + c;
}
