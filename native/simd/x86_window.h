// Overlapping registers of a row, straight from memory.
#pragma once

namespace acuity::ACUITY_ISA {

// The register of pairs that starts T pairs after p.
struct PairWindow {
    explicit PairWindow(const std::uint16_t* p) : p_(p) {}
    template <int T>
    I16 at() const {
        return load<I16>(p_ + 2 * T);
    }

  private:
    const std::uint16_t* p_;
};

}  // namespace acuity::ACUITY_ISA
