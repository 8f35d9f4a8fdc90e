// ADM with registers: the same integers as plain.cpp, a strip of columns at a time.
//
// Four rows of the picture make one row of bands; each row of bands is decoupled and weighted while it
// is hot, and what masking needs of it is kept until the row below has been made too. Nothing but
// the low-pass bands is ever as large as the picture. Only the summed part of the bands, and what
// surrounds it, is made at all.
#include "adm/strip_simd.h"

namespace acuity::ACUITY_ISA::adm {

// ---- input ------------------------------------------------------------------------------------

template <class T>
struct SampleSource {
    const AdmInput& in;
    int height;
    SampleFilter<T> samples;

    const T* row(int picture, int y, int k) const {
        return static_cast<const T*>(row_of(picture == 0 ? in.ref : in.dis, tap_row(y, k, height)));
    }
    void filter(const T* const* rows, const Reading& reading, bool both, const Columns& out) const {
        if (both) return filter_samples<true>(rows, reading, samples, out);
        filter_samples<false>(rows, reading, samples, out);
    }
};

// The low-pass bands of the scale before.
template <int Scale>
struct LowSource {
    using Sample = AdmLowSample<Scale - 1>;
    const AdmInput& in;
    int height;

    const Sample* row(int picture, int y, int k) const {
        const void* band = picture == 0 ? in.ref_low : in.dis_low;
        return static_cast<const Sample*>(band) + tap_row(y, k, height) * in.low_stride;
    }
    void filter(const Sample* const* rows, const Reading& reading, bool both, const Columns& out) const {
        if constexpr (Scale > 1) return filter_lanes(rows, reading, both, out);
        else if (both) return filter_samples<true>(rows, reading, WordFilter{}, out);
        else return filter_samples<false>(rows, reading, WordFilter{}, out);
    }
};

// ---- the whole scale --------------------------------------------------------------------------

// The scratch block: a Scratch, eight rows of words, and the sums of each row of the bands.
template <class Arithmetic>
struct Layout {
    static std::size_t words(int width) { return (width / kLanes16 + 5) * std::size_t{kLanes16}; }
    static std::size_t bytes(int width, int height) {
        return sizeof(Scratch<Arithmetic>) + 8 * words(width) * sizeof(std::int16_t) +
               static_cast<std::size_t>((height + 1) / 2) * kRowSums * sizeof(std::uint64_t);
    }

