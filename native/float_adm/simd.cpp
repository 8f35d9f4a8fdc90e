// ADM with registers, the same sums as plain.cpp: each row of bands is decoupled as soon as the wavelet made it,
// and masked when the row below it is there, so that nothing but the low-pass bands leaves the near caches.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "adm/table.h"
#include "float_adm/table.h"
#include "float_adm/wavelet_simd.h"
#include "simd/float_rows.h"

namespace acuity::ACUITY_ISA {

namespace float_adm {

constexpr int kKept = 6;   // rows of the input at hand; four are in use
constexpr int kSlots = 3;  // rows of bands that masking looks at

// ---- scratch ------------------------------------------------------------------------------------

// A row of one setting: magnitudes as seen, what each hides around it, and terms of the reference.
struct Slot {
    Bands restored, added, restored_mask, added_mask, reference;
};

struct Memory {
    float *ref_ring, *dis_ring;
    Halves halves;
    Bands ref, dis;
    Bands kept, impairment;  // terms of the row being masked
    float* slots;            // of all settings
    std::size_t room, slot_values, bytes;

    Memory(void* block, int width, int settings) {
        Carver carver(block);
        const int half = (width + 1) / 2;
        room = row_room(half) + 2 * kLanes32;  // a register before, and one after
        const auto row = [&] {
            auto* p = static_cast<float*>(carver.bytes(room * sizeof(float)));
            return p == nullptr ? nullptr : p + kLanes32;
        };
        ref_ring = static_cast<float*>(carver.bytes(FloatRows::bytes(width, kKept)));
        dis_ring = static_cast<float*>(carver.bytes(FloatRows::bytes(width, kKept)));
        for (int i = 0; i < 2; ++i) {
            halves.even[i] = row();
            halves.odd[i] = row();
        }
        for (Bands* bands : {&ref, &dis, &kept, &impairment})
            for (float*& p : bands->at) p = row();
        slot_values = room * 15;
        slots = static_cast<float*>(
            carver.bytes(slot_values * kSlots * static_cast<std::size_t>(settings) * sizeof(float)));
        bytes = carver.used();
    }

    Slot slot(int setting, int row) const {
        float* p = slots + slot_values * static_cast<std::size_t>(setting * kSlots + row % kSlots) + kLanes32;
        Slot s;
        for (Bands* bands : {&s.restored, &s.added, &s.restored_mask, &s.added_mask, &s.reference})
            for (float*& at : bands->at) {
                at = p;
                p += room;
            }
        return s;
    }
};

// ---- decoupling ---------------------------------------------------------------------------------

inline F32 magnitude(F32 v) { return as<F32>(as<I32>(v) & 0x7FFFFFFF); }

// a * b, rounded once from double precision.
inline F32 scaled(F32 v, double factor) {
    const F64x2 wide = to_f64(v);
    return to_f32(F64x2{wide.lo * factor, wide.hi * factor});
}

// The limit of enhancement. Where single precision holds the limit, a product in it rounds as one in double
// precision that is rounded afterwards; whichever is compared with the picture, the smaller one stays the smaller.
template <bool Single>
struct Gain {
    double limit;
    F32 operator()(F32 v) const {
        if constexpr (Single) return v * static_cast<float>(limit);
        return scaled(v, limit);
    }
};

// The part of the distorted picture's detail that is the reference's own.
template <bool Single>
[[gnu::always_inline]] inline F32 restore(F32 o, F32 t, I32 aligned, Gain<Single> gain) {
    const F32 zero{}, one = splat<F32>(1.0f);
    const F32 k = t / (o + kDecoupleEpsilon);
    const F32 r = (k < zero ? zero : (k > one ? one : k)) * o;
    const F32 more = gain(r);
    const F32 enhanced = r > zero ? vmin(more, t) : (r < zero ? vmax(more, t) : r);
    return aligned ? enhanced : r;
}

// Terms of a sum: cubes, or what another exponent makes of the magnitudes later.
template <bool Cubes>
inline F32 term(F32 v) {
    return Cubes ? v * v * v : v;
}

template <bool Single, bool Cubes>
void decouple(const Memory& m, const FloatAdmWeights& w, int from, int to, const Slot& out) {
    const float cosine = cos_one_degree_squared();
    const Gain<Single> gain{w.gain_limit};
    for (int x = from; x < to; x += kLanes32) {
        F32 o[3], t[3];
        unroll<3>([&](auto b) __attribute__((always_inline)) {
            o[b] = load<F32>(m.ref.at[b] + x);
            t[b] = load<F32>(m.dis.at[b] + x);
        });
        const F32 dot = o[0] * t[0] + o[1] * t[1];
        const F32 o_square = o[0] * o[0] + o[1] * o[1], t_square = t[0] * t[0] + t[1] * t[1];
        const I32 aligned = (dot >= F32{}) & (dot * dot >= cosine * o_square * t_square);
        unroll<3>([&](auto b) __attribute__((always_inline)) {
            const float factor = w.factor(b);
            const F32 r = restore(o[b], t[b], aligned, gain);
            const F32 restored = magnitude(factor * r), added = magnitude(factor * (t[b] - r));
            store(out.restored.at[b] + x, restored);
            store(out.added.at[b] + x, added);
            store(out.restored_mask.at[b] + x, scaled(restored, kMaskNeighbour));
            store(out.added_mask.at[b] + x, scaled(added, kMaskNeighbour));
            store(out.reference.at[b] + x, term<Cubes>(magnitude(factor * o[b])));
        });
    }
}

// ---- masking ------------------------------------------------------------------------------------

// How much a place's neighbours and it itself hide, all bands together.
struct Mask {
    const float *above[3], *here[3], *below[3], *place[3];

