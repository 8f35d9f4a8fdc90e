// Prediction by a nu-SVR with an RBF kernel, in libsvm's order of additions. acuity/models/svm.py says why exp() is here.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace acuity {

// e to the power of numbers up to 0: 2^e * 2^(j/128) * exp(r). The constants come from svm.py, which makes them exactly.
class Exponential {
  public:
    static constexpr int kSteps = 128;
    using Table = std::array<double, kSteps>;

    // The tables have 2^(j/128), `coarse` and `fine` ln 2 / 128, each as a double and what it lacks.
    Exponential(const Table& high, const Table& low, double coarse, double fine)
        : high_(high), low_(low), coarse_(coarse), fine_(fine), inverse_(1.0 / (coarse + fine)) {}

    double operator()(double value) const {
        if (value != value) return value;
        double r = value > kLowest ? value : kLowest;
        const double k = (r * inverse_ + kRounding) - kRounding;
        r -= k * coarse_;  // exact: k has 18 bits and coarse 33
        r -= k * fine_;
        const int whole = static_cast<int>(k < 0.0 ? k : 0.0);
        const auto j = static_cast<std::size_t>(whole & (kSteps - 1));
        double series = r * (1.0 / 120);  // r + r^2 (1/2 + r (1/6 + r (1/24 + r/120)))
        for (const double term : {1.0 / 24, 1.0 / 6, 0.5}) series = (series + term) * r;
        series = series * r + r;
        return std::ldexp(series * high_[j] + low_[j] + high_[j], whole >> 7);
    }

  private:
    static constexpr double kLowest = -746.0;               // exp() of anything lower is 0
    static constexpr double kRounding = 0x1.8p52;           // added and taken off, it rounds to a whole number
    const Table high_, low_;
    const double coarse_, fine_, inverse_;
};

struct Svr {
    std::vector<double> coefficients;
    std::vector<double> vectors;  // one after the other
    double gamma, rho;

    // The decision value of one frame; a NaN makes it NaN.
    double decide(std::span<const double> node, const Exponential& exp) const {
        double sum = 0.0;
        const double* vector = vectors.data();
        for (std::size_t v = 0; v < coefficients.size(); ++v, vector += node.size()) {
            double distance = 0.0;
            for (std::size_t i = 0; i < node.size(); ++i) {
                const double difference = node[i] - vector[i];
                distance += difference * difference;
            }
            const double term = exp(distance * -gamma) * coefficients[v];
            sum = v == 0 ? term : sum + term;
        }
        return sum - rho;
    }
};

}  // namespace acuity
