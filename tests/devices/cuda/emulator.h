// Runs CUDA kernels on the CPU: one block after the other, each thread of a block as a fiber.
//
// It is for comparing kernels with the CPU's on machines without a card. Threads run until they reach a
// barrier; a barrier that some threads of a block or warp don't reach ends the process with a message.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <tuple>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __shared__ static
#define __constant__ static
#define __restrict__
#define __launch_bounds__(...)

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};
static dim3 gridDim, blockDim, blockIdx, threadIdx;
constexpr int warpSize = 32;

namespace emulator {

enum class State { kRuns, kAtWarp, kAtBlock, kEnded };

// A fiber's context starts it, once; from then on jumps switch, which ask nothing of the system.
struct Fiber {
    ucontext_t context;
    jmp_buf place;
    std::vector<char> stack;
    State state;
    dim3 index;
    std::uint64_t words[2];  // what it shows to its warp, in turn: nobody writes what others still read
    unsigned turn = 0;
};

inline std::vector<Fiber> fibers;
inline ucontext_t main_context;
inline jmp_buf scheduler;
inline int current, threads;
inline void (*body)(void*);
inline void* body_data;
inline std::mutex one_at_a_time;

inline void yield(State state) {
    fibers[current].state = state;
    if (_setjmp(fibers[current].place) == 0) _longjmp(scheduler, 1);
}

inline void enter() {
    for (;;) {  // one block after the other
        body(body_data);
        yield(State::kEnded);
    }
}

inline void resume(int number) {
    current = number;
    Fiber& f = fibers[number];
    threadIdx = f.index;
    f.state = State::kRuns;
    if (_setjmp(scheduler) != 0) return;
    if (!f.stack.empty()) _longjmp(f.place, 1);
    f.stack.resize(128 << 10);
    getcontext(&f.context);
    f.context.uc_stack = {f.stack.data(), 0, f.stack.size()};
    f.context.uc_link = nullptr;
    makecontext(&f.context, enter, 0);
    swapcontext(&main_context, &f.context);
}

[[noreturn]] inline void fail(const char* what) {
    std::fprintf(stderr, "emulator: %s in block %u %u %u\n", what, blockIdx.x, blockIdx.y, blockIdx.z);
    std::abort();
}

// Lets all threads of a warp run until each has ended or waits for its block.
inline void run_warp(int first, int last) {
    for (int t = first; t < last; ++t)
        if (fibers[t].state != State::kEnded) resume(t);
    for (;;) {
        int waiting = 0, others = 0;
        for (int t = first; t < last; ++t) {
            waiting += fibers[t].state == State::kAtWarp;
            others += fibers[t].state == State::kAtBlock;
        }
        if (waiting == 0) return;
        if (others > 0) fail("some threads of a warp wait for it and others for the block");
        for (int t = first; t < last; ++t)
            if (fibers[t].state == State::kAtWarp) resume(t);
    }
}

inline void run_block() {
    for (int t = 0; t < threads; ++t) {
        Fiber& f = fibers[t];
        f.state = State::kRuns;
        const unsigned n = static_cast<unsigned>(t);
        f.index = {n % blockDim.x, n / blockDim.x % blockDim.y, n / blockDim.x / blockDim.y};
    }
    for (bool going = true; going;) {
        going = false;
        int ended = 0;
        for (int first = 0; first < threads; first += warpSize) run_warp(first, std::min(first + warpSize, threads));
        for (int t = 0; t < threads; ++t) {
            going |= fibers[t].state == State::kAtBlock;
            ended += fibers[t].state == State::kEnded;
        }
        if (going && ended > 0) fail("some threads wait for a block that others have left");
    }
}

template <class... P>
void launch(void (*kernel)(P...), const unsigned* grid, const unsigned* block, void** arguments) {
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    struct Call {
        void (*kernel)(P...);
        std::tuple<P...> values;
    };
    Call call = {kernel, [&]<std::size_t... I>(std::index_sequence<I...>) {
                     return std::tuple<P...>{*static_cast<std::remove_reference_t<P>*>(arguments[I])...};
                 }(std::index_sequence_for<P...>{})};
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block[0], block[1], block[2]};
    threads = static_cast<int>(blockDim.x * blockDim.y * blockDim.z);
    if (threads > 1024 || grid[1] > 65535 || grid[2] > 65535 || grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
        fail("a card refuses this grid or block");
    if (fibers.size() < static_cast<std::size_t>(threads)) fibers.resize(static_cast<std::size_t>(threads));
    body = [](void* data) {
        const Call& c = *static_cast<Call*>(data);
        std::apply(c.kernel, c.values);
    };
    body_data = &call;
    for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z)
        for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y)
            for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x) run_block();
}

