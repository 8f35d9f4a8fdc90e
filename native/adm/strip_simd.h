// ADM a strip of columns at a time: what a strip keeps, and the two passes over a row of bands.
#pragma once

#include "adm/coarse_simd.h"
#include "adm/fine_simd.h"

namespace acuity::ACUITY_ISA::adm {

constexpr int kKinds = 2 * kMaxGains;       // maskings: both ways for each gain limit
constexpr int kRowSums = 3 + 3 * kKinds;    // denominators, then maskings, of three bands each

// What masking of one picture (restored or additive) by the other keeps of a block of columns.
template <class Arithmetic>
struct Kept {
    typename Arithmetic::Lanes signals[3];
    U32 own[Arithmetic::kHalves];
};

// Rows of bands are kept as long as they have neighbours to mask, and until they have been masked.
template <class Arithmetic>
struct Scratch {
    static constexpr int kColumns = Arithmetic::kHalves * kLanes32;  // of a block
    static constexpr int kBlocks = Arithmetic::kStrip / kColumns + 2;
    static constexpr int kRow = kBlocks * kColumns + 2 * kLanes32;

    Kept<Arithmetic> kept[2][kKinds][kBlocks];
    alignas(kAlign) std::int32_t around[3][kKinds][kRow];
    alignas(kAlign) std::int32_t sums[kKinds][kRow];  // of three rows of `around`
    alignas(kAlign) std::int32_t standing[3][kRow];  // coefficients that aren't masked, by band
    I32 counted[kBlocks][Arithmetic::kHalves];     // which columns are summed
};

// Columns that one pass over the rows handles.
struct Strip {
    int low_begin, low_end;  // of the low-pass band
    int begin, end;          // bands made
    int first, last;         // bands summed
    Reading in;
};

// The strip after `s`; the first one follows an empty strip. Strips overlap by the columns that mask
// each other, and the last takes what would not be worth one of its own.
template <class Arithmetic>
inline Strip next_strip(const AdmPlan& p, const Strip& s, int input_width, bool bands) {
    Strip n = {};
    n.low_begin = s.low_end;
    n.low_end = p.width;
    if (bands) {
        const int needed_begin = p.columns.begin > 0 ? p.columns.begin - 1 : 0;
        const int needed_end = p.columns.end < p.width ? p.columns.end + 1 : p.width;
        n.begin = n.low_begin == 0 ? needed_begin : n.low_begin - 1;
        n.first = n.low_begin == 0 ? p.columns.begin : n.low_begin;
        if (needed_end - n.begin <= Arithmetic::kStrip + Scratch<Arithmetic>::kColumns) {
            n.end = needed_end;
            n.last = p.columns.end;
        } else {
            n.end = n.begin + Arithmetic::kStrip;
            n.last = n.low_end = n.end - 1;
        }
    }
    const int origin = n.low_begin == 0 ? 0 : n.low_begin - 1;
    const int top = n.low_end < p.width ? n.low_end + 1 : p.width;
    n.in = {.begin = origin == 0 ? 0 : 2 * origin - 1, .end = 2 * top + 1 < input_width ? 2 * top + 1 : input_width,
            .width = input_width, .origin = origin};
    return n;
}

// ---- decoupling -------------------------------------------------------------------------------

// A block of columns, decoupled.
template <class Arithmetic, bool Directed>
struct Block {
    using Lanes = typename Arithmetic::Lanes;
    using Sizes = typename Arithmetic::Sizes;

    Lanes dis[3], sign[3], parallel[3];
    Sizes size[3], along[3], left[3];

    Block(const Columns& ref_rows, const Columns& dis_rows, int x, float cos_squared) {
        Lanes ref[3];
        Arithmetic::load_bands(ref_rows, x, ref);
        Arithmetic::load_bands(dis_rows, x, dis);
        for (int r = 0; r < 3; ++r) {
            sign[r] = Arithmetic::sign_of(ref[r]);
            size[r] = Arithmetic::size_of(ref[r]);
            along[r] = as<Sizes>(vmax(flip(dis[r], sign[r]), Lanes{}));
        }
        find_left(size, along, sign, left);
        if constexpr (Directed) Arithmetic::find_parallel(ref, dis, cos_squared, parallel);
    }
};

// Both parts of the distorted picture: restored, up to a gain limit where gradients are parallel, and
// added to that.
template <class Arithmetic>
struct Parts {
    using Lanes = typename Arithmetic::Lanes;
    using Sizes = typename Arithmetic::Sizes;

