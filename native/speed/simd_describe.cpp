// Covariance, eigenvalues and variances of blocks. Every sum keeps the order of the plain twin: what goes
// side by side in a register are sums that don't touch each other.
#include <cmath>
#include <utility>

#include "speed/eigenvalues.h"
#include "speed/parts.h"

namespace acuity::ACUITY_ISA {

namespace {

constexpr int kSide = 32;  // of a padded matrix of cells

// 25x25, the rest zero or anything finite.
struct alignas(kAlign) Matrix {
    float cell[kSide][kSide];
};

// A block's row of five, padded to eight, takes so many registers of doubles.
constexpr int kParts = 8 / kLanes64;

// ---- covariance -------------------------------------------------------------------------------

// Mean of what each place of a block sees: the plane but for the last four rows and columns, shifted.
void find_means(const SpeedBlocks& blocks, int rows, int columns, HalfF32 (&means)[kSpeedBlock][kParts]) {
    HalfF32 sums[kSpeedBlock][kParts] = {};
    for (int y = 0; y < rows; ++y) {
        const float* at = blocks.data + y * blocks.stride;
        for (int x = 0; x < columns; ++x)
            unroll<kSpeedBlock>([&](auto r) {
                unroll<kParts>([&](auto p) {
                    sums[r][p] += load<HalfF32>(at + r * blocks.stride + x + p * kLanes64);
                });
            });
    }
    const auto count = static_cast<float>(static_cast<std::int64_t>(rows) * columns);
    for (int r = 0; r < kSpeedBlock; ++r)
        for (int p = 0; p < kParts; ++p) means[r][p] = sums[r][p] / count;
}

constexpr int kRun = 64;  // blocks looked at together, so that what they share stays in the first cache

// One run of blocks: their 25 samples less the means, in order.
struct alignas(kAlign) Run {
    double cell[kRun][kSide];
};

// Values stored past a row's end are overwritten by the next row.
inline void fill_cells(const float* at, std::ptrdiff_t stride, const HalfF32 (&means)[kSpeedBlock][kParts],
                       double* cells) {
    unroll<kSpeedBlock>([&](auto r) {
        unroll<kParts>([&](auto p) {
            const F64 samples = widen(load<HalfF32>(at + r * stride + p * kLanes64));
            store(cells + r * kSpeedBlock + p * kLanes64, samples - widen(means[r][p]));
        });
    });
}

// Sums of products of Height rows of cells with Width registers of them.
template <int Height, int Width>
void add_products(const Run& run, int n, int row, int column, double (*sums)[kSide]) {
    F64 sum[Height][Width];
    for (int r = 0; r < Height; ++r)
        for (int w = 0; w < Width; ++w) sum[r][w] = load<F64>(sums[row + r] + column + w * kLanes64);
    for (int i = 0; i < n; ++i) {
        const double* cells = run.cell[i];
        unroll<Width>([&](auto w) {
            const F64 beside = load<F64>(cells + column + w * kLanes64);
            unroll<Height>([&](auto r) { sum[r][w] += beside * cells[row + r]; });
        });
    }
    for (int r = 0; r < Height; ++r)
        for (int w = 0; w < Width; ++w) store(sums[row + r] + column + w * kLanes64, sum[r][w]);
}

// The lower triangle, and a little more.
void add_run(const Run& run, int n, double (*sums)[kSide]) {
    for (int row = 0; row + 8 <= kSpeedCells; row += 8)
        for (int column = 0; column < row + 8; column += kLanes64) add_products<8, 1>(run, n, row, column, sums);
    for (int column = 0; column < kSide; column += 4 * kLanes64)
        add_products<1, 4>(run, n, kSpeedCells - 1, column, sums);
}

void find_covariance(const SpeedBlocks& blocks, Matrix& covariance) {
    const int rows = (blocks.down - 1) * kSpeedBlock + 1, columns = (blocks.across - 1) * kSpeedBlock + 1;
    HalfF32 means[kSpeedBlock][kParts];
    find_means(blocks, rows, columns, means);

    alignas(kAlign) double sums[kSpeedCells][kSide] = {};
    Run run = {};
    for (int y = 0; y < rows; ++y) {
        const float* at = blocks.data + y * blocks.stride;
        for (int start = 0; start < columns; start += kRun) {
            const int n = columns - start < kRun ? columns - start : kRun;
            for (int i = 0; i < n; ++i) fill_cells(at + start + i, blocks.stride, means, run.cell[i]);
            add_run(run, n, sums);
        }
    }
    const auto count = static_cast<double>(static_cast<std::int64_t>(rows) * columns);
    covariance = {};
    for (int i = 0; i < kSpeedCells; ++i)
        for (int j = 0; j <= i; ++j)
            covariance.cell[i][j] = covariance.cell[j][i] = static_cast<float>(sums[i][j] / count);
}

// ---- eigenvalues ------------------------------------------------------------------------------

// Householder's way to a tridiagonal matrix. Both halves of `m` stay equal, so a column is read as a row.
void make_tridiagonal(const Matrix& covariance, float* diagonal, float* beside) {
    constexpr int n = kSpeedCells;
    Matrix m = covariance;
    alignas(kAlign) float v[kSide] = {}, x[kSide] = {};
    for (int i = 0; i < n - 2; ++i) {
        diagonal[i] = m.cell[i][i];
        v[i] = 0;
        for (int j = i + 1; j < n; ++j) v[j] = m.cell[i][j];
        const float tau = speed_reflector(v + i + 1, n - i - 1, beside[i]);
        if (tau == 0) continue;
        const int first = (i + 1) / kLanes32 * kLanes32;
        for (int c = first; c < kSide; c += kLanes32) {
            F32 sum = {};
            for (int j = i + 1; j < n; ++j) sum += tau * load<F32>(m.cell[j] + c) * v[j];
            store(x + c, sum);
        }
        float dot = 0;
        for (int j = i + 1; j < n; ++j) dot += x[j] * v[j];
        const auto alpha = static_cast<float>(-0.5 * static_cast<double>(tau) * static_cast<double>(dot));
        for (int j = i + 1; j < n; ++j) x[j] += alpha * v[j];
        for (int j = 0; j <= i; ++j) x[j] = 0;  // so that finished columns stay
        for (int c = first; c < kSide; c += kLanes32) {
            const F32 vc = load<F32>(v + c), xc = load<F32>(x + c);
            for (int j = i + 1; j < n; ++j)
                store(m.cell[j] + c, load<F32>(m.cell[j] + c) - (x[j] * vc + v[j] * xc));
        }
    }
    diagonal[n - 2] = m.cell[n - 2][n - 2];
    diagonal[n - 1] = m.cell[n - 1][n - 1];
    beside[n - 2] = m.cell[n - 1][n - 2];
}

// ---- variances --------------------------------------------------------------------------------

// Rows `top` and below of a * b, where a is known to be zero left of column `left`, from column `from` on or
// a little before it.
void multiply(const Matrix& a, const Matrix& b, int top, int left, int from, Matrix& out) {
    constexpr int kHigh = 4, kWide = 2;
    for (int column = from / (kWide * kLanes32) * (kWide * kLanes32); column < kSpeedCells; column += kWide * kLanes32)
        for (int row = top; row < kSpeedCells; row += kHigh) {
            F32 sum[kHigh][kWide] = {};
            for (int k = left; k < kSpeedCells; ++k)
                unroll<kWide>([&](auto w) {
                    const F32 beside = load<F32>(b.cell[k] + column + w * kLanes32);
                    unroll<kHigh>([&](auto r) { sum[r][w] += a.cell[row + r][k] * beside; });
                });
            for (int r = 0; r < kHigh; ++r)
                for (int w = 0; w < kWide; ++w) store(out.cell[row + r] + column + w * kLanes32, sum[r][w]);
        }
}

float length(const float* v) {
    float sum = 0;
    for (int i = 0; i < kSpeedCells; ++i) sum += v[i] * v[i];
    return std::sqrt(sum);
}

// a = q' r, q orthogonal and r upper triangular, by reflections.
void factorise(const Matrix& a, Matrix& q, Matrix& r) {
    constexpr int n = kSpeedCells;
    Matrix reflection = {}, before = {}, work[2] = {a, {}};
    Matrix *rest = &work[0], *next = &work[1];
    for (int k = 0; k < n - 1; ++k) {
        alignas(kAlign) float v[kSide] = {};
        for (int i = k; i < n; ++i) v[i] = rest->cell[i][k];
        v[k] += a.cell[k][k] >= 0 ? length(v) : -length(v);
        const float scale = length(v);
        for (int i = k; i < n; ++i) v[i] /= scale;
        for (int i = k; i < n; ++i) {
            for (int c = 0; c < kSide; c += kLanes32) store(reflection.cell[i] + c, -2 * v[i] * load<F32>(v + c));
            reflection.cell[i][i] += 1;
        }
        // Column k and row k of what is left are not looked at again.
        multiply(reflection, *rest, k + 1, k, k + 1, *next);
        std::swap(rest, next);
        if (k == 0) {
            q = reflection;
            continue;
        }
        before = q;
        multiply(reflection, before, k, k, 0, q);
    }
    multiply(q, a, 0, 0, 0, r);
}

// Cell k of the blocks from `block` on, kLanes32 of them; zeros after the last.
void gather_cells(const SpeedBlocks& blocks, int block, F32* cells) {
    alignas(kAlign) float lanes[kSpeedCells][kLanes32] = {};
    const int end = blocks.across * blocks.down;
    for (int l = 0; l < kLanes32 && block + l < end; ++l) {
        const int y = (block + l) / blocks.across, x = (block + l) % blocks.across;
        const float* at = blocks.data + y * kSpeedBlock * blocks.stride + x * kSpeedBlock;
        for (int r = 0; r < kSpeedBlock; ++r)
            for (int c = 0; c < kSpeedBlock; ++c) lanes[r * kSpeedBlock + c][l] = at[r * blocks.stride + c];
    }
    for (int k = 0; k < kSpeedCells; ++k) cells[k] = load<F32>(lanes[k]);
}

// Solves a x = block for a register of blocks; the variance is the mean of x * block.
F32 find_variance(const Matrix& q, const Matrix& r, const F32* cells) {
    constexpr int n = kSpeedCells;
    F32 x[n];
    for (int i = 0; i < n; ++i) {
        F32 sum = {};
        for (int k = 0; k < n; ++k) sum += q.cell[i][k] * cells[k];
        x[i] = sum;
    }
    for (int i = n - 1; i >= 0; --i) {
        F32 sum = x[i];
        for (int k = i + 1; k < n; ++k) sum -= x[k] * r.cell[i][k];
        x[i] = sum / r.cell[i][i];
    }
    F32 variance = x[0] * cells[0] / static_cast<float>(n);
    for (int i = 1; i < n; ++i) variance += x[i] * cells[i] / static_cast<float>(n);
    return variance;
}

bool find_variances(const SpeedBlocks& blocks, const Matrix& covariance, float* variances) {
    Matrix q = {}, r = {};
    factorise(covariance, q, r);
    for (int i = 0; i < kSpeedCells; ++i)
        if (std::fabs(r.cell[i][i]) < kSpeedSingular) return false;
    for (int block = 0; block < blocks.across * blocks.down; block += kLanes32) {
        F32 cells[kSpeedCells];
        gather_cells(blocks, block, cells);
        store(variances + block, find_variance(q, r, cells));
    }
    return true;
}

}  // namespace

bool speed_describe(const SpeedBlocks& blocks, float* eigenvalues, float* variances) {
    Matrix covariance;
    find_covariance(blocks, covariance);
    float beside[kSpeedCells];
    make_tridiagonal(covariance, eigenvalues, beside);
    speed_eigenvalues(eigenvalues, beside, kSpeedCells);
    bool regular = true;
    for (int i = 0; i < kSpeedCells; ++i) regular &= !(eigenvalues[i] < kSpeedSingular);
    if (regular && find_variances(blocks, covariance, variances)) return true;
    for (int i = 0; i < blocks.across * blocks.down; i += kLanes32) store(variances + i, F32{});
    return false;
}

}  // namespace acuity::ACUITY_ISA
