// SpEED: by how much the entropies of small blocks differ between two pictures, after most of the detail is gone.
//
// Kernels of a batch, in their order; blockIdx.z is the frame, and blockIdx.y the side unless told otherwise.
#include "speed/covariance.cuh"
#include "speed/eigenvalues.cuh"
#include "speed/factors.cuh"
#include "speed/plan.cuh"
#include "speed/reduce.cuh"
#include "speed/score.cuh"

// Outputs of a row by blockIdx.x; blockIdx.y is row * sides + side.
extern "C" __global__ void __launch_bounds__(kReduceThreads)
speed_reduce_8(const Frame* frames, const SpeedPlan* plan, int width) {
    reduce_plane<u8>(frames, *plan, width);
}

extern "C" __global__ void __launch_bounds__(kReduceThreads)
speed_reduce_16(const Frame* frames, const SpeedPlan* plan, int width) {
    reduce_plane<u16>(frames, *plan, width);
}

extern "C" __global__ void __launch_bounds__(kReduceThreads)
speed_rescale_8(const Frame* frames, const SpeedPlan* plan, int width) {
    rescale_plane<u8>(frames, *plan);
}

extern "C" __global__ void __launch_bounds__(kReduceThreads)
speed_rescale_16(const Frame* frames, const SpeedPlan* plan, int width) {
    rescale_plane<u16>(frames, *plan);
}

extern "C" __global__ void speed_centre(const Frame* frames, const SpeedPlan* plan) { centre(frames, *plan); }

// Rows of the covariance by blockIdx.x.
extern "C" __global__ void __launch_bounds__(kCovarianceThreads)
speed_covariance(const Frame* frames, const SpeedPlan* plan) {
    find_covariance(frames, *plan);
}

// Eigenvalues and factors of the covariance side by side: blockIdx.x is 0 and 1.
extern "C" __global__ void __launch_bounds__(kFactorThreads)
speed_solve(const Frame* frames, const SpeedPlan* plan) {
    if (!comparable(frames[blockIdx.z], *plan)) return;
    const i64 side = side_index(*plan);
    const float* covariance = plan->covariance + side * kCells * kCells;
    if (blockIdx.x == 1) {
        factorise(covariance, plan->q + side * kCells * kCells, plan->r + side * kCells * kCells,
                  plan->regular + 2 * side + 1);
    } else if (threadIdx.x < 32) {
        find_eigenvalues(covariance, plan->eigenvalues + side * kCells, plan->regular + 2 * side);
    }
}

// Blocks of samples by blockIdx.x.
extern "C" __global__ void __launch_bounds__(kBlockThreads)
speed_blocks(const Frame* frames, const SpeedPlan* plan) {
    describe_blocks(frames, *plan);
}

// Weighings by blockIdx.x; blockIdx.y is the pair of sides.
extern "C" __global__ void __launch_bounds__(kScoreThreads)
speed_scores(const Frame* frames, const SpeedPlan* plan, u64* sums, int words) {
    find_score(frames, *plan, sums, words);
}
