// The blur across. A register holds four columns of as many rows as it has room for, one row to a quad of lanes,
// so that four steps of each row's recursion are one operation.
#pragma once

#include <utility>

#include "simd/isa.h"
#include "ssimulacra2/table.h"

namespace acuity::ACUITY_ISA::s2 {

using namespace ssimulacra2;

using Quad [[gnu::vector_size(16), gnu::may_alias]] = float;

constexpr int kQuads = kLanes32 / 4;  // rows in a register

// Lane `Lane` of each quad, in all lanes of it.
template <int Lane>
F32 spread(F32 v) {
    return [&]<int... I>(std::integer_sequence<int, I...>) {
        return F32(__builtin_shufflevector(v, v, (I / 4 * 4 + Lane)...));
    }(std::make_integer_sequence<int, kLanes32>{});
}

// Four factors in each quad, the first `shift` of them zero and the others moved up.
inline F32 factors(const float* four, int shift = 0) {
    F32 v = {};
    for (int i = 0; i < kLanes32; ++i) v[i] = i % 4 >= shift ? four[i % 4 - shift] : 0.0f;
    return v;
}

// The inputs of the recursion, four columns of kRows rows after each other, from column 1 - kRadius on.
template <class Value>
void collect(int width, float* out, Value&& value) {
    for (int r = 0; r < kRows; ++r) {
        float* to = out + r * 4;
        for (int n = 1 - kRadius; n < width; n += 4, to += kRows * 4)
            store(to, value(r, n - kRadius - 1) + value(r, n + kRadius - 1));
    }
}

// Past values of a mode, each in all lanes of its row's quad.
struct Past {
    F32 last = {}, earlier = {};
};

// One column: from `input`, in all lanes.
inline F32 step(Past& past, const FourSteps& f, F32 input) {
    const F32 value = fused(splat<F32>(f.last[0]), past.last,
                            fused(splat<F32>(f.earlier[0]), past.earlier, input * f.input[0]));
    past.earlier = past.last;
    past.last = value;
    return value;
}

struct Factors {
    F32 input[4], last, earlier;
    explicit Factors(const FourSteps& f)
        : input{factors(f.input), factors(f.input, 1), factors(f.input, 2), factors(f.input, 3)},
          last(factors(f.last)),
          earlier(factors(f.earlier)) {}

    F32 four(Past& past, const F32 inputs[4]) const {
        F32 value = inputs[0] * input[0];
        for (int k = 1; k < 4; ++k) value = fused(input[k], inputs[k], value);
        value = fused(last, past.last, fused(earlier, past.earlier, value));
        past.earlier = spread<2>(value);
        past.last = spread<3>(value);
        return value;
    }
};

// The recursion over kQuads rows. `inputs` is what collect() made, from the first of these rows on.
class Recursion {
  public:
    Recursion(float* const* out, int what) : out_(out), what_(what) {}

    void run(const float* inputs, int width) {
        const Factors factors[kModes] = {Factors(kFourSteps[0]), Factors(kFourSteps[1]), Factors(kFourSteps[2])};
        int n = 1 - kRadius;
        const int head = kFirstFour < width ? kFirstFour : width;
        for (; n < head; ++n) one(inputs, n);
        Past past[kModes] = {past_[0], past_[1], past_[2]};  // in registers
        for (; four_at(n, width); n += 4) {
            const F32 v = load<F32>(at(inputs, n));
            const F32 four[4] = {spread<0>(v), spread<1>(v), spread<2>(v), spread<3>(v)};
            const F32 a = factors[0].four(past[0], four), b = factors[1].four(past[1], four);
            const F32 c = factors[2].four(past[2], four);
            put_four(n, a + (b + c));
        }
        for (int m = 0; m < kModes; ++m) past_[m] = past[m];
        for (; n < width; ++n) one(inputs, n);
    }

  private:
    static const float* at(const float* inputs, int n) { return inputs + (n + kRadius - 1) / 4 * (kRows * 4); }

    void one(const float* inputs, int n) {
        F32 input = {};
        const float* from = at(inputs, n) + (n + kRadius - 1) % 4;
        for (int i = 0; i < kLanes32; ++i) input[i] = from[i / 4 * 4];
        F32 value[kModes];
        for (int m = 0; m < kModes; ++m) value[m] = step(past_[m], kFourSteps[m], input);
        if (n < 0) return;
        const F32 sum = value[0] + (value[1] + value[2]);
        for (int r = 0; r < kQuads; ++r) *place(r, n) = sum[r * 4];
    }

    float* place(int r, int n) const {
        return out_[r] + n / kColumns * kRingBlock + what_ * kColumns + n % kColumns;
    }

    void put_four(int n, F32 v) const {
        unroll<kQuads>([&](auto r) {
            store(place(r, n), Quad(__builtin_shufflevector(v, v, r * 4, r * 4 + 1, r * 4 + 2, r * 4 + 3)));
        });
    }

    float* const* out_;
    int what_;
    Past past_[kModes];
};

inline void blur_across(const float* const ref[kRows], const float* const dis[kRows], int width, float* scratch,
                        float* const out[kRows]) {
    const auto quad = [](const float* row, int x) { return load<Quad>(row + x); };
    for (int what = 0; what < kBlurred; ++what) {
        const float* const* a = what == 1 || what == 4 ? dis : ref;
        const float* const* b = what == 0 ? ref : dis;
        if (what < 3)
            collect(width, scratch, [&](int r, int x) { return quad(a[r], x) * quad(b[r], x); });
        else
            collect(width, scratch, [&](int r, int x) { return quad(a[r], x); });
        for (int r = 0; r < kRows; r += kQuads) Recursion(out + r, what).run(scratch + r * 4, width);
    }
}

}  // namespace acuity::ACUITY_ISA::s2
