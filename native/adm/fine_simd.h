// The arithmetic of ADM's scale 0, on words.
//
// What masks a coefficient is the sum over bands of its eight neighbours' parts and a larger part of
// itself. Two numbers a column are enough: `around`, the sum of the parts that it lends to its
// neighbours, and `own`, what to add once the nine `around` of its 3x3 block have been summed.
#pragma once

#include "adm/decouple_simd.h"
#include "adm/plan.h"
#include "adm/wavelet_simd.h"

namespace acuity::ACUITY_ISA::adm {

// A block of 2 * kLanes32 columns is three registers of words, two in each 32-bit lane: bands h and v
// of the first kLanes32 columns, of the other kLanes32 columns, and band d of both.
struct Fine {
    using Lanes = I16;
    using Sizes = U16;
    static constexpr int kScale = 0;
    static constexpr bool kLeftWithinAlong = true;
    static constexpr int kHalves = 2;
    static constexpr int kStrip = 256;  // columns whose rows stay in the nearest cache
    template <int B>
    static constexpr int kSquare = B < 2 ? 29 : 30;  // bits off the squares

    // A factor of up to 65535 as taps of the signed multiplier, for first or second words: one whose products are added,
    // and one whose products are taken away, which reaches further.
    struct Taps {
        I16 added, taken;
        void set(std::uint32_t factor, int word) {
            const std::uint32_t part = factor < 32767 ? factor : 32767;
            added = as<I16>(splat<U32>(part << 16 * word));
            taken = as<I16>(splat<U32>(((part - factor) & 0xffff) << 16 * word));
        }
    };

    // Factors that don't fit a signed word are short of something there, which `carry` puts back:
    // 32768 for bands h and v, 65536 for band d. Constants are here too: from memory they are cheaper
    // than made again and again.
    struct Factors {
        I16 straight, diagonal;
        U16 straight_carry, diagonal_carry;
        Taps taps[3][2];  // by band and half
        U16 most = splat<U16>(32767);
        I16 thirtieth = splat<I16>(2184), fifteenth = splat<I16>(4368);  // less 1 and 2, in 1/32768
        I16 both = splat<I16>(1), one[2] = {as<I16>(splat<U32>(1)), as<I16>(splat<U32>(0x10000))};

        void set(const std::uint32_t* f) {
            straight = as<I16>(splat<U32>(f[0] | (f[1] << 16)));
            straight_carry = as<U16>(straight < 0);
            straight &= 0x7fff;
            diagonal = as<I16>(splat<U32>(f[2] | (f[2] << 16)));
            diagonal_carry = as<U16>(diagonal < 0);
            for (int half = 0; half < 2; ++half) {
                taps[0][half].set(f[0], 0);
                taps[1][half].set(f[1], 1);
                taps[2][half].set(f[2], half);
            }
        }
    };

    static I16 sign_of(I16 v) { return v >> 15; }
    static U16 size_of(I16 v) { return as<U16>(abs16(v)); }

    static void load_bands(const Columns& in, int x, I16* out) {
        U32 d[2];
        for (int half = 0; half < 2; ++half) {
            const int at = x + half * kLanes32;
            out[half] = upper_pair(filter_row<0, kDwtLow>(in.high, at), filter_row<0, kDwtHigh>(in.low, at));
            d[half] = filter_row<0, kDwtHigh>(in.high, at);
        }
        out[2] = upper_pair(d[0], d[1]);
    }

    // Lanes of 32 bits, by half, as registers of a block.
    template <class V>
    static void spread(const I32* lanes, V* out) {
        out[0] = as<V>(lanes[0]);
        out[1] = as<V>(lanes[1]);
        out[2] = as<V>(mix(lanes[0], lanes[1]));
    }

