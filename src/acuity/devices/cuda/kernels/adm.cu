// Adds up ADM's sums of rows: each row's are complete and rounded before.
#include "pictures.cuh"

// What rounds and shifts the rows of one scale: the twin of ROWS in twins/adm.py.
struct AdmRows {
    i32 before, first, last;  // rows of finer scales; rows summed, to before the last
    i32 shift, den_shift;
    u64 add[3], den_add;
};

struct AdmScales {
    AdmRows scale[4];
};

// One warp a block; blocks are words of scales of frames.
extern "C" __global__ void adm_add_rows(const u64* row_sums, AdmScales scales, int rows_a_frame, u64* sums) {
    const int words = gridDim.x, word = blockIdx.x;
    const AdmRows& rows = scales.scale[blockIdx.y];
    const u64* const from = row_sums + (static_cast<i64>(blockIdx.z) * rows_a_frame + rows.before) * words + word;
    const bool den = word < 3;
    const u64 add = den ? rows.den_add : rows.add[word % 3];
    u64 total = 0;
    for (int y = rows.first + static_cast<int>(threadIdx.x); y < rows.last; y += 32) {
        const u64 sum = from[static_cast<i64>(y) * words] + add;
        total += den ? sum >> rows.den_shift : static_cast<u64>(static_cast<i64>(sum) >> rows.shift);
    }
    total = warp_sum(total);
    if (threadIdx.x == 0) atomicAdd(sums + (static_cast<i64>(blockIdx.z) * gridDim.y + blockIdx.y) * words + word, total);
}