    Lanes restored[3], additive[3], restored_signals[3], additive_signals[3];

    template <bool Whole, bool Directed>
    void split(const Block<Arithmetic, Directed>& block, const Gain& gain,
               const typename Arithmetic::Factors& factors) {
        Sizes kept[3], added[3];
        for (int r = 0; r < 3; ++r) {
            kept[r] = block.left[r];
            if constexpr (Directed)
                kept[r] = select(block.parallel[r], gained<Whole>(kept[r], block.along[r], gain), kept[r]);
            restored[r] = flip(as<Lanes>(kept[r]), block.sign[r]);
            additive[r] = block.dis[r] - restored[r];
            added[r] = Arithmetic::size_of(additive[r]);
        }
        Arithmetic::signals(restored, kept, factors, restored_signals);
        Arithmetic::signals(additive, added, factors, additive_signals);
    }
};

template <class Arithmetic>
[[gnu::noinline]] inline void split_fractional(const Block<Arithmetic, true>& block, const Gain& gain,
                                               const typename Arithmetic::Factors& factors, Parts<Arithmetic>& out) {
    out.template split<false>(block, gain, factors);
}

// The inputs of every row.
template <class Arithmetic>
struct Job {
    AdmPlan plan;
    Scratch<Arithmetic>* scratch;
    Columns columns[2];       // of the reference and of the distorted picture
    std::uint64_t* row_sums;  // kRowSums for each row of the bands
    int n_gains;
    bool aim;
    bool directed;            // whether the directions of gradients count: a limit of 1 leaves all as it is
    Gain gains[kMaxGains];
    typename Arithmetic::Factors factors;
    CubeShift cube[3];
};

template <class Arithmetic>
inline void keep(Scratch<Arithmetic>& scratch, int y, int kind, int x, const typename Arithmetic::Lanes* signals,
                 const typename Arithmetic::Lanes* by, const typename Arithmetic::Lanes* by_signals,
                 const typename Arithmetic::Factors& factors) {
    Kept<Arithmetic> block;
    Arithmetic::lend(by, by_signals, factors, scratch.around[y % 3][kind] + kLanes32 + x, block.own);
    for (int r = 0; r < 3; ++r) block.signals[r] = signals[r];
    scratch.kept[y & 1][kind][x / Scratch<Arithmetic>::kColumns] = block;
}

// Makes a row of bands and keeps what masking needs of it.
template <bool Directed, class Arithmetic>
inline void make_row(const Job<Arithmetic>& job, const Strip& strip, int y) {
    constexpr int columns = Scratch<Arithmetic>::kColumns;
    const AdmPlan& plan = job.plan;
    Scratch<Arithmetic>& scratch = *job.scratch;
    const Columns ref = job.columns[0], dis = job.columns[1];
    const Count cube(plan.shifts.den_cube);
    const int n = strip.end - strip.begin, first = strip.first - strip.begin, last = strip.last - strip.begin;
    U64 sums[3] = {};
    for (int x = 0; x < n; x += columns) {
        Block<Arithmetic, Directed> block(ref, dis, strip.begin - strip.in.origin + x, plan.cos_squared);
        for (int g = 0; g < job.n_gains; ++g) {
            Parts<Arithmetic> parts;
            if (!Directed || job.gains[g].whole) [[likely]]
                parts.template split<true>(block, job.gains[g], job.factors);
            else if constexpr (Directed)
                split_fractional(block, job.gains[g], job.factors, parts);
            keep(scratch, y, 2 * g, x, parts.restored_signals, parts.additive, parts.additive_signals, job.factors);
            if (!job.aim) continue;
            keep(scratch, y, 2 * g + 1, x, parts.additive_signals, parts.restored, parts.restored_signals,
                 job.factors);
        }
        if (x < first || x + columns > last) {
            typename Arithmetic::Sizes counted[3];
            Arithmetic::spread(scratch.counted[x / columns], counted);
            for (int r = 0; r < 3; ++r) block.size[r] &= counted[r];
        }
        Arithmetic::add_denominators(block.size, plan, cube, sums);
    }
    if (y < plan.rows.begin || y >= plan.rows.end) return;
    for (int b = 0; b < 3; ++b) job.row_sums[y * kRowSums + b] += sum_of(sums[b]);
}

// ---- masking ----------------------------------------------------------------------------------

// Sums three rows of `around`; at the picture's own edges a row goes on as its columns do.
template <class Arithmetic>
inline void sum_rows(const Job<Arithmetic>& job, const Strip& strip, int y, int kind) {
    const auto row = [&](int at) { return job.scratch->around[at % 3][kind] + kLanes32; };
    const std::int32_t *above = row(y == 0 ? 1 : y - 1), *here = row(y);
    const std::int32_t* below = row(y == job.plan.height - 1 ? y : y + 1);
    std::int32_t* out = job.scratch->sums[kind] + kLanes32;
    const int n = strip.end - strip.begin;
    for (int x = 0; x < n; x += kLanes32) {
        store(out + x, load<U32>(above + x) + load<U32>(here + x) + load<U32>(below + x));
    }
    if (strip.begin == 0) out[-1] = out[1];
    if (strip.end == job.plan.width) out[n] = out[n - 1];
}

// Adds up the cubes of what stands out of its masking. Where little does, what does is gathered first.
template <bool Gather, class Arithmetic>
inline void mask_row(const Job<Arithmetic>& job, const Strip& strip, int y, int kind) {
    constexpr int columns = Scratch<Arithmetic>::kColumns;
    Scratch<Arithmetic>& scratch = *job.scratch;
    const std::int32_t* around = scratch.sums[kind] + kLanes32;
    const Kept<Arithmetic>* blocks = scratch.kept[y & 1][kind];
    const int first = strip.first - strip.begin, last = strip.last - strip.begin;
    U64 total[3] = {};
    int standing[3] = {};
    for (int x = 0; x < last; x += columns, ++blocks) {
        Kept<Arithmetic> block = *blocks;
        U32 minus_mask[Arithmetic::kHalves];
        for (int half = 0; half < Arithmetic::kHalves; ++half) {
            const std::int32_t* at = around + x + half * kLanes32;
            minus_mask[half] = -(load<U32>(at - 1) + load<U32>(at) + load<U32>(at + 1) + block.own[half]);
        }
        if (x < first || x + columns > last) {  // what isn't summed neither stands out nor masks
            typename Arithmetic::Lanes counted[3];
            Arithmetic::spread(scratch.counted[x / columns], counted);
            for (int r = 0; r < 3; ++r) block.signals[r] &= counted[r];
            for (int half = 0; half < Arithmetic::kHalves; ++half)
                minus_mask[half] &= as<U32>(scratch.counted[x / columns][half]);
        }
        unroll<Arithmetic::kHalves>([&](auto half) {
            unroll<3>([&](auto b) {
                const I32 v = Arithmetic::template excess<b>(block.signals, half, minus_mask[half], job.factors);
                if constexpr (Gather) {
                    standing[b] += append_nonzero(scratch.standing[b] + standing[b], v);
                } else {
                    total[b] += cubes<Arithmetic::template kSquare<b>>(v, job.cube[b]);
                }
            });
        });
    }
    std::uint64_t* out = job.row_sums + y * kRowSums + 3 + 3 * kind;
    const int all = (last + columns - 1) / columns * columns;  // coefficients of each band
    unroll<3>([&](auto b) {
        int cubed = all;
        if constexpr (Gather) {
            store(scratch.standing[b] + standing[b], I32{});
            cubed = (standing[b] + kLanes32 - 1) / kLanes32 * kLanes32;
            for (int i = 0; i < cubed; i += kLanes32)
                total[b] += cubes<Arithmetic::template kSquare<b>>(load<I32>(scratch.standing[b] + i), job.cube[b]);
        }
        out[b] += sum_of(total[b]) - static_cast<std::uint64_t>(cubed) * job.cube[b].raised;
    });
}

template <class Arithmetic>
inline void mask_rows(const Job<Arithmetic>& job, const Strip& strip, int y) {
    for (int kind = 0; kind < 2 * job.n_gains; kind += job.aim ? 1 : 2) sum_rows(job, strip, y, kind);
    for (int g = 0; g < job.n_gains; ++g) {
        mask_row<false>(job, strip, y, 2 * g);
        if (job.aim) mask_row<true>(job, strip, y, 2 * g + 1);
    }
}

}  // namespace acuity::ACUITY_ISA::adm
