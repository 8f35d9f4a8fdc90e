// The colour difference of two pictures: the sum of those of their pixels.
#pragma once

#include <memory>

#include "ciede/table.h"
#include "core/workspace.h"

namespace acuity {

// By how much a pixel's column and row are shifted down to find its chroma sample.
struct ChromaShift {
    int column, row;
};

class Ciede {
  public:
    // Luma, Cb and Cr.
    using Planes = Plane[3];

    Ciede(std::shared_ptr<Workspace> workspace, const Kernels& kernels, int width);

    // The sum over all pixels. Both chroma planes have the same size, which need not fit the shift.
    double run(const Planes& ref, const Planes& dis, ChromaShift shift) const;

  private:
    struct Memory;
    Memory carve(Carver carver) const;

    std::shared_ptr<Workspace> workspace_;
    const CiedeKernels& kernels_;
    int width_;
};

}  // namespace acuity
