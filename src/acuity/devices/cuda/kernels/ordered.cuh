// Adds numbers that aren't negative one after the other, as a single thread would, by a whole block.
//
// While a sum stays between two powers of two, its last digit has one size: adding a number adds as many of these
// digits as it is rounded to. A number halfway between two goes to the even sum, so what is added depends on the
// number and on whether the sum is even or odd, but on nothing else of it. Each thread therefore adds its numbers
// to two sums, an even and an odd one at the lower power of two, and what these grew by is composed along the
// threads. Where the real sum would reach the upper power, the thread there adds its numbers to the real sum, and
// the threads after it begin anew. A sum reaches a power of two a few dozen times, however many numbers it has.
#pragma once

#include "pictures.cuh"

template <class Total>
struct Digits;

template <>
struct Digits<float> {
    typedef u32 Bits;
    static constexpr int kMantissa = 23;
    static __device__ __forceinline__ Bits of(float number) { return __float_as_uint(number); }
    static __device__ __forceinline__ float number(Bits bits) { return __uint_as_float(bits); }
};

template <>
struct Digits<double> {
    typedef u64 Bits;
    static constexpr int kMantissa = 52;
    static __device__ __forceinline__ Bits of(double number) { return static_cast<u64>(__double_as_longlong(number)); }
    static __device__ __forceinline__ double number(Bits bits) {
        return __longlong_as_double(static_cast<i64>(bits));
    }
};

// By how many last digits a sum grows if it is even at first, and if it is odd. Once this is beyond a power of
// two, it says only that.
template <class Total>
struct Growth {
    typedef typename Digits<Total>::Bits Bits;
    static constexpr Bits kMost = Bits(2) << Digits<Total>::kMantissa;

    Bits even, odd;

    static __device__ __forceinline__ Bits limited(Bits digits) { return digits < kMost ? digits : kMost; }

    // That by some numbers, of a sum whose lower power of two has these bits.
    template <class Number, int kCount>
    static __device__ __forceinline__ Growth by(const Number (&numbers)[kCount], Bits low) {
        Total even = Digits<Total>::number(low), odd = Digits<Total>::number(low + 1);
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
            even += static_cast<Total>(numbers[i]);
            odd += static_cast<Total>(numbers[i]);
        }
        return between(low, even, odd);
    }

    // That of sums that began with `low` and with the number after it.
    static __device__ __forceinline__ Growth between(Bits low, Total even, Total odd) {
        return {limited(Digits<Total>::of(even) - low), limited(Digits<Total>::of(odd) - (low + 1))};
    }

    // This one, and then another.
    __device__ __forceinline__ Growth then(const Growth& next) const {
        return {limited(even + (even & 1 ? next.odd : next.even)), limited(odd + (odd & 1 ? next.even : next.odd))};
    }

    __device__ __forceinline__ Bits from(Bits start) const { return start & 1 ? odd : even; }

    // Composed with that of all lanes before.
    __device__ __forceinline__ Growth along_warp(int lane) const {
        Growth found = *this;
        for (int step = 1; step < 32; step *= 2) {
            const Growth before = {__shfl_up_sync(0xFFFFFFFFu, found.even, step),
                                   __shfl_up_sync(0xFFFFFFFFu, found.odd, step)};
            if (lane >= step) found = before.then(found);
        }
        return found;
    }

    __device__ __forceinline__ Growth of_lane(int lane) const {
        return {__shfl_sync(0xFFFFFFFFu, even, lane), __shfl_sync(0xFFFFFFFFu, odd, lane)};
    }
};

constexpr int kEach = 16;  // numbers that a thread adds at a time

// A thread's numbers, of `count` from `terms` on, which is aligned to 64 bytes. 0 where there are none.
__device__ __forceinline__ void read_terms(const float* terms, i64 count, i64 first, float (&to)[kEach]) {
    const float4* from = reinterpret_cast<const float4*>(terms + first);
#pragma unroll
    for (int i = 0; i < kEach; i += 4) {
        const float4 four = first < count ? from[i / 4] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        to[i] = four.x, to[i + 1] = four.y, to[i + 2] = four.z, to[i + 3] = four.w;
    }
}

template <class Total, int kThreads>
class OrderedSum {
  public:
    typedef typename Digits<Total>::Bits Bits;
    static constexpr int kWarps = kThreads / 32;

    struct Shared {
        Growth<Total> warps[2][kWarps];  // in turns, so that one can be written while the other is still read
        Total sum;
        int done;
    };

    __device__ explicit OrderedSum(Shared& shared) : shared_(shared), turn_(0), sum_(0) {}

    __device__ __forceinline__ Total sum() const { return sum_; }

    // Adds so many of the sum's last digits, which stay below the next power of two.
    __device__ __forceinline__ void grow(Bits digits) {
        sum_ = Digits<Total>::number(Digits<Total>::of(sum_) + digits);
    }

    // Adds each thread's numbers, in the threads' order. All threads call it.
    template <class Number, int kCount>
    __device__ __forceinline__ void add(const Number (&mine)[kCount]) {
        constexpr int kMantissa = Digits<Total>::kMantissa;
        const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
        int done = 0;  // threads whose numbers are in the sum
        for (;;) {
            const Bits at = Digits<Total>::of(sum_), low = at >> kMantissa << kMantissa;
            const Bits left = low + (Bits(1) << kMantissa) - at;
            const Growth<Total> own = thread < done ? Growth<Total>{0, 0} : Growth<Total>::by(mine, low);
            Growth<Total> all = own.along_warp(lane);
            turn_ ^= 1;
            if (lane == 31) shared_.warps[turn_][warp] = all;
            __syncthreads();
            const Growth<Total> warps =
                (lane < kWarps ? shared_.warps[turn_][lane] : Growth<Total>{0, 0}).along_warp(lane);
            const Growth<Total> before = warp > 0 ? warps.of_lane(warp - 1) : Growth<Total>{0, 0};
            const Bits total = warps.of_lane(kWarps - 1).from(at);
            if (total < left) {
                sum_ = Digits<Total>::number(at + total);
                return;
            }
            const Bits after = before.then(all).from(at);
            Bits upto = __shfl_up_sync(0xFFFFFFFFu, after, 1);
            if (lane == 0) upto = before.from(at);
            if (upto < left && after >= left) {  // one thread
                Total sum = Digits<Total>::number(at + upto);
#pragma unroll
                for (int i = 0; i < kCount; ++i) sum += static_cast<Total>(mine[i]);
                shared_.sum = sum;
                shared_.done = thread + 1;
            }
            __syncthreads();
            sum_ = shared_.sum;
            done = shared_.done;
        }
    }

  private:
    Shared& shared_;
    int turn_;
    Total sum_;
};
