// The arithmetic of ADM's scales 1 to 3, on 32-bit lanes. fine_simd.h explains it.
#pragma once

#include "adm/decouple_simd.h"
#include "adm/plan.h"
#include "adm/wavelet_simd.h"

namespace acuity::ACUITY_ISA::adm {

// A block of kLanes32 columns is a register a band.
template <int Scale>
struct Coarse {
    using Lanes = I32;
    using Sizes = U32;
    static constexpr int kScale = Scale;
    static constexpr bool kLeftWithinAlong = false;  // shares are rounded to 15 bits, and coefficients have more
    static constexpr int kHalves = 1;
    static constexpr int kStrip = 192;
    template <int>
    static constexpr int kSquare = 30;

    struct Factors {
        I32 value[3];
        bool carry[3];  // reads as negative, so 2^32 times the value is missing
        I32 thirtieth = splat<I32>(143165577), fifteenth = splat<I32>(286331153);  // in 2^-32
        I64 signal_add = splat<I64>(1 << 27), share_add = splat<I64>(-(std::int64_t{1} << 31));
        U64 lower = splat<U64>(0xffffffffu);

        void set(const std::uint32_t* f) {
            for (int b = 0; b < 3; ++b) {
                value[b] = splat<I32>(static_cast<std::int32_t>(f[b]));
                carry[b] = f[b] > 0x7fffffffu;
            }
        }
    };

    static I32 sign_of(I32 v) { return v >> 31; }
    static U32 size_of(I32 v) { return as<U32>(abs32(v)); }

    static void load_bands(const Columns& in, int x, I32* out) {
        out[0] = as<I32>(filter_row<Scale, kDwtLow>(in.high, x));
        out[1] = as<I32>(filter_row<Scale, kDwtHigh>(in.low, x));
        out[2] = as<I32>(filter_row<Scale, kDwtHigh>(in.high, x));
    }

    template <class V>
    static void spread(const I32* lanes, V* out) {
        for (int b = 0; b < 3; ++b) out[b] = as<V>(lanes[0]);
    }

    static void add_denominators(const U32* size, const AdmPlan& plan, const Count& cube, U64* sums) {
        constexpr int shift = Scale == 2 ? 30 : 31;
        const auto rounded = [&](U32 v) {
            const U64 square = (mul_even(v, v) + (std::uint64_t{1} << shift)) >> shift;
            return shift_right(mul_even(as<U32>(square), v) + plan.den_cube_add, cube);
        };
        for (int b = 0; b < 3; ++b) sums[b] += rounded(size[b]) + rounded(odd_down(size[b]));
    }

    // Products lose bits: 24 roundings may be wrong.
    static void find_parallel(const I32* ref, const I32* dis, float cos_squared, I32* out) {
        const F32 rh = to_f32(ref[0]), rv = to_f32(ref[1]), dh = to_f32(dis[0]), dv = to_f32(dis[1]);
        const I32 lanes = parallel<1 << 19>(
            rh * dh + rv * dv, rh * rh + rv * rv, dh * dh + dv * dv, cos_squared, [&](I32& yes, I32 unsure) {
                const I32 c[4] = {ref[0], ref[1], dis[0], dis[1]};
                for (int i = 0; i < kLanes32; ++i)
                    if (unsure[i]) yes[i] = -parallel_exactly(c[0][i], c[1][i], c[2][i], c[3][i], cos_squared);
            });
        spread(&lanes, out);
    }

    static bool parallel_exactly(std::int64_t rh, std::int64_t rv, std::int64_t dh, std::int64_t dv,
                                 float cos_squared) {
        const double dot = static_cast<float>(rh * dh + rv * dv);
        const double ref = static_cast<float>(rh * rh + rv * rv), dis = static_cast<float>(dh * dh + dv * dv);
        return dot >= 0.0 && dot * dot >= cos_squared * ref * dis;
    }

    // |(x * factor + 2^27) >> 28|, kept in 32 bits.
    static void signals(const I32* x, const U32*, const Factors& f, I32* out) {
        for (int b = 0; b < 3; ++b) {
            const U64 even = as<U64>(mul_even(x[b], f.value[b]) + f.signal_add);
            const U64 odd = as<U64>(mul_even(odd_down(x[b]), f.value[b]) + f.signal_add);
            U32 low = as<U32>(((even >> 28) & f.lower) | ((odd << 4) & ~f.lower));
            if (f.carry[b]) [[unlikely]] low += as<U32>(x[b]) << 4;
            out[b] = abs32(as<I32>(low));
        }
    }

    // A part of the signals, rounded band by band as the reference does: its rounding term is negative,
    // since it keeps 2^31 in a signed word. Upper halves of 64-bit lanes add up as 32-bit lanes, without
    // carries from the lower ones.
    static U32 share(const I32* signals, I32 part, I64 add) {
        U32 even{}, odd{};
        for (int b = 0; b < 3; ++b) {
            even += as<U32>(mul_even(signals[b], part) + add);
            odd += as<U32>(mul_even(odd_down(signals[b]), part) + add);
        }
        return join_high(as<U64>(even), as<U64>(odd));
    }

    static void lend(const I32*, const I32* signals, const Factors& f, std::int32_t* around, U32* own) {
        const U32 sum = share(signals, f.thirtieth, f.share_add);
        store(around, sum);
        own[0] = share(signals, f.fifteenth, f.share_add) - sum;
    }

    template <int B>
    static I32 excess(const I32* signals, int, U32 minus_mask, const Factors&) {
        return vmax(as<I32>(as<U32>(signals[B]) + minus_mask), I32{});
    }
};

}  // namespace acuity::ACUITY_ISA::adm
