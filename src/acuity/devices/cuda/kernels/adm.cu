// Adds up ADM's sums of rows: each row's are complete and rounded before. They are 0 again after that.
#include "pictures.cuh"

// What rounds and shifts the rows of one scale.
struct AdmRows {
    i32 before, first, last;  // rows of finer scales; rows summed, to before the last
    i32 shift, den_shift;
    u64 add[3], den_add;
};

// Blocks are words of scales of frames.
extern "C" __global__ void adm_add_rows(u64* row_sums, const AdmRows* scales, int rows_a_frame, u64* sums) {
    const int words = gridDim.x, word = blockIdx.x;
    const AdmRows rows = scales[blockIdx.y];
    u64* const from = row_sums + (static_cast<i64>(blockIdx.z) * rows_a_frame + rows.before) * words + word;
    const bool den = word < 3;
    const u64 add = den ? rows.den_add : word % 3 == 0 ? rows.add[0] : word % 3 == 1 ? rows.add[1] : rows.add[2];
    u64 total = 0;
    for (int y = rows.first + static_cast<int>(threadIdx.x); y < rows.last; y += blockDim.x) {
        u64& row = from[static_cast<i64>(y) * words];
        const u64 sum = row + add;
        row = 0;
        total += den ? sum >> rows.den_shift : static_cast<u64>(static_cast<i64>(sum) >> rows.shift);
    }
    add_block_sum(total, sums + (static_cast<i64>(blockIdx.z) * gridDim.y + blockIdx.y) * words + word);
}
