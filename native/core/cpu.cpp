#include "core/cpu.h"

#if defined(__x86_64__)

#include <cpuid.h>

#include <cstdint>

namespace acuity::cpu {

namespace {

// The results of cpuid, and of xgetbv: which registers the operating system saves when it switches threads. A
// set whose registers it doesn't save must not be used, even if the processor has it.
struct Machine {
    std::uint32_t basic = 0;                          // leaf 1, ecx
    std::uint32_t extended_b = 0, extended_c = 0;     // leaf 7, ebx and ecx
    std::uint32_t extended1_a = 0;                    // its subleaf 1, eax
    std::uint32_t amd = 0;                            // leaf 0x80000001, ecx
    std::uint32_t saved = 0;                          // XCR0

    Machine() {
        std::uint32_t a, b, c, d;
        if (__get_cpuid(1, &a, &b, &c, &d)) basic = c;
        if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
            extended_b = b;
            extended_c = c;
        }
        if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) extended1_a = a;
        if (__get_cpuid(0x80000001, &a, &b, &c, &d)) amd = c;
        constexpr std::uint32_t osxsave = 1u << 27;
        if (basic & osxsave) __asm__ volatile("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
    }
};

const Machine& machine() {
    static const Machine here;
    return here;
}

constexpr std::uint32_t bits(auto... bit) { return ((1u << bit) | ...); }
constexpr bool has(std::uint32_t word, std::uint32_t wanted) { return (word & wanted) == wanted; }

}  // namespace

// One function for each set; it tests all features that the flags in CMakeLists.txt let the compiler use.

bool sse4() {
    constexpr std::uint32_t basic = bits(0 /* SSE3 */, 9 /* SSSE3 */, 19 /* SSE4.1 */, 20 /* SSE4.2 */, 23 /* POPCNT */);
    return has(machine().basic, basic);
}

bool avx2() {
    constexpr std::uint32_t saved = bits(1 /* XMM */, 2 /* YMM */);
    constexpr std::uint32_t basic = bits(12 /* FMA */, 22 /* MOVBE */, 28 /* AVX */, 29 /* F16C */);
    constexpr std::uint32_t extended = bits(3 /* BMI1 */, 5 /* AVX2 */, 8 /* BMI2 */);
    constexpr std::uint32_t amd = bits(5 /* LZCNT */);
    const Machine& m = machine();
    return sse4() && has(m.saved, saved) && has(m.basic, basic) && has(m.extended_b, extended) && has(m.amd, amd);
}

bool avx2vnni() { return avx2() && has(machine().extended1_a, bits(4 /* AVX-VNNI */)); }

bool avx512() {
    constexpr std::uint32_t saved = bits(5 /* masks */, 6 /* ZMM 0 to 15 */, 7 /* ZMM 16 to 31 */);
    constexpr std::uint32_t extended = bits(16 /* F */, 17 /* DQ */, 28 /* CD */, 30 /* BW */, 31 /* VL */);
    return avx2() && has(machine().saved, saved) && has(machine().extended_b, extended);
}

bool avx512vnni() {
    constexpr std::uint32_t extended = bits(11 /* VNNI */);
    return avx512() && has(machine().extended_c, extended);
}

}  // namespace acuity::cpu

#elif defined(__aarch64__)

#include <sys/auxv.h>

namespace acuity::cpu {

// What the system says of the processor; a set whose registers it doesn't save isn't among it.
bool neon_dotprod() {
    constexpr unsigned long dotprod = 1ul << 20;  // HWCAP_ASIMDDP
    return (getauxval(AT_HWCAP) & dotprod) != 0;
}

}  // namespace acuity::cpu

#endif
