#include "core/plain.h"

#include <cmath>

#include "speed/eigenvalues.h"
#include "speed/log2.h"
#include "speed/table.h"

namespace acuity::plain {

namespace {

constexpr int n = kSpeedCells;
using Matrix = float[n][n];

// ---- reduction --------------------------------------------------------------------------------

float sample(const SpeedSource& source, int row, int column) {
    const bool bytes = source.plane.depth == 8;
    const auto unit = static_cast<float>(1 << (source.plane.depth - 8));
    const auto value = [&](const Plane& plane) {
        return static_cast<float>(Row(plane, row, bytes)[column]) / unit - kSpeedGrey;
    };
    return source.minus.data == nullptr ? value(source.plane) : value(source.plane) - value(source.minus);
}

// What the low-pass filter reads where these entries of the two tables meet.
float rescaled(const SpeedSource& source, const SpeedReduction& reduction, int row, int column) {
    const SpeedAxis &down = reduction.rows, &across = reduction.columns;
    if (reduction.blend == 0) return sample(source, down.at[row], across.at[column]);
    float sum = 0, total = 0;
    for (int b = 0; b < reduction.blend; ++b)
        for (int a = 0; a < reduction.blend; ++a) {
            const int y = b * down.entries + row, x = a * across.entries + column;
            const float weight = across.weights[x] * down.weights[y];
            total += weight;
            sum += sample(source, down.at[y], across.at[x]) * weight;
        }
    return reduction.normalised ? sum / total : sum;
}

void reduce(const SpeedSource& source, const SpeedReduction& reduction, float*, float* out, std::ptrdiff_t stride) {
    const SpeedAxis &down = reduction.rows, &across = reduction.columns;
    for (int i = 0; i < down.outputs; ++i)
        for (int j = 0; j < across.outputs; ++j) {
            float sum = 0;
            for (int s = 0; s < reduction.taps; ++s) {
                float column = 0;
                for (int t = 0; t < reduction.taps; ++t)
                    column += reduction.low_pass[t] *
                              rescaled(source, reduction, t * down.outputs + i, s * across.outputs + j);
                sum += reduction.low_pass[s] * column;
            }
            out[i * stride + j] = sum;
        }
}

int mirror(int i, int size) { return i < 0 ? -i : i >= size ? 2 * size - 2 - i : i; }

void remove_mean(const float* in, const SpeedReduction& reduction, float*, float* out, std::ptrdiff_t stride) {
    const int width = reduction.columns.outputs, height = reduction.rows.outputs, half = reduction.mean_taps / 2;
    for (int y = 0; y < height; ++y) {
        float* line = out + y * stride;
        for (int x = 0; x < width; ++x) {
            float mean = 0;
            for (int s = 0; s < reduction.mean_taps; ++s) {
                float column = 0;
                for (int t = 0; t < reduction.mean_taps; ++t)
                    column += reduction.mean[t] *
                              in[mirror(y - half + t, height) * stride + mirror(x - half + s, width)];
                mean += reduction.mean[s] * column;
            }
            line[x] = in[y * stride + x] - mean;
        }
        for (int x = 0; x < kSpeedSlack; ++x) line[width + x] = 0;
    }
}

// ---- covariance -------------------------------------------------------------------------------

// Each place of a block sees the plane but for the last four rows and columns, shifted.
void find_covariance(const SpeedBlocks& blocks, Matrix& covariance) {
    const int rows = (blocks.down - 1) * kSpeedBlock + 1, columns = (blocks.across - 1) * kSpeedBlock + 1;
    const std::int64_t count = static_cast<std::int64_t>(rows) * columns;
    const auto seen = [&](int cell, int y, int x) {
        return blocks.data[(y + cell / kSpeedBlock) * blocks.stride + x + cell % kSpeedBlock];
    };
    float means[n];
    for (int i = 0; i < n; ++i) {
        float sum = 0;
        for (int y = 0; y < rows; ++y)
            for (int x = 0; x < columns; ++x) sum += seen(i, y, x);
        means[i] = sum / static_cast<float>(count);
    }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
            double sum = 0;
            for (int y = 0; y < rows; ++y)
                for (int x = 0; x < columns; ++x)
                    sum += (static_cast<double>(seen(i, y, x)) - static_cast<double>(means[i])) *
                           (static_cast<double>(seen(j, y, x)) - static_cast<double>(means[j]));
            covariance[i][j] = covariance[j][i] = static_cast<float>(sum / static_cast<double>(count));
        }
}

// ---- eigenvalues ------------------------------------------------------------------------------

// Householder's way: after step i, column i has nothing below the place beside the diagonal.
void make_tridiagonal(const Matrix& covariance, float* diagonal, float* beside) {
    Matrix m;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) m[i][j] = covariance[i][j];
    float v[n], x[n];
    for (int i = 0; i < n - 2; ++i) {
        for (int j = i + 1; j < n; ++j) v[j] = m[j][i];
        const float tau = speed_reflector(v + i + 1, n - i - 1, beside[i]);
        if (tau == 0) continue;
        for (int j = i + 1; j < n; ++j) {
            x[j] = 0;
            for (int k = i + 1; k < n; ++k) x[j] += tau * m[j][k] * v[k];
        }
        float dot = 0;
        for (int j = i + 1; j < n; ++j) dot += x[j] * v[j];
        const auto alpha = static_cast<float>(-0.5 * static_cast<double>(tau) * static_cast<double>(dot));
        for (int j = i + 1; j < n; ++j) x[j] += alpha * v[j];
        for (int j = i + 1; j < n; ++j)
            for (int k = i + 1; k < n; ++k) m[j][k] -= x[j] * v[k] + v[j] * x[k];
    }
    for (int i = 0; i < n; ++i) diagonal[i] = m[i][i];
    beside[n - 2] = m[n - 1][n - 2];
}

