// SpEED: a covariance as q' r, q orthogonal and r upper triangular, by one block of threads.
#pragma once
#include "speed/plan.cuh"

constexpr int kFactorThreads = 256;

struct SquareMatrix {
    float cell[kCells][kCells + 1];
};

// Element (row, column) of a reflection times a matrix; the reflection is the identity before place `from`.
__device__ __forceinline__ float reflected(const float* v, int from, const SquareMatrix& b, int row, int column) {
    const float twice = -2 * v[row];
    float sum = 0;
    for (int k = from; k < kCells; ++k) sum += (twice * v[k] + (row == k ? 1.0f : 0.0f)) * b.cell[k][column];
    return sum;
}

__device__ void factorise(const float* covariance, float* q_out, float* r_out, i32* regular) {
    __shared__ SquareMatrix rest[2], q[2];
    __shared__ float v[kCells];
    __shared__ int singular;
    const int thread = threadIdx.x;
    if (thread == 0) singular = 0;
    for (int i = thread; i < kCells * kCells; i += kFactorThreads) {
        const int row = i / kCells, column = i % kCells;
        rest[0].cell[row][column] = covariance[i];
        q[0].cell[row][column] = row == column ? 1.0f : 0.0f;
    }
    __syncthreads();
    int now = 0;
#pragma unroll 1
    for (int k = 0; k < kCells - 1; ++k) {
        // Every thread finds both lengths: they are single sums. Before place k, v is 0.
        const SquareMatrix& left = rest[now];
        float squares = 0;
        for (int i = k; i < kCells; ++i) squares += left.cell[i][k] * left.cell[i][k];
        const float length = sqrtf(squares);
        const float head = left.cell[k][k] + (covariance[k * kCells + k] >= 0 ? length : -length);
        squares = head * head;
        for (int i = k + 1; i < kCells; ++i) squares += left.cell[i][k] * left.cell[i][k];
        const float scale = sqrtf(squares);
        if (thread >= k && thread < kCells) v[thread] = (thread == k ? head : left.cell[thread][k]) / scale;
        __syncthreads();

        // Row and column k of what is left are not looked at again.
        const int high = kCells - k, wide = kCells - k - 1;
        for (int i = thread; i < wide * wide; i += kFactorThreads) {
            const int row = k + 1 + i / wide, column = k + 1 + i % wide;
            rest[1 - now].cell[row][column] = reflected(v, k, left, row, column);
        }
        for (int i = thread; i < kCells * kCells; i += kFactorThreads) {
            const int row = i / kCells, column = i % kCells;
            q[1 - now].cell[row][column] =
                i / kCells < kCells - high ? q[now].cell[row][column] : reflected(v, k, q[now], row, column);
        }
        __syncthreads();
        now = 1 - now;
    }
    const SquareMatrix& made = q[now];
    for (int i = thread; i < kCells * kCells; i += kFactorThreads) {
        const int row = i / kCells, column = i % kCells;
        q_out[i] = made.cell[row][column];
        if (column < row) continue;
        float sum = 0;
        for (int k = 0; k < kCells; ++k) sum += made.cell[row][k] * covariance[k * kCells + column];
        r_out[i] = sum;
        if (row == column && fabsf(sum) < kSingular) atomicOr(&singular, 1);
    }
    __syncthreads();
    if (thread == 0) *regular = !singular;
}
