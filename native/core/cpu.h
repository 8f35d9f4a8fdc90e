// Which instruction sets run here: the processor has them, and the operating system saves their registers.
#pragma once

namespace acuity::cpu {

bool avx512vnni();
bool avx512();
bool avx2vnni();
bool avx2();
bool sse4();
bool neon_dotprod();
inline bool neon() { return true; }  // part of the base architecture
inline bool plain() { return true; }

}  // namespace acuity::cpu
