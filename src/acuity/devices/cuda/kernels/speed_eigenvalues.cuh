// SpEED: eigenvalues of a covariance, by one warp. Every rounding counts: see native/speed/eigenvalues.cpp.
#pragma once
#include "speed_plan.cuh"

constexpr double kNegligible = 1e-6;  // of the neighbours on the diagonal
constexpr int kMostSweeps = 500;

__device__ __forceinline__ float hypotenuse(float a, float b) { return sqrtf(a * a + b * b); }

// 1 / sqrt(x) for x between 1 and 2: both steps in double precision, then rounded.
//
// Newton's way in two floats is as good, unless it comes close to the middle between two floats.
__device__ __forceinline__ float reciprocal_root(float x) {
    constexpr float kTie = 0x1p-25f, kNear = 0x1p-40f;  // results are between 1/2 and 1
    const float guess = rsqrtf(x);
    const float square = guess * guess;
    const float error = __fmaf_rn(-x, __fmaf_rn(guess, guess, -square), __fmaf_rn(-x, square, 1.0f));
    const float correction = guess * (0.5f * error);
    const float root = guess + correction;
    const float rest = fabsf(correction - (root - guess));
    if (fabsf(rest - kTie) > kNear) return root;
    return static_cast<float>(1.0 / sqrt(static_cast<double>(x)));
}

// A matrix that becomes tridiagonal: its diagonal and what is beside it.
struct Tridiagonal {
    float diagonal[kCells], beside[kCells];
};

// Householder's way: after step i, column i has nothing below the place beside the diagonal. Lane c has column
// c, which is also row c: the matrix stays symmetric.
__device__ void make_tridiagonal(const float* covariance, Tridiagonal& out) {
    __shared__ float m[kCells][kCells + 1], v[kCells], x[kCells];
    const int c = threadIdx.x;
    if (c < kCells)
        for (int i = 0; i < kCells; ++i) m[i][c] = covariance[i * kCells + c];
    __syncwarp();
#pragma unroll 1
    for (int i = 0; i < kCells - 2; ++i) {
        const bool mine = c > i && c < kCells;
        // The reflector that leaves one value of the column: I - tau v v', v[i + 1] = 1.
        const float alpha = m[i][i + 1];
        float squares = 0;
        for (int j = i + 2; j < kCells; ++j) squares += m[i][j] * m[i][j];
        const float rest = sqrtf(squares);
        float tau = 0, first = alpha, value = mine ? m[i][c] : 0;
        if (rest != 0.0f) {
            const float length = hypotenuse(alpha, rest), beta = alpha >= 0 ? -length : length;
            const float scale = alpha - beta;
            tau = (beta - alpha) / beta;
            if (scale != 0.0f) {
                value /= scale;
                first = beta;
            }
            if (c == i + 1) value = 1.0f;
        }
        if (mine) v[c] = value;
        if (c == 0) out.beside[i] = first;
        __syncwarp();
        if (tau == 0) continue;

        float sum = 0;
        if (mine)
            for (int j = i + 1; j < kCells; ++j) sum += tau * m[j][c] * v[j];
        if (mine) x[c] = sum;
        __syncwarp();
        float dot = 0;
        for (int j = i + 1; j < kCells; ++j) dot += x[j] * v[j];
        const float part = static_cast<float>(-0.5 * static_cast<double>(tau) * static_cast<double>(dot));
        sum += part * value;
        __syncwarp();
        if (mine) x[c] = sum;
        __syncwarp();
        if (mine)
            for (int j = i + 1; j < kCells; ++j) m[j][c] -= x[j] * value + v[j] * sum;
        __syncwarp();
    }
    if (c < kCells) out.diagonal[c] = m[c][c];
    if (c == 0) out.beside[kCells - 2] = m[kCells - 1][kCells - 2];
    __syncwarp();
}

// The eigenvalue of the last 2x2 corner that is nearer to its last value.
__device__ __forceinline__ float shift_of(const float* d, const float* b, int size) {
    const float last = d[size - 1], off = b[size - 2];
    const float half = (d[size - 2] - last) / 2.0f;
    if (half > 0) return last - off * (off / (half + hypotenuse(half, off)));
    if (half == 0) return last - fabsf(off);
    return last + off * (off / (-half + hypotenuse(half, off)));
}

// One sweep of rotations over a part that doesn't fall apart, by one thread.
__device__ void sweep(float* d, float* b, int size) {
    float shift = shift_of(d, b, size);
    if (kNegligible * fabsf(shift) > fabsf(d[0]) + fabsf(b[0])) shift = 0;
    float x = d[0] - shift, z = b[0];  // what the next rotation makes (something, 0)
    float first = d[0], between = b[0], second = d[1];
#pragma unroll 1
    for (int k = 0; k + 1 < size; ++k) {
        const bool last = k + 2 == size;
        const float next_beside = last ? 0.0f : b[k + 1], next_second = last ? 0.0f : d[k + 2];
        const bool steep = fabsf(z) > fabsf(x), turns = z != 0;
        const float t = -(steep ? x : z) / (steep ? z : x);
        const float scale = reciprocal_root(1 + t * t);
        const float c = !turns ? 1.0f : steep ? scale * t : scale;
        const float s = !turns ? 0.0f : steep ? scale : scale * t;
        if (k > 0) b[k - 1] = c * x - s * z;
        const float down = s * first + c * between, right = s * between + c * second;
        const float turned = c * (c * first - s * between) + s * (s * second - c * between);
        between = c * down - s * right;
        second = s * down + c * right;
        d[k] = turned;
        b[k] = x = between;
        if (last) break;
        z = -s * next_beside;
        first = second;
        between = c * next_beside;
        second = next_second;
    }
    d[size - 1] = second;
}

// Sets what is negligible beside the diagonal between these places to 0; which places are not 0 at all.
__device__ __forceinline__ u32 drop_negligible(Tridiagonal& t, int start, int end) {
    const int i = threadIdx.x;
    bool kept = false;
    if (i < kCells - 1) {
        const float beside = t.beside[i];
        kept = beside != 0.0f;
        if (i >= start && i < end && fabsf(beside) < kNegligible * (fabsf(t.diagonal[i]) + fabsf(t.diagonal[i + 1])))
            kept = false;
        if (!kept) t.beside[i] = 0.0f;
    }
    return __ballot_sync(kAll, kept);
}

// The implicit QR method with shifts: the diagonal becomes the eigenvalues.
__device__ void find_eigenvalues(const float* covariance, float* eigenvalues, i32* regular) {
    __shared__ Tridiagonal t;
    make_tridiagonal(covariance, t);
    u32 kept = drop_negligible(t, 0, kCells - 1);
    int end = kCells - 1;
    for (int sweeps = 0; sweeps < kMostSweeps; ++sweeps) {
        end = 32 - __clz(static_cast<int>(kept & ((1u << end) - 1)));
        if (end == 0) break;
        const int start = 32 - __clz(static_cast<int>(~kept & ((1u << end) - 1)));
        __syncwarp();
        if (threadIdx.x == 0) sweep(t.diagonal + start, t.beside + start, end - start + 1);
        __syncwarp();
        kept = drop_negligible(t, start, end);
    }
    __syncwarp();
    bool fits = true;
    if (threadIdx.x < kCells) {
        const float value = t.diagonal[threadIdx.x];
        eigenvalues[threadIdx.x] = value;
        fits = !(value < kSingular);
    }
    fits = __all_sync(kAll, fits);
    if (threadIdx.x == 0) *regular = fits;
}
