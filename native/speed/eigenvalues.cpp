// The implicit QR method with shifts. Every rounding counts: sums and products are in the metric's order.
#include "speed/eigenvalues.h"

#include <cmath>

namespace acuity {

namespace {

constexpr double kNegligible = 1e-6;  // of the neighbours on the diagonal
constexpr int kMostSteps = 500;

float hypotenuse(float a, float b) { return std::sqrt(a * a + b * b); }

void drop_negligible(const float* d, float* b, int size) {
    for (int i = 0; i + 1 < size; ++i)
        if (std::fabs(b[i]) < kNegligible * (std::fabs(d[i]) + std::fabs(d[i + 1]))) b[i] = 0.0f;
}

// The eigenvalue of the last 2x2 corner that is nearer to its last value.
float shift_of(const float* d, const float* b, int size) {
    const float last = d[size - 1], off = b[size - 2];
    const float half = (d[size - 2] - last) / 2.0f;
    if (half > 0) return last - off * (off / (half + hypotenuse(half, off)));
    if (half == 0) return last - std::fabs(off);
    return last + off * (off / (-half + hypotenuse(half, off)));
}

struct Rotation {
    float c = 1.0f, s = 0.0f;

    // The rotation that makes b of (a, b) zero.
    Rotation(float a, float b) {
        if (b == 0) return;
        const bool steep = std::fabs(b) > std::fabs(a);
        const float t = steep ? -a / b : -b / a;
        const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(1 + t * t)));
        c = steep ? scale * t : scale;
        s = steep ? scale : scale * t;
    }
};

// Two neighbours of the diagonal and the value between them.
struct Corner {
    float first, between, second;

    Corner turned(const Rotation& g) const {
        const float c = g.c, s = g.s;
        const float down = s * first + c * between, right = s * between + c * second;
        return {c * (c * first - s * between) + s * (s * second - c * between), c * down - s * right,
                s * down + c * right};
    }
};

// One sweep of rotations over a block that doesn't fall apart.
void sweep(float* d, float* b, int size) {
    float shift = shift_of(d, b, size);
    if (kNegligible * std::fabs(shift) > std::fabs(d[0]) + std::fabs(b[0])) shift = 0;
    float x = d[0] - shift, z = b[0];  // the pair that the next rotation turns into (something, 0)
    Corner corner = {d[0], b[0], d[1]};
    for (int k = 0; k + 1 < size; ++k) {
        const Rotation g(x, z);
        if (k > 0) b[k - 1] = g.c * x - g.s * z;
        corner = corner.turned(g);
        d[k] = corner.first;
        b[k] = x = corner.between;
        if (k + 2 == size) break;
        z = -g.s * b[k + 1];
        corner = {corner.second, g.c * b[k + 1], d[k + 2]};
    }
    d[size - 1] = corner.second;
}

}  // namespace

void speed_eigenvalues(float* diagonal, float* beside, int size) {
    drop_negligible(diagonal, beside, size);
    int steps = 0;
    for (int end = size - 1; end > 0 && steps < kMostSteps;) {
        if (beside[end - 1] == 0.0f) {
            --end;
            continue;
        }
        int start = end - 1;
        while (start > 0 && beside[start - 1] != 0.0f) --start;
        const int length = end - start + 1;
        sweep(diagonal + start, beside + start, length);
        drop_negligible(diagonal + start, beside + start, length);
        ++steps;
    }
}

float speed_reflector(float* v, int size, float& first) {
    first = v[0];
    float squares = 0;
    for (int i = 1; i < size; ++i) squares += v[i] * v[i];
    const float rest = std::sqrt(squares);
    if (rest == 0.0f) return 0.0f;
    const float alpha = v[0];
    const float length = hypotenuse(alpha, rest), beta = alpha >= 0 ? -length : length;
    const float tau = (beta - alpha) / beta, scale = alpha - beta;
    if (scale != 0.0f) {
        for (int i = 0; i < size; ++i) v[i] /= scale;
        first = beta;
    }
    v[0] = 1.0f;
    return tau;
}

}  // namespace acuity