// Shows a value to the warp, and waits until all have shown theirs; returns which of the words has them.
template <class T>
unsigned show(T value) {
    static_assert(sizeof(T) <= 8);
    Fiber& me = fibers[current];
    const unsigned turn = me.turn ^= 1;
    me.words[turn] = 0;
    std::memcpy(&me.words[turn], &value, sizeof(T));
    yield(State::kAtWarp);
    return turn;
}

template <class T>
T exchange(T value, int from) {
    const int lane = current % warpSize, first = current - lane, last = std::min(first + warpSize, threads);
    const unsigned turn = show(value);
    T found = value;
    if (from >= 0 && first + from < last) std::memcpy(&found, &fibers[first + from].words[turn], sizeof(T));
    return found;
}

template <class T, class F>
T combine(T value, F&& function) {
    const int lane = current % warpSize, first = current - lane, last = std::min(first + warpSize, threads);
    const unsigned turn = show(value);
    T found{};
    for (int t = first; t < last; ++t) {
        T other;
        std::memcpy(&other, &fibers[t].words[turn], sizeof(T));
        found = t == first ? other : static_cast<T>(function(found, other));
    }
    return found;
}

}  // namespace emulator

inline void __syncthreads() { emulator::yield(emulator::State::kAtBlock); }
inline void __syncwarp(unsigned = ~0u) { emulator::yield(emulator::State::kAtWarp); }
inline void __threadfence() {}

template <class T>
T __shfl_sync(unsigned, T v, int lane, int width = 32) {
    const int me = emulator::current % 32;
    return emulator::exchange(v, me / width * width + lane % width);
}
template <class T>
T __shfl_down_sync(unsigned, T v, unsigned d, int width = 32) {
    const int me = emulator::current % 32, to = me + static_cast<int>(d);
    return emulator::exchange(v, to / width == me / width ? to : me);
}
template <class T>
T __shfl_up_sync(unsigned, T v, unsigned d, int width = 32) {
    const int me = emulator::current % 32, to = me - static_cast<int>(d);
    return emulator::exchange(v, to >= 0 && to / width == me / width ? to : me);
}
template <class T>
T __shfl_xor_sync(unsigned, T v, int mask, int = 32) {
    return emulator::exchange(v, (emulator::current % 32) ^ mask);
}
template <class T>
T __reduce_add_sync(unsigned, T v) {
    return emulator::combine(v, [](T a, T b) { return a + b; });
}
template <class T>
T __reduce_max_sync(unsigned, T v) {
    return emulator::combine(v, [](T a, T b) { return std::max(a, b); });
}
template <class T>
T __reduce_min_sync(unsigned, T v) {
    return emulator::combine(v, [](T a, T b) { return std::min(a, b); });
}
inline unsigned __ballot_sync(unsigned, int p) {
    return emulator::combine(p ? 1u << (emulator::current % 32) : 0u, [](unsigned a, unsigned b) { return a | b; });
}
inline int __any_sync(unsigned m, int p) { return __ballot_sync(m, p) != 0; }
inline int __all_sync(unsigned m, int p) { return __ballot_sync(m, !p) == 0; }

template <class T, class U>
T atomicAdd(T* at, U value) {
    const T old = *at;
    *at = static_cast<T>(old + static_cast<T>(value));
    return old;
}
template <class T, class U>
T atomicMax(T* at, U value) {
    const T old = *at;
    *at = std::max(old, static_cast<T>(value));
    return old;
}
template <class T, class U>
T atomicMin(T* at, U value) {
    const T old = *at;
    *at = std::min(old, static_cast<T>(value));
    return old;
}
template <class T, class U>
T atomicOr(T* at, U value) {
    const T old = *at;
    *at = old | static_cast<T>(value);
    return old;
}

// Adds the product of byte matrices, in parts as mma.m16n8k32 lays them out in a warp.
inline void multiply_bytes(const unsigned (&a)[4], unsigned b0, unsigned b1, const unsigned (&c)[4], unsigned (&d)[4]) {
    struct Shown {
        unsigned char a[4][4], b[2][4];
    };
    static Shown shown[2][1024];  // of two calls: some lanes may be in the next one already
    static unsigned char calls[1024];
    const int me = emulator::current, lane = me % 32, first = me - lane;
    Shown* of = shown[calls[me] ^= 1];
    const unsigned b[2] = {b0, b1};
    std::memcpy(of[me].a, a, sizeof a);
    std::memcpy(of[me].b, b, sizeof b);
    emulator::yield(emulator::State::kAtWarp);
    for (int i = 0; i < 4; ++i) {
        const int row = lane / 4, half = i / 2, column = 2 * (lane % 4) + i % 2;
        unsigned sum = c[i];
        for (int k = 0; k < 8; ++k)
            for (int n = 0; n < 4; ++n)
                sum += of[first + 4 * row + k % 4].a[half + k / 4 * 2][n] * of[first + 4 * column + k % 4].b[k / 4][n];
        d[i] = sum;
    }
}

