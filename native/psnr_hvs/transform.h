// The discrete cosine transform of Daala, in integers, of one block or of several side by side: `Int` is a
// 32-bit integer or a register of them.
//
// Multiplications by irrational numbers are steps that add a rounded multiple of one value to another; each
// constant is a fraction of a power of two.
#pragma once

namespace acuity::ACUITY_ISA {

namespace {  // of the one file that includes this, for each instruction set

// x times a constant over 2^shift, rounded to nearest.
template <int Constant, int Shift, class Int>
inline Int scaled(Int x) {
    return (x * Constant + (1 << (Shift - 1))) >> Shift;
}

// Half of x, rounded towards zero.
template <class Int>
inline Int halved(Int x) {
    return (x - (x >> 31)) >> 1;
}

// Eight values, in[0], in[stride], …, to eight frequencies, from the lowest to the highest.
template <class Int>
[[gnu::always_inline]] inline void transform_8(const Int* in, int stride, Int* out) {
    // Sums and differences of values opposite each other.
    Int odd0 = in[0] - in[7 * stride];
    const Int odd0_half = halved(odd0);
    Int even0 = in[0] - odd0_half;
    Int even1 = in[1 * stride] + in[6 * stride];
    const Int even1_half = halved(even1);
    Int odd1 = in[6 * stride] - even1_half;
    Int odd2 = in[2 * stride] - in[5 * stride];
    Int even2 = in[2 * stride] - halved(odd2);
    Int even3 = in[3 * stride] + in[4 * stride];
    const Int even3_half = halved(even3);
    Int odd3 = even3_half - in[4 * stride];
    even0 += even3_half;
    even3 = even0 - even3;
    even2 = even1_half - even2;
    even1 = even2 - even1;

    // Frequencies 0 and 4: a turn by pi / 4.
    even0 -= scaled<13573, 15>(even1);
    even1 += scaled<11585, 14>(even0);
    even0 -= scaled<13573, 15>(even1);
    // Frequencies 2 and 6: a turn by 3 pi / 8.
    even3 -= scaled<21895, 15>(even2);
    even2 += scaled<15137, 14>(even3);
    even3 -= scaled<21895, 15>(even2);

    // The odd ones.
    odd2 += scaled<19195, 15>(odd1);
    odd1 += scaled<11585, 14>(odd2);
    odd2 -= scaled<7489, 13>(odd1);
    odd3 = halved(odd1) - odd3;
    odd1 -= odd3;
    odd2 = odd0_half - odd2;
    odd0 -= odd2;
    // Frequencies 1 and 7: a turn by pi / 16.
    odd3 += scaled<3227, 15>(odd0);
    odd0 -= scaled<6393, 15>(odd3);
    odd3 += scaled<3227, 15>(odd0);
    // Frequencies 3 and 5: a turn by 3 pi / 16.
    odd1 += scaled<2485, 13>(odd2);
    odd2 -= scaled<18205, 15>(odd1);
    odd1 += scaled<2485, 13>(odd2);

    out[0] = even0, out[1] = odd0, out[2] = even2, out[3] = odd2;
    out[4] = even1, out[5] = odd1, out[6] = even3, out[7] = odd3;
}

// 8x8 values to frequencies, vertical before horizontal.
template <class Int>
inline void transform_8x8(Int (&block)[64]) {
    Int columns[64];
    for (int i = 0; i < 8; ++i) transform_8(block + i, 8, columns + 8 * i);
    for (int i = 0; i < 8; ++i) transform_8(columns + i, 8, block + 8 * i);
}

}  // namespace

}  // namespace acuity::ACUITY_ISA
