// SpEED: eigenvalues of a covariance, by one warp. Every rounding counts: see native/speed/eigenvalues.cpp.
#pragma once
#include "speed/plan.cuh"

constexpr double kNegligible = 1e-6;  // of the neighbours on the diagonal
constexpr int kMostSweeps = 500;

__device__ __forceinline__ float hypotenuse(float a, float b) { return sqrtf(a * a + b * b); }

// 1 / sqrt(x) for x between 1 and 2, as both steps in double precision give it once rounded.
//
// Newton's way in two floats gives the same, unless it comes close to the middle between two floats: then it is
// in doubt.
__device__ __forceinline__ float reciprocal_root(float x, bool& doubt) {
    constexpr float kTie = 0x1p-25f, kNear = 0x1p-40f;  // results are between 1/2 and 1
    const float guess = rsqrtf(x);
    const float square = guess * guess;
    const float error = __fmaf_rn(-x, __fmaf_rn(guess, guess, -square), __fmaf_rn(-x, square, 1.0f));
    const float correction = guess * (0.5f * error);
    const float root = guess + correction;
    const float rest = fabsf(correction - (root - guess));
    doubt |= !(fabsf(rest - kTie) > kNear);
    return root;
}

// A matrix that becomes tridiagonal: its diagonal and what is beside it.
struct Tridiagonal {
    float diagonal[kCells], beside[kCells];
};

// A value for each cell, which lanes show each other.
struct alignas(16) Shown {
    float of[28];

    __device__ __forceinline__ void read(float (&into)[kCells]) const {
#pragma unroll
        for (int j = 0; j < kCells; ++j) into[j] = of[j];
    }
};

// Householder's way: after step i, column i has nothing below the place beside the diagonal. Lane c has column
// c, which is also row c: the matrix stays symmetric. What is done with counts as 0 in v and x, and 0 adds
// nothing to a sum.
__device__ void make_tridiagonal(const float* covariance, Tridiagonal& out) {
    __shared__ Shown column, v, x;
    const int c = threadIdx.x;
    float m[kCells];
    for (int j = 0; j < kCells; ++j) m[j] = c < kCells ? covariance[j * kCells + c] : 0.0f;
#pragma unroll 1
    for (int i = 0; i < kCells - 2; ++i) {
        const bool mine = c > i && c < kCells;
        if (c == i) {
#pragma unroll
            for (int j = 0; j < kCells; ++j) column.of[j] = m[j];
        }
        __syncwarp();
        float others[kCells];
        column.read(others);
        // The reflector that leaves one value of the column: I - tau v v', v[i + 1] = 1.
        const float alpha = column.of[i + 1];
        float squares = 0;
#pragma unroll
        for (int j = 2; j < kCells; ++j)
            if (j >= i + 2) squares += others[j] * others[j];
        const float rest = sqrtf(squares);
        float tau = 0, first = alpha, value = mine ? column.of[c] : 0.0f;
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
        if (c < kCells) v.of[c] = value;
        if (c == i) {
            out.diagonal[i] = column.of[i];
            out.beside[i] = first;
        }
        __syncwarp();
        if (tau == 0) continue;

        float all_v[kCells];
        v.read(all_v);
        float sum = 0;
#pragma unroll
        for (int j = 0; j < kCells; ++j) sum += tau * m[j] * all_v[j];
        if (!mine) sum = 0;
        if (c < kCells) x.of[c] = sum;
        __syncwarp();
        x.read(others);
        float dot = 0;
#pragma unroll
        for (int j = 0; j < kCells; ++j) dot += others[j] * all_v[j];
        const float part = static_cast<float>(-0.5 * static_cast<double>(tau) * static_cast<double>(dot));
        sum += part * value;
        __syncwarp();
        if (c < kCells) x.of[c] = sum;
        __syncwarp();
        x.read(others);
#pragma unroll
        for (int j = 0; j < kCells; ++j) m[j] -= others[j] * value + all_v[j] * sum;
    }
    if (c == kCells - 2) {
        out.diagonal[c] = m[kCells - 2];
        out.beside[c] = m[kCells - 1];
    }
    if (c == kCells - 1) {
        out.diagonal[c] = m[kCells - 1];
        out.beside[c] = 0;
    }
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

// One sweep of rotations over a part that doesn't fall apart, by one thread. False: a rotation was in doubt, and
// the sweep is to be done again, from the same values, in double precision.
template <bool Double>
__device__ __forceinline__ bool sweep(float* d, float* b, int size) {
    bool doubt = false;
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
        const float scale = Double ? static_cast<float>(1.0 / sqrt(static_cast<double>(1 + t * t)))
                                   : reciprocal_root(1 + t * t, doubt);
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
    return !doubt;
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
        const int place = min(static_cast<int>(threadIdx.x), kCells - 1);
        const float diagonal = t.diagonal[place], beside = t.beside[place];
        __syncwarp();
        int sure = 1;
        if (threadIdx.x == 0) sure = sweep<false>(t.diagonal + start, t.beside + start, end - start + 1);
        if (!__all_sync(kAll, sure)) {
            if (threadIdx.x < kCells) {
                t.diagonal[place] = diagonal;
                t.beside[place] = beside;
            }
            __syncwarp();
            if (threadIdx.x == 0) sweep<true>(t.diagonal + start, t.beside + start, end - start + 1);
        }
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