template <class T>
T __ldg(const T* at) {
    return *at;
}
inline int __clz(int v) { return std::countl_zero(static_cast<unsigned>(v)); }
inline int __clzll(long long v) { return std::countl_zero(static_cast<unsigned long long>(v)); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __popc(unsigned v) { return std::popcount(v); }
inline int __popcll(unsigned long long v) { return std::popcount(v); }
inline int __mulhi(int a, int b) { return static_cast<int>((static_cast<long long>(a) * b) >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
inline long long __mul64hi(long long a, long long b) { return static_cast<long long>((static_cast<__int128>(a) * b) >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 32; i += 8) c += ((a >> i) & 255) * ((b >> i) & 255);
    return c;
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
    const unsigned long long both = (static_cast<unsigned long long>(y) << 32) | x;
    unsigned out = 0;
    for (int i = 0; i < 4; ++i) out |= static_cast<unsigned>((both >> (((s >> (4 * i)) & 7) * 8)) & 255) << (8 * i);
    return out;
}
inline unsigned __vabsdiffu4(unsigned a, unsigned b) {
    unsigned out = 0;
    for (int i = 0; i < 32; i += 8) {
        const int d = static_cast<int>((a >> i) & 255) - static_cast<int>((b >> i) & 255);
        out |= static_cast<unsigned>(d < 0 ? -d : d) << i;
    }
    return out;
}
inline unsigned __vabsdiffu2(unsigned a, unsigned b) {
    unsigned out = 0;
    for (int i = 0; i < 32; i += 16) {
        const int d = static_cast<int>((a >> i) & 65535) - static_cast<int>((b >> i) & 65535);
        out |= static_cast<unsigned>(d < 0 ? -d : d) << i;
    }
    return out;
}
inline int __double2int_rz(double v) { return static_cast<int>(v); }
inline long long __double2ll_rz(double v) { return static_cast<long long>(v); }
inline float __int_as_float(int v) { return std::bit_cast<float>(v); }
inline int __float_as_int(float v) { return std::bit_cast<int>(v); }
inline unsigned __float_as_uint(float v) { return std::bit_cast<unsigned>(v); }
inline float __uint_as_float(unsigned v) { return std::bit_cast<float>(v); }
inline double __hiloint2double(int high, int low) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<unsigned>(high)) << 32 | static_cast<unsigned>(low));
}
inline int __double2hiint(double v) { return static_cast<int>(std::bit_cast<std::uint64_t>(v) >> 32); }
inline int __double2loint(double v) { return static_cast<int>(std::bit_cast<std::uint64_t>(v)); }
inline double __longlong_as_double(long long v) { return std::bit_cast<double>(v); }
inline long long __double_as_longlong(double v) { return std::bit_cast<long long>(v); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline double __dadd_rz(double a, double b) {
    const double sum = a + b, part = sum - a, lost = (a - (sum - part)) + (b - part);  // what rounding left out
    return lost != 0 && std::signbit(lost) != std::signbit(sum) ? std::nextafter(sum, 0.0) : sum;
}
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline float rsqrtf(float a) { return 1.0f / std::sqrt(a); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }

template <class A, class B>
auto min(A a, B b) {
    using T = std::common_type_t<A, B>;
    return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B>
auto max(A a, B b) {
    using T = std::common_type_t<A, B>;
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}

struct alignas(2) uchar2 { unsigned char x, y; };
struct alignas(4) uchar4 { unsigned char x, y, z, w; };
struct alignas(4) ushort2 { unsigned short x, y; };
struct alignas(8) ushort4 { unsigned short x, y, z, w; };
struct alignas(4) short2 { short x, y; };
struct alignas(8) short4 { short x, y, z, w; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) double2 { double x, y; };
inline uchar4 make_uchar4(unsigned char x, unsigned char y, unsigned char z, unsigned char w) { return {x, y, z, w}; }
inline ushort2 make_ushort2(unsigned short x, unsigned short y) { return {x, y}; }
inline ushort4 make_ushort4(unsigned short x, unsigned short y, unsigned short z, unsigned short w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
