#include "ansnr/table.h"
#include "core/plain.h"

namespace acuity::plain {

namespace {

// Samples as single-precision numbers of 8 bits' range, grey being 0, mirrored at the edges.
class Picture {
  public:
    explicit Picture(const Plane& plane) : plane_(plane), unit_(static_cast<float>(1 << (plane.depth - 8))) {}

    float operator()(int x, int y) const {
        const Row row(plane_, ansnr_mirror(y, plane_.height), plane_.depth == 8);
        return static_cast<float>(row[ansnr_mirror(x, plane_.width)]) / unit_ - 128.0f;
    }

  private:
    const Plane& plane_;
    float unit_;
};

float smooth_reference(const Picture& picture, int x, int y) {
    static constexpr float kTaps[3] = {1.0f, 2.0f, 1.0f};
    float sum = 0;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) sum += kTaps[i] * kTaps[j] / 16.0f * picture(x + j - 1, y + i - 1);
    return sum;
}

float smooth_distorted(const Picture& picture, int x, int y) {
    float sum = 0;
    for (int i = 0; i < 5; ++i) {
        float row = 0;
        for (int j = 0; j < 5; ++j)
            row += static_cast<float>(kAnsnrTaps[i][j]) / kAnsnrWhole * picture(x + j - 2, y + i - 2);
        sum += row;
    }
    return sum;
}

void sums(const Plane& ref, const Plane& dis, void*, AnsnrSums& out) {
    const Picture r(ref), d(dis);
    out = {};
    for (int y = 0; y < ref.height; ++y) {
        float signal = 0, noise = 0;
        for (int x = 0; x < ref.width; ++x) {
            const float value = smooth_reference(r, x, y), error = value - smooth_distorted(d, x, y);
            signal += value * value;
            noise += error * error;
        }
        out.signal += signal;
        out.noise += noise;
    }
}

}  // namespace

extern const AnsnrKernels ansnr_kernels;
const AnsnrKernels ansnr_kernels = {.sums = sums};

}  // namespace acuity::plain