// ---- variances --------------------------------------------------------------------------------

void multiply(const Matrix& a, const Matrix& b, Matrix& out) {
    Matrix product = {};
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k)
            for (int j = 0; j < n; ++j) product[i][j] += a[i][k] * b[k][j];
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) out[i][j] = product[i][j];
}

float length(const float* v) {
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += v[i] * v[i];
    return std::sqrt(sum);
}

// a = q' r, q orthogonal and r upper triangular: each reflection clears a column of what is left.
void factorise(const Matrix& a, Matrix& q, Matrix& r) {
    Matrix rest, reflection;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            rest[i][j] = a[i][j];
            q[i][j] = i == j ? 1 : 0;
        }
    for (int k = 0; k < n - 1; ++k) {
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j)
                if (i < k || j < k) rest[i][j] = i == j ? 1 : 0;
        float v[n];
        for (int i = 0; i < n; ++i) v[i] = rest[i][k];
        v[k] += a[k][k] >= 0 ? length(v) : -length(v);
        const float scale = length(v);
        for (float& value : v) value /= scale;
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) reflection[i][j] = -2 * v[i] * v[j] + (i == j ? 1 : 0);
        multiply(reflection, rest, rest);
        multiply(reflection, q, q);
    }
    multiply(q, a, r);
}

// Solves a x = block; the variance is the mean of x * block.
float find_variance(const Matrix& q, const Matrix& r, const float* block) {
    float x[n] = {};
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < n; ++k) x[i] += q[i][k] * block[k];
    for (int i = n - 1; i >= 0; --i) {
        for (int k = i + 1; k < n; ++k) x[i] -= x[k] * r[i][k];
        x[i] /= r[i][i];
    }
    float variance = x[0] * block[0] / n;
    for (int i = 1; i < n; ++i) variance += x[i] * block[i] / n;
    return variance;
}

bool find_variances(const SpeedBlocks& blocks, const Matrix& covariance, float* variances) {
    Matrix q, r;
    factorise(covariance, q, r);
    for (int i = 0; i < n; ++i)
        if (std::fabs(r[i][i]) < kSpeedSingular) return false;
    for (int b = 0; b < blocks.across * blocks.down; ++b) {
        float block[n];
        const int y = b / blocks.across * kSpeedBlock, x = b % blocks.across * kSpeedBlock;
        for (int i = 0; i < n; ++i)
            block[i] = blocks.data[(y + i / kSpeedBlock) * blocks.stride + x + i % kSpeedBlock];
        variances[b] = find_variance(q, r, block);
    }
    return true;
}

bool describe(const SpeedBlocks& blocks, float* eigenvalues, float* variances) {
    Matrix covariance;
    find_covariance(blocks, covariance);
    float beside[n];
    make_tridiagonal(covariance, eigenvalues, beside);
    speed_eigenvalues(eigenvalues, beside, n);
    bool regular = true;
    for (int i = 0; i < n; ++i) regular = regular && !(eigenvalues[i] < kSpeedSingular);
    if (regular && find_variances(blocks, covariance, variances)) return true;
    for (int b = 0; b < blocks.across * blocks.down; ++b) variances[b] = 0;
    return false;
}

void entropies(const float* eigenvalues, const float* variances, int blocks, float sigma_nn, float* out) {
    for (int b = 0; b < blocks; ++b) {
        float entropy = 0;
        for (int i = 0; i < n; ++i) {
            const float energy = eigenvalues[i] < 0 ? 0 : eigenvalues[i];
            const double bits =
                speed_log2<double, std::uint64_t>(static_cast<double>(energy * variances[b] + sigma_nn)) + kLog2Of2PiE;
            entropy = static_cast<float>(static_cast<double>(entropy) + bits);
        }
        out[b] = entropy;
    }
}

}  // namespace

extern const SpeedKernels speed_kernels;
const SpeedKernels speed_kernels = {
    .reduce = reduce, .remove_mean = remove_mean, .describe = describe, .entropies = entropies};

}  // namespace acuity::plain
