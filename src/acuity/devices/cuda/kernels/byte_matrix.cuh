// Products of byte matrices, which a warp computes on the tensor cores: whole and exact.
//
// A is 16 x 32, B is 32 x 8, their product 16 x 8. Of lane 4 * g + q, the parts are:
//   A: at[r] has row g + 8 * (r % 2), columns 4 * q + 16 * (r / 2) and the three after it, a byte each;
//   B: b0 has column g, rows 4 * q and the three after it; b1 the same 16 rows further;
//   sums: at[i] is in row g + 8 * (i / 2), column 2 * q + i % 2.
#pragma once
#include "pictures.cuh"

struct ByteMatrix {
    u32 at[4];
};

struct Sums {
    u32 at[4];
};

__device__ __forceinline__ Sums sums_of(u32 value) { return {{value, value, value, value}}; }

// A * B + C, bytes unsigned. All lanes of the warp call it.
__device__ __forceinline__ Sums multiply(const ByteMatrix& a, u32 b0, u32 b1, const Sums& c) {
    Sums d;
#if !defined(__CUDA_ARCH__)
    multiply_bytes(a.at, b0, b1, c.at, d.at);  // the emulator's
#elif __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%10, %11, %12, %13};"
        : "=r"(d.at[0]), "=r"(d.at[1]), "=r"(d.at[2]), "=r"(d.at[3])
        : "r"(a.at[0]), "r"(a.at[1]), "r"(a.at[2]), "r"(a.at[3]), "r"(b0), "r"(b1), "r"(c.at[0]), "r"(c.at[1]),
          "r"(c.at[2]), "r"(c.at[3]));
#else  // the same from quarters, whose parts lie in the same lanes
    d = c;
    for (int half = 0; half < 2; ++half)
        for (int r = 0; r < 2; ++r)
            asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                         : "+r"(d.at[2 * half]), "+r"(d.at[2 * half + 1])
                         : "r"(a.at[2 * r + half]), "r"(r ? b1 : b0));
#endif
    return d;
}

// The same from the left half of A and b0, or the right half and b1: two halves need no neighbouring registers.
template <int Half>
__device__ __forceinline__ Sums multiply_half(const ByteMatrix& a, u32 b, const Sums& c) {
    Sums d;
#if !defined(__CUDA_ARCH__)
    const u32 half[4] = {a.at[2 * Half], a.at[2 * Half + 1], 0, 0};
    multiply_bytes(half, b, 0, c.at, d.at);
#elif __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"
        : "=r"(d.at[0]), "=r"(d.at[1]), "=r"(d.at[2]), "=r"(d.at[3])
        : "r"(a.at[2 * Half]), "r"(a.at[2 * Half + 1]), "r"(b), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]));
#else
    d = c;
    for (int part = 0; part < 2; ++part)
        asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+r"(d.at[2 * part]), "+r"(d.at[2 * part + 1])
                     : "r"(a.at[2 * Half + part]), "r"(b));
#endif
    return d;
}

// Bytes `First` and `First` + 1 of four words, each as one word in the words' order.
template <int First>
__device__ __forceinline__ void take_bytes(const u32 (&words)[4], u32& first, u32& second) {
    constexpr u32 kPairs = First | (First + 4) << 4 | (First + 1) << 8 | (First + 5) << 12;
    const u32 a = __byte_perm(words[0], words[1], kPairs), b = __byte_perm(words[2], words[3], kPairs);
    first = __byte_perm(a, b, 0x5410);
    second = __byte_perm(a, b, 0x7632);
}

// A 4 x 4 matrix of bytes, transposed.
__device__ __forceinline__ uint4 transpose(const u32 (&words)[4]) {
    uint4 out;
    take_bytes<0>(words, out.x, out.y);
    take_bytes<2>(words, out.z, out.w);
    return out;
}