    Mask(const Bands& a, const Bands& h, const Bands& b, const Bands& places) {
        for (int i = 0; i < 3; ++i) {
            above[i] = a.at[i];
            here[i] = h.at[i];
            below[i] = b.at[i];
            place[i] = places.at[i];
        }
    }

    [[gnu::always_inline]] F32 operator()(int x) const {
        F32 all{};
        unroll<3>([&](auto b) __attribute__((always_inline)) {
            const auto at = [x](const float* row, int offset) { return load<F32>(row + x + offset); };
            F32 sum = at(above[b], -1) + at(above[b], 0);
            sum += at(above[b], 1);
            sum += at(here[b], -1);
            const F64x2 so_far = to_f64(sum), own = to_f64(at(place[b], 0));
            sum = to_f32(F64x2{so_far.lo + kMaskPlace * own.lo, so_far.hi + kMaskPlace * own.hi});
            sum += at(here[b], 1);
            sum += at(below[b], -1);
            sum += at(below[b], 0);
            sum += at(below[b], 1);
            all += sum;
        });
        return all;
    }
};

// Terms of what stays visible of `seen` behind the mask.
template <bool Cubes>
inline void mask_row(const Bands& seen, const Mask* mask, int from, int to, const Bands& out) {
    for (int x = from; x < to; x += kLanes32) {
        const F32 hidden = mask == nullptr ? F32{} : (*mask)(x);
        unroll<3>([&](auto b) __attribute__((always_inline)) {
            const F32 visible = load<F32>(seen.at[b] + x) - hidden;
            store(out.at[b] + x, term<Cubes>(visible < F32{} ? F32{} : visible));
        });
    }
}

void raise(const Bands& terms, double exponent, int from, int to) {
    for (float* row : terms.at)
        for (int x = from; x < to; ++x) row[x] = std::pow(row[x], static_cast<float>(exponent));
}

template <bool Cubes>
void sum_row(const Memory& m, const FloatAdmWeights& w, int setting, int y, const FloatAdmRange& rows,
             const FloatAdmRange& columns, FloatAdmSums& out) {
    const Slot above = m.slot(setting, std::abs(y - 1)), here = m.slot(setting, y),
               below = m.slot(setting, std::min(y + 1, rows.size - 1));
    const int from = columns.first / kLanes32 * kLanes32;
    const Mask added(above.added_mask, here.added_mask, below.added_mask, here.added);
    const Mask restored(above.restored_mask, here.restored_mask, below.restored_mask, here.restored);
    mask_row<Cubes>(here.restored, w.masking ? &added : nullptr, from, columns.stop, m.kept);
    mask_row<Cubes>(here.added, w.masking ? &restored : nullptr, from, columns.stop, m.impairment);
    if constexpr (!Cubes) {
        for (const Bands* terms : {&m.kept, &m.impairment}) raise(*terms, w.exponent, columns.first, columns.stop);
        if (w.reference) raise(here.reference, w.exponent, columns.first, columns.stop);
    }
    const float* terms[9];
    for (int b = 0; b < 3; ++b) {
        terms[b] = m.kept.at[b];
        terms[3 + b] = m.impairment.at[b];
        terms[6 + b] = here.reference.at[b];
    }
    float sums[9];
    sum_rows(terms, columns.first, columns.stop, sums);
    for (int b = 0; b < 3; ++b) {
        out.kept[b] += sums[b];
        out.impairment[b] += sums[3 + b];
        if (w.reference) out.reference[b] += sums[6 + b];
    }
}

// ---- one scale ----------------------------------------------------------------------------------

using Decouple = void (*)(const Memory&, const FloatAdmWeights&, int, int, const Slot&);

bool is_single(double v) { return static_cast<double>(static_cast<float>(v)) == v; }

// Decouples a row, and reflects what it hides over the picture's edges.
void decouple_row(const Memory& m, const FloatAdmWeights& w, int from, int to, int width, const Slot& out) {
    static constexpr Decouple kFunctions[2][2] = {{decouple<false, false>, decouple<false, true>},
                                                  {decouple<true, false>, decouple<true, true>}};
    kFunctions[is_single(w.gain_limit)][w.exponent == 3.0](m, w, from, to, out);
    for (const Bands* mask : {&out.restored_mask, &out.added_mask}) {
        for (float* row : mask->at) {
            row[-1] = row[1];
            row[width] = row[width - 1];
        }
    }
}

void scale(const FloatAdmScale& s, const FloatAdmWeights* settings, int count, void* scratch, FloatAdmSums* out) {
    const Memory m(scratch, s.ref.width, count);
    FloatRows ref(s.ref, m.ref_ring, kKept), dis(s.dis, m.dis_ring, kKept);
    const FloatAdmRange rows((s.ref.height + 1) / 2), columns((s.ref.width + 1) / 2);
    const int from = std::max(columns.first - 1, 0) / kLanes32 * kLanes32, to = std::min(columns.stop + 1, columns.size);
    std::fill_n(out, count, FloatAdmSums{});
    const auto sum = [&](int y) {
        if (!s.bands || y < rows.first || y >= rows.stop) return;
        for (int i = 0; i < count; ++i)
            (settings[i].exponent == 3.0 ? sum_row<true> : sum_row<false>)(m, settings[i], i, y, rows, columns, out[i]);
    };
    for (int y = 0; y < rows.size; ++y) {
        const bool wanted = s.bands && y >= rows.first - 1 && y <= rows.stop;
        const std::ptrdiff_t at = y * s.low_stride;
        dwt_row(ref, s.ref, y, m.halves, s.ref_low + at, wanted ? &m.ref : nullptr, from, to);
        dwt_row(dis, s.dis, y, m.halves, s.dis_low + at, wanted ? &m.dis : nullptr, from, to);
        for (int i = 0; wanted && i < count; ++i)
            decouple_row(m, settings[i], from, to, columns.size, m.slot(i, y));
        sum(y - 1);
    }
    sum(rows.size - 1);
}

std::size_t scratch_bytes(int width, int, int settings) { return Memory(nullptr, width, settings).bytes; }

}  // namespace float_adm

extern const FloatAdmKernels float_adm_kernels;
const FloatAdmKernels float_adm_kernels = {.scratch_bytes = float_adm::scratch_bytes, .scale = float_adm::scale};

}  // namespace acuity::ACUITY_ISA
