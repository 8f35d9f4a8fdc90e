#define ACUITY_ISA plain

#include <algorithm>
#include <cmath>

#include "core/plain.h"
#include "psnr_hvs/table.h"
#include "psnr_hvs/transform.h"

namespace acuity::plain {

namespace {

using Block = std::int32_t[kHvsArea];

void read_block(const Plane& plane, int x, int y, Block& block) {
    for (int i = 0; i < 8; ++i) {
        const Row row(plane, y + i, plane.depth == 8);
        for (int j = 0; j < 8; ++j) block[i * 8 + j] = static_cast<std::int32_t>(row[x + j]);
    }
}

int quarter_of(int i, int j) { return i / 4 + j / 4 * 2; }

// How much of the block's variance is inside its quarters: edges hide less than texture.
float texture(const Block& block) {
    float mean = 0, means[4] = {};
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j) {
            mean += static_cast<float>(block[i * 8 + j]);
            means[quarter_of(i, j)] += static_cast<float>(block[i * 8 + j]);
        }
    mean /= 64.0f;
    for (float& m : means) m /= 16.0f;

    float whole = 0, quarters[4] = {};
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 8; ++j) {
            const float value = static_cast<float>(block[i * 8 + j]);
            const int quarter = quarter_of(i, j);
            whole += (value - mean) * (value - mean);
            quarters[quarter] += (value - means[quarter]) * (value - means[quarter]);
        }
    whole *= 1 / 63.0f * 64;
    for (float& q : quarters) q *= 1 / 15.0f * 16;
    return whole > 0 ? (quarters[0] + quarters[1] + quarters[2] + quarters[3]) / whole : whole;
}

// How much error the frequencies of a block can hide.
float hidden(const Block& frequencies, float texture, const HvsWeights& weights) {
    float energy = 0;
    for (int k = 1; k < kHvsArea; ++k)
        energy += static_cast<float>(frequencies[k] * frequencies[k]) * weights.masking[k];
    return std::sqrt(energy * texture) / 32.0f;
}

float weighed_error(const Plane& ref, const Plane& dis, const HvsWeights& weights) {
    float sum = 0;
    for (int y = 0; y + kHvsBlock <= ref.height; y += kHvsStep)
        for (int x = 0; x + kHvsBlock <= ref.width; x += kHvsStep) {
            Block r, d;
            read_block(ref, x, y, r);
            read_block(dis, x, y, d);
            const float r_texture = texture(r), d_texture = texture(d);
            transform_8x8(r);
            transform_8x8(d);
            const float mask = std::max(hidden(r, r_texture, weights), hidden(d, d_texture, weights));
            for (int k = 0; k < kHvsArea; ++k) {
                float error = static_cast<float>(std::abs(r[k] - d[k]));
                if (k > 0) error = std::max(error - mask / weights.masking[k], 0.0f);
                sum += (error * weights.sensitivity[k]) * (error * weights.sensitivity[k]);
            }
        }
    return sum;
}

}  // namespace

extern const PsnrHvsKernels psnr_hvs_kernels;
const PsnrHvsKernels psnr_hvs_kernels = {.weighed_error = weighed_error};

}  // namespace acuity::plain