    static void cut(void* block, int width, Job<Arithmetic>& job) {
        job.scratch = static_cast<Scratch<Arithmetic>*>(block);
        auto* row = reinterpret_cast<std::int16_t*>(job.scratch + 1);
        const std::size_t n = words(width);
        for (Columns& c : job.columns) {
            c = {{row, row + n}, {row + 2 * n, row + 3 * n}};
            row += 4 * n;
        }
        job.row_sums = reinterpret_cast<std::uint64_t*>(row);
    }
};

// Rounds each row's sums and adds them up. On extreme input sums wrap, as the reference's do.
template <class Arithmetic>
inline void add_rows_up(const Job<Arithmetic>& job, AdmSums& out) {
    const AdmPlan& p = job.plan;
    std::uint64_t total[kRowSums] = {};
    for (int y = p.rows.begin; y < p.rows.end; ++y) {
        const std::uint64_t* row = job.row_sums + y * kRowSums;
        for (int b = 0; b < 3; ++b) {
            total[b] += (row[b] + p.den_flat + p.den_row_add) >> p.shifts.den_row;
            for (int i = 3 + b; i < kRowSums; i += 3) {
                const auto sum = static_cast<std::int64_t>(row[i] + p.flat[b] + static_cast<std::uint64_t>(p.row_add));
                total[i] += static_cast<std::uint64_t>(sum >> p.shifts.row);
            }
        }
    }
    for (int b = 0; b < 3; ++b) {
        out.den[b] = total[b];
        for (int g = 0; g < job.n_gains; ++g) {
            out.num[g][b] = static_cast<std::int64_t>(total[3 + 6 * g + b]);
            if (job.aim) out.aim[g][b] = static_cast<std::int64_t>(total[6 + 6 * g + b]);
        }
    }
}

template <class Arithmetic>
inline void count_columns(const Strip& strip, Scratch<Arithmetic>& scratch) {
    int x = strip.begin;
    for (auto& block : scratch.counted) {
        for (I32& lanes : block) {
            std::int32_t counted[kLanes32];
            for (int i = 0; i < kLanes32; ++i, ++x) counted[i] = x >= strip.first && x < strip.last ? -1 : 0;
            lanes = load<I32>(counted);
        }
    }
}

template <class Arithmetic, class Source>
inline void run_strip(const Job<Arithmetic>& job, const Strip& strip, bool bands, const Source& source,
                      const AdmLow& low) {
    const AdmPlan& p = job.plan;
    count_columns(strip, *job.scratch);
    for (int y = 0; y < p.height; ++y) {
        const bool made = bands && y >= p.rows.begin - 1 && y <= p.rows.end;
        for (int picture = 0; picture < 2; ++picture) {
            decltype(source.row(0, 0, 0)) rows[kTapRows];
            for (int k = 0; k < 4; ++k) rows[k] = source.row(picture, y, k);
            for (int k = 4; k < kTapRows; ++k) rows[k] = source.row(picture, y + 1 < p.height ? y + 1 : y, k - 2);
            source.filter(rows, strip.in, made, job.columns[picture]);
        }
        // Not before both are filtered: what has just been stored can't be loaded at other offsets yet.
        for (int picture = 0; picture < 2; ++picture) {
            auto* out = static_cast<AdmLowSample<Arithmetic::kScale>*>(picture == 0 ? low.ref : low.dis) + y * low.stride;
            low_row<Arithmetic::kScale>(job.columns[picture], strip.in.origin, strip.low_begin, strip.low_end, p.width,
                                        out, low.stride);
        }
        if (!made) continue;
        if (Arithmetic::kLeftWithinAlong && !job.directed)
            make_row<false>(job, strip, y);
        else
            make_row<true>(job, strip, y);
        if (y > p.rows.begin) mask_rows(job, strip, y - 1);
    }
    if (bands && p.rows.end == p.height) mask_rows(job, strip, p.height - 1);
}

template <class Arithmetic, class Source>
inline void run(const AdmScale& s, const Source& source, void* scratch, const AdmLow& low, AdmSums& out) {
    Job<Arithmetic> job;
    job.plan = adm_plan(s);
    job.n_gains = s.n_gains;
    job.aim = s.aim;
    job.directed = false;
    for (int g = 0; g < s.n_gains; ++g) {
        job.gains[g].set(s.gains[g]);
        job.directed |= !Arithmetic::kLeftWithinAlong || !job.gains[g].one();
    }
    job.factors.set(s.rfactor);
    for (int b = 0; b < 3; ++b) job.cube[b] = CubeShift(job.plan.shifts.cube[b], job.plan.cube_add[b]);
    Layout<Arithmetic>::cut(scratch, s.width, job);
    if (s.bands) std::memset(job.row_sums, 0, job.plan.height * kRowSums * sizeof(std::uint64_t));
    Strip strip = {};
    while (strip.low_end < job.plan.width) {
        strip = next_strip<Arithmetic>(job.plan, strip, s.width, s.bands);
        run_strip(job, strip, s.bands, source, low);
    }
    out = {};
    if (s.bands) add_rows_up(job, out);
}

// ---- the table --------------------------------------------------------------------------------

inline std::size_t scratch_bytes(int width, int height) {
    const std::size_t fine = Layout<Fine>::bytes(width, height);
    const std::size_t coarse = Layout<Coarse<1>>::bytes(width, height);
    return fine > coarse ? fine : coarse;
}

inline void scale(const AdmScale& s, const AdmInput& in, void* scratch, const AdmLow& low, AdmSums& out) {
    const auto fine = [&]<class T>(T) {
        run<Fine>(s, SampleSource<T>{in, s.height, SampleFilter<T>(s.depth)}, scratch, low, out);
    };
    const auto coarse = [&]<int Scale>(std::integral_constant<int, Scale>) {
        run<Coarse<Scale>>(s, LowSource<Scale>{in, s.height}, scratch, low, out);
    };
    switch (s.scale) {
        case 0: return in.ref.depth == 8 ? fine(std::uint8_t{}) : fine(std::uint16_t{});
        case 1: return coarse(std::integral_constant<int, 1>{});
        case 2: return coarse(std::integral_constant<int, 2>{});
        default: return coarse(std::integral_constant<int, 3>{});
    }
}

}  // namespace acuity::ACUITY_ISA::adm

namespace acuity::ACUITY_ISA {

extern const AdmKernels adm_kernels;
const AdmKernels adm_kernels = {.scratch_bytes = adm::scratch_bytes, .scale = adm::scale};

}  // namespace acuity::ACUITY_ISA