    // |ref| cubed.
    static void add_denominators(const U16* size, const AdmPlan&, const Count&, U64* sums) {
        const auto cube = [](U32 v) {
            const U32 square = dot2(U32{}, as<I16>(v), as<I16>(v));
            return mul_even(square, v) + mul_even(odd_down(square), odd_down(v));
        };
        sums[0] += cube(first_of(size[0])) + cube(first_of(size[1]));
        sums[1] += cube(second_of(size[0])) + cube(second_of(size[1]));
        sums[2] += cube(first_of(size[2])) + cube(second_of(size[2]));
    }

    // Where gradients are parallel. Products are exact, so four roundings may be wrong.
    static void find_parallel(const I16* ref, const I16* dis, float cos_squared, I16* out) {
        const auto product = [](I16 a, I16 b) { return to_f32(as<I32>(dot2(U32{}, a, b))); };
        I32 lanes[2];
        unroll<2>([&](auto half) {
            const F32 dot = product(ref[half], dis[half]);
            const F32 r = product(ref[half], ref[half]), d = product(dis[half], dis[half]);
            lanes[half] = parallel<1 << 21>(dot, r, d, cos_squared, [&](I32& yes, I32) {
                const F64x2 p = to_f64(dot), r64 = to_f64(r), d64 = to_f64(d);
                const double c = cos_squared;
                yes = narrow_mask((p.lo >= 0.0) & (p.lo * p.lo >= c * r64.lo * d64.lo),
                                  (p.hi >= 0.0) & (p.hi * p.hi >= c * r64.hi * d64.hi));
            });
        });
        spread(lanes, out);
    }

    static void signals(const I16*, const U16* size, const Factors&, I16* out) {
        for (int r = 0; r < 3; ++r) out[r] = as<I16>(size[r]);
    }

    // |(x * factor + 2^14) >> 15|, kept in 16 bits.
    static U16 weigh(I16 x, const Factors& f) {
        const U16 product = as<U16>(mul_round15(x, f.straight));
        return as<U16>(abs16(as<I16>(product + (as<U16>(x) & f.straight_carry))));
    }

    // Band d: |(x * factor + 65535) >> 17|. The product's lower word counts only if it isn't 0.
    static U16 weigh_diagonal(I16 x, const Factors& f) {
        const U16 upper = as<U16>(mulhi(x, f.diagonal)) + (as<U16>(x) & f.diagonal_carry);
        const U16 lower = as<U16>(x) * as<U16>(f.diagonal);
        return as<U16>(abs16(as<I16>(upper - as<U16>(lower != 0)) >> 1));
    }

    // The masking that coefficients x lend and keep.
    static void lend(const I16* x, const I16*, const Factors& f, std::int32_t* around, U32* own) {
        I16 lent[3], kept[3];
        for (int r = 0; r < 3; ++r) {
            const U16 size = r < 2 ? weigh(x[r], f) : weigh_diagonal(x[r], f);
            const I16 capped = as<I16>(vmin(size, f.most));
            lent[r] = as<I16>(size + as<U16>(mul_round15(capped, f.thirtieth)));
            kept[r] = as<I16>(size + size + as<U16>(mul_round15(capped, f.fifteenth)));
        }
        for (int half = 0; half < 2; ++half) {
            const U32 sum = dot2(dot2(U32{}, lent[half], f.both), lent[2], f.one[half]);
            store(around + half * kLanes32, sum);
            own[half] = dot2(dot2(-sum, kept[half], f.both), kept[2], f.one[half]);
        }
    }

    // How far a signal stands out of its masking, given minus the masking.
    template <int B>
    static I32 excess(const I16* signals, int half, U32 minus_mask, const Factors& f) {
        const I16 signal = signals[B < 2 ? half : 2];
        const Taps& taps = f.taps[B][half];
        const U32 sum = dot2(minus_mask << (B < 2 ? 10 : 12), signal, taps.added) - dot2(U32{}, signal, taps.taken);
        return vmax(as<I32>(sum), I32{});
    }
};

}  // namespace acuity::ACUITY_ISA::adm
