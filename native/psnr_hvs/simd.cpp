// As many blocks at a time as a register has 32-bit lanes, each in a lane of its own.
#include <algorithm>

#include "psnr_hvs/table.h"
#include "simd/isa.h"

#include "psnr_hvs/transform.h"

namespace acuity::ACUITY_ISA {

namespace {

using Blocks = I32[kHvsArea];

template <class Sample>
const Sample* row_of(const Plane& plane, int row) {
    return reinterpret_cast<const Sample*>(static_cast<const unsigned char*>(plane.data) + plane.stride * row);
}

// Blocks that start at (x, y) and beside it, `count` of them; lanes that are left hold the first one again.
template <class Sample>
void read_blocks(const Plane& plane, int x, int y, int count, Blocks& blocks) {
    std::int32_t* lanes = reinterpret_cast<std::int32_t*>(blocks);
    for (int i = 0; i < kHvsBlock; ++i, lanes += kHvsBlock * kLanes32) {
        const Sample* row = row_of<Sample>(plane, y + i) + x;
        for (int lane = 0; lane < kLanes32; ++lane) {
            const Sample* from = row + (lane < count ? lane * kHvsStep : 0);
            for (int j = 0; j < kHvsBlock; ++j) lanes[j * kLanes32 + lane] = from[j];
        }
    }
}

int quarter_of(int i, int j) { return i / 4 + j / 4 * 2; }

// How much of the blocks' variance is inside their quarters: edges hide less than texture.
F32 texture(const Blocks& blocks) {
    I32 sums[4] = {};
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j) sums[quarter_of(i, j)] += blocks[i * 8 + j];
    const F32 mean = to_f32(sums[0] + sums[1] + sums[2] + sums[3]) * (1 / 64.0f);
    F32 means[4];
    for (int q = 0; q < 4; ++q) means[q] = to_f32(sums[q]) * (1 / 16.0f);

    F32 whole = {}, quarters[4] = {};
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j) {
            const F32 value = to_f32(blocks[i * 8 + j]);
            const int quarter = quarter_of(i, j);
            whole += (value - mean) * (value - mean);
            quarters[quarter] += (value - means[quarter]) * (value - means[quarter]);
        }
    whole *= 1 / 63.0f * 64;
    for (F32& q : quarters) q *= 1 / 15.0f * 16;
    const F32 inside = quarters[0] + quarters[1] + quarters[2] + quarters[3];
    return whole > 0.0f ? inside / whole : whole;
}

// How much error the frequencies of each block can hide.
F32 hidden(const Blocks& frequencies, F32 texture, const HvsWeights& weights) {
    F32 energy = {};
    for (int k = 1; k < kHvsArea; ++k) energy += to_f32(frequencies[k] * frequencies[k]) * weights.masking[k];
    return square_root(energy * texture) * (1 / 32.0f);
}

// The squares to be added up, of each frequency and block.
void weighed_errors(Blocks& ref, Blocks& dis, const HvsWeights& weights, F32 (&out)[kHvsArea]) {
    const F32 ref_texture = texture(ref), dis_texture = texture(dis);
    transform_8x8(ref);
    transform_8x8(dis);
    const F32 mask = vmax(hidden(ref, ref_texture, weights), hidden(dis, dis_texture, weights));
    for (int k = 0; k < kHvsArea; ++k) {
        F32 error = to_f32(abs32(ref[k] - dis[k]));
        if (k > 0) error = vmax(error - mask / weights.masking[k], F32{});
        error *= weights.sensitivity[k];
        out[k] = error * error;
    }
}

template <class Sample>
float sum_of(const Plane& ref, const Plane& dis, const HvsWeights& weights) {
    const int across = hvs_blocks(ref.width), down = hvs_blocks(ref.height);
    Blocks r, d;
    F32 errors[kHvsArea];
    const float* const lanes = reinterpret_cast<const float*>(errors);
    float sum = 0;
    for (int row = 0; row < down; ++row)
        for (int first = 0; first < across; first += kLanes32) {
            const int count = std::min(kLanes32, across - first);
            read_blocks<Sample>(ref, first * kHvsStep, row * kHvsStep, count, r);
            read_blocks<Sample>(dis, first * kHvsStep, row * kHvsStep, count, d);
            weighed_errors(r, d, weights, errors);
            for (int lane = 0; lane < count; ++lane)
                for (int k = 0; k < kHvsArea; ++k) sum += lanes[k * kLanes32 + lane];
        }
    return sum;
}

float weighed_error(const Plane& ref, const Plane& dis, const HvsWeights& weights) {
    return ref.depth == 8 ? sum_of<std::uint8_t>(ref, dis, weights) : sum_of<std::uint16_t>(ref, dis, weights);
}

}  // namespace

extern const PsnrHvsKernels psnr_hvs_kernels;
const PsnrHvsKernels psnr_hvs_kernels = {.weighed_error = weighed_error};

}  // namespace acuity::ACUITY_ISA
