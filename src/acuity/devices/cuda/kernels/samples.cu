// Counts samples that are deeper than the video says.
#include "pictures.cuh"

// A block takes every gridDim.x-th row of a plane of both pictures; blockIdx.y is the plane.
extern "C" __global__ void count_deep(const Frame* frames, int width, int height, int chroma_width, int chroma_height,
                                      int most, u64* sums) {
    const Frame& frame = frames[blockIdx.z];
    const int plane = blockIdx.y;
    const int columns = plane == 0 ? width : chroma_width, rows = plane == 0 ? height : chroma_height;
    u32 found = 0;
    for (int y = blockIdx.x; y < rows; y += gridDim.x) {
        const u16* ref = row_of<u16>(frame.ref, plane, y);
        const u16* dis = row_of<u16>(frame.dis, plane, y);
        for (int x = threadIdx.x; x < columns; x += blockDim.x) found += (ref[x] > most) + (dis[x] > most);
    }
    add_block_sum(found, sums + blockIdx.z);
}
