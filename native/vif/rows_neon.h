// Which of NEON's vertical filters VIF takes for the rows of a strip.
#pragma once

#include <type_traits>

#include "vif/double_rows_neon.h"
#if defined(__ARM_FEATURE_DOTPROD)
#include "vif/byte_rows_neon.h"
#endif

namespace acuity::ACUITY_ISA::vif {

#if defined(__ARM_FEATURE_DOTPROD)
template <class T, const auto& Taps>
using StripRows = std::conditional_t<sizeof(T) == 1, GroupRows<Taps>, DoubleRows<T, Taps>>;
#else
template <class T, const auto& Taps>
using StripRows = DoubleRows<T, Taps>;
#endif

// Room for each of them.
union StripRing {
#if defined(__ARM_FEATURE_DOTPROD)
    alignas(kAlign) GroupSlot groups[kGroupRing];
#endif
    RowRing<32> rows;
};

}  // namespace acuity::ACUITY_ISA::vif
