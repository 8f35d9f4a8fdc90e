// What instruction sets without masks and compression share.
#pragma once

namespace acuity::ACUITY_ISA {

inline F32 inverse(F32 v) { return 1.0f / v; }

inline I32 at_least(F32 v, F32 surely, F32 maybe, bool& unsure) {
    const I32 yes = v >= surely;
    unsure = any(yes ^ (v >= maybe));
    return yes;
}

inline int append_nonzero(std::int32_t* out, I32 v) {
    store(out, v);
    return any(v) ? kLanes32 : 0;
}

inline U32 shift_left(U32 v, U32 n) { return v << n; }
inline U32 shift_right(U32 v, U32 n) { return v >> n; }

}  // namespace acuity::ACUITY_ISA
