// ADM of a picture pair: the wavelet pyramid, and scores from the kernels' sums.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "adm/csf.h"
#include "adm/table.h"
#include "core/workspace.h"

namespace acuity {

class Adm {
  public:
    static constexpr int kMinSize = 17;  // the coarsest bands need two rows and columns for masking
    static constexpr int kOutputs = 16;  // values for each setting, in the order of adm.cpp

    // Options that share one pass over the picture.
    struct Setting {
        double gain_limit, noise_weight;
    };

    // Throws UnsupportedOptions.
    Adm(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width, int height, int depth,
        const CsfOptions& csf, bool skip_scale0, bool aim, std::vector<Setting> settings);

    // kOutputs values for each setting.
    std::vector<double> run(const Plane& ref, const Plane& dis) const;

    // The same from the sums of a frame, which may come from elsewhere. For each scale there are three
    // denominators, then for each gain limit three masked sums and, with aim, three of the additive
    // impairment. Those of a skipped scale are not looked at.
    std::vector<double> outputs(const std::vector<std::uint64_t>& sums) const;

    const std::vector<double>& gains() const { return gains_; }
    bool aim() const { return aim_; }
    std::size_t sums_a_scale() const { return 3 + (aim_ ? 6 : 3) * gains_.size(); }
    const AdmScale& scale(int number) const { return scales_[number].kernel; }

  private:
    struct Memory;
    using Sums = std::array<AdmSums, kScales>;
    struct Scale {
        AdmScale kernel;  // gains are filled in for each pass
        CsfFactors csf;
    };

    Memory carve(Carver carver) const;
    void sum(const Plane& ref, const Plane& dis, const Memory& memory, const double* gains, int n_gains,
             Sums& out) const;
    void append_outputs(const std::uint64_t* sums, std::size_t gain, double noise_weight,
                        std::vector<double>& out) const;

    std::shared_ptr<Workspace> workspace_;
    const AdmKernels& kernels_;
    int width_, height_;
    bool skip_scale0_, aim_;
    std::vector<Setting> settings_;
    std::vector<double> gains_;  // of settings_, each once
    Scale scales_[kScales];
};

}  // namespace acuity
