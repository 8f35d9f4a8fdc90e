// Eigenvalues of a symmetric matrix that has been made tridiagonal.
#pragma once

namespace acuity {

// `diagonal` has `size` values and becomes the eigenvalues, in no order; `beside` has size - 1.
void speed_eigenvalues(float* diagonal, float* beside, int size);

// The reflection I - tau v v', v[0] = 1, that turns a column into one with a single value. Returns tau, makes `v`
// of the column, and `first` the value that is left.
float speed_reflector(float* v, int size, float& first);

}  // namespace acuity
