// The plain twins: scalar code that says what the fast paths must equal, bit for bit.
#pragma once

#include "kernels.h"

namespace acuity::plain {

std::size_t vif_scratch_bytes(int width, int height);
void vif_statistic(const VifLevel& level, const double* gains, int n_gains, void* scratch, VifSums& out);
void vif_decimate(const Plane& in, int scale, void* scratch, std::uint16_t* out, std::ptrdiff_t out_stride);

std::size_t adm_scratch_bytes(int width, int height);
void adm_scale(const AdmScale& scale, const AdmInput& in, void* scratch, const AdmLow& low, AdmSums& out);

std::size_t motion_scratch_bytes(int width, int height);
std::uint64_t motion_sad(const Plane& before, const Plane& now, void* scratch);

// A row of a plane, widened sample by sample.
class Row {
  public:
    Row(const Plane& plane, int row, bool bytes)
        : at_(static_cast<const unsigned char*>(plane.data) + plane.stride * row), bytes_(bytes) {}
    std::uint32_t operator[](int column) const {
        if (bytes_) return at_[column];
        return reinterpret_cast<const std::uint16_t*>(at_)[column];
    }

  private:
    const unsigned char* at_;
    bool bytes_;
};

}  // namespace acuity::plain
