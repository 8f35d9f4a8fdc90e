// VIF: windowed variances of both pictures at one scale, the information each place carries, and both pictures
// halved for the next scale.
//
// A window's filter is a product with a banded matrix of its taps, so the tensor cores do it: 16 sums from 32
// samples at once, on bytes, exactly. A block goes along a strip of 16 rows, from left to right. At each step its
// warps filter the columns of eight slots of 16, then the rows of eight tiles: those of a tile's 16 columns need its
// slot, which begins 8 columns earlier, and the next.
#include "byte_matrix.cuh"
#include "pictures.cuh"
#include "vif_information.cuh"

namespace {

constexpr int kThreads = 128, kWarps = kThreads / 32, kBlocks = 4;  // blocks that a multiprocessor has room for
constexpr int kStrip = 16, kSlot = 16, kSlots = 2 * kWarps, kHalo = 8;
constexpr int kScales = 4, kShared = 3;  // words of a scale that all gain limits share

// The window at each scale: a Gaussian in Q16.
constexpr int kTaps[kScales] = {17, 9, 5, 3};
constexpr u32 kFilter[kScales][17] = {
    {489, 935, 1640, 2640, 3896, 5274, 6547, 7455, 7784, 7455, 6547, 5274, 3896, 2640, 1640, 935, 489},
    {1244, 3663, 7925, 12590, 14692, 12590, 7925, 3663, 1244},
    {3571, 16004, 26386, 16004, 3571},
    {10904, 43728, 10904}};

__device__ constexpr u32 tap_byte(int scale, int i, int byte) {
    return i >= 0 && i < kTaps[scale] ? kFilter[scale][i] >> (8 * byte) & 255 : 0;
}

// The taps as matrices, lane by lane: 16 windows over 32 samples that begin kHalo before the first window's
// middle, lower and upper bytes; and the next scale's at every other place, 8 rows of lower and 8 of upper bytes.
struct Bands {
    u32 at[12][32];
};

__device__ constexpr Bands make_bands(int scale) {
    Bands bands{};
    for (int r = 0; r < 12; ++r)
        for (int lane = 0; lane < 32; ++lane)
            for (int i = 0; i < 4; ++i) {
                const int row = lane / 4 + 8 * (r % 2), column = 4 * (lane % 4) + 16 * (r / 2 % 2) + i - kHalo;
                u32 byte = 0;
                if (r < 8)
                    byte = tap_byte(scale, column - row + kTaps[scale] / 2, r / 4);
                else if (scale + 1 < kScales)
                    byte = tap_byte(scale + 1, column - 2 * (lane / 4) + kTaps[scale + 1] / 2, r % 2);
                bands.at[r][lane] |= byte << (8 * i);
            }
    return bands;
}

__device__ const Bands kBands[kScales] = {make_bands(0), make_bands(1), make_bands(2), make_bands(3)};

// A lane's parts of the matrices.
struct Filters {
    ByteMatrix low, high, halving;

    __device__ __forceinline__ Filters(int scale, int lane) {
        for (int r = 0; r < 4; ++r) {
            low.at[r] = kBands[scale].at[r][lane];
            high.at[r] = kBands[scale].at[4 + r][lane];
            halving.at[r] = kBands[scale].at[8 + r][lane];
        }
    }
};

// 32 samples of one column or row, of which a lane has eight: byte k of them all in at[k].
template <int Bytes>
struct Samples {
    u32 at[Bytes][2];
};

// Filtered samples: the sum over k of at[k] * 256^k.
template <int Bytes>
struct Filtered {
    Sums at[Bytes + 1];
};

template <int Bytes>
__device__ __forceinline__ Filtered<Bytes> filter(const Filters& f, const Samples<Bytes>& s, u32 start) {
    Filtered<Bytes> out;
    for (int k = 0; k <= Bytes; ++k) {
        out.at[k] = sums_of(k == 0 ? start : 0);
        if (k > 0) out.at[k] = multiply(f.high, s.at[k - 1][0], s.at[k - 1][1], out.at[k]);
        if (k < Bytes) out.at[k] = multiply(f.low, s.at[k][0], s.at[k][1], out.at[k]);
    }
    return out;
}

// The same from samples in two slots.
template <int Bytes>
__device__ __forceinline__ Filtered<Bytes> filter(const Filters& f, const u32 (&a)[Bytes], const u32 (&b)[Bytes],
                                                  u32 start) {
    Filtered<Bytes> out;
    for (int k = 0; k <= Bytes; ++k) {
        out.at[k] = sums_of(k == 0 ? start : 0);
        if (k > 0) out.at[k] = multiply_half<1>(f.high, b[k - 1], multiply_half<0>(f.high, a[k - 1], out.at[k]));
        if (k < Bytes) out.at[k] = multiply_half<1>(f.low, b[k], multiply_half<0>(f.low, a[k], out.at[k]));
    }
    return out;
}

// Filtered samples of the halved picture, from products with lower and upper bytes of its taps. Only at[0] and at[1]
// of each Sums are left: 8 rows by 8 columns.
template <int Bytes>
__device__ __forceinline__ Filtered<Bytes> join_halving(const Sums (&products)[Bytes], u32 start) {
    Filtered<Bytes> out;
    for (int i = 0; i < 2; ++i) {
        out.at[0].at[i] = products[0].at[i] + start;
        for (int k = 1; k < Bytes; ++k) out.at[k].at[i] = products[k - 1].at[2 + i] + products[k].at[i];
        out.at[Bytes].at[i] = products[Bytes - 1].at[2 + i];
    }
    return out;
}

template <int Bytes>
__device__ __forceinline__ Filtered<Bytes> halving_filter(const Filters& f, const Samples<Bytes>& s, u32 start) {
    Sums products[Bytes];
    for (int k = 0; k < Bytes; ++k) products[k] = multiply(f.halving, s.at[k][0], s.at[k][1], sums_of(0));
    return join_halving(products, start);
}

template <int Bytes>
__device__ __forceinline__ Filtered<Bytes> halving_filter(const Filters& f, const u32 (&a)[Bytes],
                                                          const u32 (&b)[Bytes], u32 start) {
    Sums products[Bytes];
    for (int k = 0; k < Bytes; ++k)
        products[k] = multiply_half<1>(f.halving, b[k], multiply_half<0>(f.halving, a[k], sums_of(0)));
    return join_halving(products, start);
}

// How filtered columns are brought down to 16-bit means and 32-bit squares.
template <class T>
struct Rounding;

// Eight bits: means are the sums' middle bytes, squares the sums themselves.
template <>
struct Rounding<u8> {
    static constexpr int kMeanByte = 1;
    __device__ __forceinline__ Rounding(int, int) {}
    __device__ __forceinline__ u32 mean_start() const { return 128; }
    __device__ __forceinline__ u32 square_start() const { return 0; }
    __device__ __forceinline__ u32 mean(const Filtered<1>& f, int i) const {
        return f.at[0].at[i] + (f.at[1].at[i] << 8);
    }
    __device__ __forceinline__ u32 square(const Filtered<2>& f, int i) const {
        return f.at[0].at[i] + (f.at[1].at[i] << 8) + (f.at[2].at[i] << 16);
    }
};

// More bits: means are the upper bytes of the sums shifted up to 32 bits, squares are shifted down by 2 to 16.
template <>
struct Rounding<u16> {
    static constexpr int kMeanByte = 2;
    u32 mean_unit, square_shift, square_unit;

    __device__ __forceinline__ Rounding(int scale, int depth)
        : mean_unit(scale ? 1 : 1u << (16 - depth)), square_shift(scale ? 16 : 2 * (depth - 8)),
          square_unit(1u << (16 - square_shift)) {}
    __device__ __forceinline__ u32 mean_start() const { return 32768 / mean_unit; }
    __device__ __forceinline__ u32 square_start() const { return 1u << (square_shift - 1); }
    __device__ __forceinline__ u32 mean(const Filtered<2>& f, int i) const {
        return (f.at[0].at[i] + (f.at[1].at[i] << 8) + (f.at[2].at[i] << 16)) * mean_unit;
    }
    __device__ __forceinline__ u32 square(const Filtered<4>& f, int i) const {
        return ((f.at[0].at[i] + (f.at[1].at[i] << 8)) >> square_shift) +
               (f.at[2].at[i] + (f.at[3].at[i] << 8) + (f.at[4].at[i] << 16)) * square_unit;
    }
};

// One side of a pair at some scale.
struct Plane {
    const u8* data;
    i32 pitch;
};

struct Level {
    Plane ref, dis;
    int width, height, scale, depth;
};

// A lane's two columns of a slot: rows 4 * q and 16 + 4 * q of the strip's window, and the three after each.
template <class T>
struct Patch;

template <>
struct Patch<u8> {
    typedef u16 Pair;
    u32 column[2][2];  // of each half of the rows

    __device__ __forceinline__ void set(int half, const u32 (&rows)[4]) {
        take_bytes<0>(rows, column[0][half], column[1][half]);
    }
    __device__ __forceinline__ Samples<1> samples(int j) const { return {{{column[j][0], column[j][1]}}}; }

    // Products of bytes, two in a word: the upper of a pair are multiplied where they are, 256 times too large each.
    __device__ __forceinline__ static Samples<2> product(const Patch& a, const Patch& b, int j) {
        Samples<2> out;
        for (int half = 0; half < 2; ++half) {
            const u32 x = a.column[j][half], y = b.column[j][half], x2 = x >> 16, y2 = y >> 16;
            const u32 low = (x & 0xFF00) * (y & 0xFF00) + (x & 0xFF) * (y & 0xFF);
            const u32 high = (x2 & 0xFF00) * (y2 & 0xFF00) + (x2 & 0xFF) * (y2 & 0xFF);
            out.at[0][half] = __byte_perm(low, high, 0x6420);
            out.at[1][half] = __byte_perm(low, high, 0x7531);
        }
        return out;
    }
};

template <>
struct Patch<u16> {
    typedef u32 Pair;
    u32 row[2][4];  // both columns of each

    __device__ __forceinline__ void set(int half, const u32 (&rows)[4]) {
        for (int i = 0; i < 4; ++i) row[half][i] = rows[i];
    }
    __device__ __forceinline__ Samples<2> samples(int j) const {
        Samples<2> out;
        for (int half = 0; half < 2; ++half) {
            if (j == 0) take_bytes<0>(row[half], out.at[0][half], out.at[1][half]);
            else take_bytes<2>(row[half], out.at[0][half], out.at[1][half]);
        }
        return out;
    }
    __device__ __forceinline__ static Samples<4> product(const Patch& a, const Patch& b, int j) {
        Samples<4> out;
        for (int half = 0; half < 2; ++half) {
            u32 words[4];
            for (int i = 0; i < 4; ++i)
                words[i] = j == 0 ? (a.row[half][i] & 0xFFFF) * (b.row[half][i] & 0xFFFF)
                                  : (a.row[half][i] >> 16) * (b.row[half][i] >> 16);
            const uint4 bytes = transpose(words);
            out.at[0][half] = bytes.x, out.at[1][half] = bytes.y, out.at[2][half] = bytes.z, out.at[3][half] = bytes.w;
        }
        return out;
    }
};

// A lane's patches of two neighbouring slots. `simple`: they lie inside the picture, and their pairs are aligned.
template <class T>
__device__ __forceinline__ void load_patches(const Plane& plane, int y, int x, int width, int height, bool simple,
                                             Patch<T> (&patches)[2]) {
    typedef typename Patch<T>::Pair Pair;
    constexpr int kBytes = sizeof(T);
    const int row = 4 * (threadIdx.x % 4), column = x + 2 * (threadIdx.x % 32 / 4);
    if (simple) {
        const u8* at = plane.data + static_cast<i64>(plane.pitch) * (y + row) + kBytes * column;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            u32 rows[2][4];
            for (int i = 0; i < 4; ++i) {
                const Pair* pairs = reinterpret_cast<const Pair*>(at + static_cast<i64>(plane.pitch) * (16 * half + i));
                for (int n = 0; n < 2; ++n) rows[n][i] = __ldg(pairs + kSlot / 2 * n);
            }
            for (int n = 0; n < 2; ++n) patches[n].set(half, rows[n]);
        }
        return;
    }
    int columns[4];
    for (int n = 0; n < 4; ++n) columns[n] = reflect(column + kSlot * (n / 2) + n % 2, width);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        u32 rows[2][4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const i64 at = static_cast<i64>(plane.pitch) * reflect(y + row + 16 * half + i, height);
            const T* line = reinterpret_cast<const T*>(plane.data + at);
            for (int n = 0; n < 2; ++n)
                rows[n][i] = line[columns[2 * n]] | static_cast<u32>(line[columns[2 * n + 1]]) << (8 * kBytes);
        }
        for (int n = 0; n < 2; ++n) patches[n].set(half, rows[n]);
    }
}

template <class T>
__device__ __forceinline__ bool aligned(const Plane& plane) {
    return ((reinterpret_cast<u64>(plane.data) | static_cast<u64>(plane.pitch)) & (2 * sizeof(T) - 1)) == 0;
}

// Sums at four columns of a row, from those of two filtered columns: at[2 * h] and at[2 * h + 1] of even, then of
// odd columns.
template <class F>
__device__ __forceinline__ void four_columns(u32 (&words)[4], int h, F&& at) {
    words[0] = at(0, 2 * h), words[1] = at(1, 2 * h), words[2] = at(0, 2 * h + 1), words[3] = at(1, 2 * h + 1);
}

// Filtered columns, as the filter of the rows reads them: byte k of four columns in a word.
struct Slice {
    uint4 at[4];  // means of both, and the products ref * ref, dis * dis, ref * dis
};

struct Memory {
    uint4 slots[kSlots][4][kStrip][4];        // slice, row, column / 4
    uint4 halved[2 * kSlots][kStrip / 2][4];  // of this step and the one before, in turn
    u16 steps[kLog2Groups];
};

// Lower and upper bytes of both pictures' means.
template <class T, int Bytes>
__device__ __forceinline__ uint4 mean_bytes(const Rounding<T>& rounding, const Filtered<Bytes> (&ref)[2],
                                            const Filtered<Bytes> (&dis)[2], int h) {
    u32 words[4];
    uint4 out;
    four_columns(words, h, [&](int j, int i) { return rounding.mean(ref[j], i); });
    take_bytes<Rounding<T>::kMeanByte>(words, out.x, out.y);
    four_columns(words, h, [&](int j, int i) { return rounding.mean(dis[j], i); });
    take_bytes<Rounding<T>::kMeanByte>(words, out.z, out.w);
    return out;
}

// Filters the columns of a slot.
template <class T>
__device__ __forceinline__ void filter_slot(const Patch<T>& ref, const Patch<T>& dis, const Filters& filters,
                                            const Rounding<T>& rounding, bool statistic, bool halving,
                                            uint4 (&slices)[4][kStrip][4], uint4 (&halved)[kStrip / 2][4]) {
    constexpr int kBytes = sizeof(T);
    const int g = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
    if (halving) {
        Filtered<kBytes> of_ref[2], of_dis[2];
        for (int j = 0; j < 2; ++j) {
            of_ref[j] = halving_filter(filters, ref.samples(j), rounding.mean_start());
            of_dis[j] = halving_filter(filters, dis.samples(j), rounding.mean_start());
        }
        halved[g][q] = mean_bytes(rounding, of_ref, of_dis, 0);
    }
    if (!statistic) return;
    Filtered<kBytes> of_ref[2], of_dis[2];
    for (int j = 0; j < 2; ++j) {
        of_ref[j] = filter(filters, ref.samples(j), rounding.mean_start());
        of_dis[j] = filter(filters, dis.samples(j), rounding.mean_start());
    }
    for (int h = 0; h < 2; ++h) slices[0][g + 8 * h][q] = mean_bytes(rounding, of_ref, of_dis, h);
#pragma unroll
    for (int p = 0; p < 3; ++p) {
        Filtered<2 * kBytes> products[2];
#pragma unroll
        for (int j = 0; j < 2; ++j)
            products[j] = filter(filters, Patch<T>::product(p == 1 ? dis : ref, p == 0 ? ref : dis, j),
                                 rounding.square_start());
        for (int h = 0; h < 2; ++h) {
            u32 words[4];
            four_columns(words, h, [&](int j, int i) { return rounding.square(products[j], i); });
            slices[1 + p][g + 8 * h][q] = transpose(words);
        }
    }
}

__device__ __forceinline__ void filter_means(const Filters& filters, const u32 (&a)[2], const u32 (&b)[2],
                                             u32 (&out)[4]) {
    const Filtered<2> f = filter(filters, a, b, 0);
    for (int i = 0; i < 4; ++i) out[i] = f.at[0].at[i] + (f.at[1].at[i] << 8) + (f.at[2].at[i] << 16);
}

__device__ __forceinline__ void filter_products(const Filters& filters, const uint4& a, const uint4& b,
                                                u32 (&out)[4]) {
    const Filtered<4> f = filter(filters, {a.x, a.y, a.z, a.w}, {b.x, b.y, b.z, b.w}, 32768);
    for (int i = 0; i < 4; ++i)
        out[i] = ((f.at[0].at[i] + (f.at[1].at[i] << 8)) >> 16) + f.at[2].at[i] + (f.at[3].at[i] << 8) +
                 (f.at[4].at[i] << 16);
}

// Filters the rows of a tile, of which a lane gets columns g and g + 8, rows 2 * q and 2 * q + 1.
__device__ __forceinline__ Places filter_tile(const Filters& filters, const Slice& a, const Slice& b) {
    Places places;
    filter_means(filters, {a.at[0].x, a.at[0].y}, {b.at[0].x, b.at[0].y}, places.ref);
    filter_means(filters, {a.at[0].z, a.at[0].w}, {b.at[0].z, b.at[0].w}, places.dis);
    filter_products(filters, a.at[1], b.at[1], places.ref_ref);
    filter_products(filters, a.at[2], b.at[2], places.dis_dis);
    filter_products(filters, a.at[3], b.at[3], places.ref_dis);
    return places;
}

// Filters the rows of a tile for the halved pictures. A lane gets rows 2 * q and 2 * q + 1 of one column and writes the
// first `rows` of them, `pitch` words apart, at `to` and, for the distorted picture, `side` words later.
__device__ __forceinline__ void halve_tile(const Filters& filters, const uint4& a, const uint4& b, u16* to, i32 pitch,
                                           i64 side, int rows) {
    const Filtered<2> sides[2] = {halving_filter(filters, {a.x, a.y}, {b.x, b.y}, 32768),
                                  halving_filter(filters, {a.z, a.w}, {b.z, b.w}, 32768)};
    for (int i = 0; i < 2; ++i)
        for (int n = 0; n < 2; ++n) {
            const Filtered<2>& f = sides[n];
            const u32 value = f.at[0].at[i] + (f.at[1].at[i] << 8) + (f.at[2].at[i] << 16);
            if (i < rows) to[pitch * i + side * n] = static_cast<u16>(value >> 16);
        }
}

__device__ __forceinline__ void load_slice(const uint4 (&slices)[4][kStrip][4], int row, int quad, Slice& to) {
    for (int p = 0; p < 4; ++p) to.at[p] = slices[p][row][quad];
}

template <class T>
__device__ __forceinline__ void measure(const Level& in, int n_steps, u8* out, int out_pitch, const u16* steps,
                                        const double (&limits)[kMaxGains], int n_limits, int first_limit, u64* sums) {
    __shared__ Memory memory;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, q = lane % 4;
    const int x0 = blockIdx.x * (n_steps * kSlots - 1) * kSlot, y0 = blockIdx.y * kStrip;
    const bool statistic = n_limits > 0, halving = out != nullptr;
    const Filters filters(in.scale, lane);
    const Rounding<T> rounding(in.scale, in.depth);
    for (int i = threadIdx.x; i < kLog2Groups / 8; i += kThreads)
        reinterpret_cast<uint4*>(memory.steps)[i] = reinterpret_cast<const uint4*>(steps)[i];

    const bool inside = y0 >= kHalo && y0 + kStrip + kHalo <= in.height && aligned<T>(in.ref) && aligned<T>(in.dis);
    const int half = warp % 2, row = y0 + 8 * half + 2 * q;  // of a strip's rows, whose tiles the warp filters
    const bool rows = statistic && y0 + 8 * half < in.height;
    // Where a lane writes its column of the first tile of the halved pictures, and how many rows.
    u16* to = reinterpret_cast<u16*>(out + static_cast<i64>(out_pitch) * (y0 / 2 + 2 * q)) + x0 / 2 + g;
    const int halved_rows = in.height / 2 - (y0 / 2 + 2 * q);
    Tally tally{};
    Slice held{};
    for (int step = 0; step < n_steps; ++step) {
        if (x0 + kSlot * (kSlots * step - 1) >= in.width) break;
        const int slot = kSlots * step + 2 * warp, column = x0 - kHalo + kSlot * slot;
        if (column < in.width + kHalo) {
            const bool simple = inside && column >= 0 && column + 2 * kSlot <= in.width;
            Patch<T> ref[2], dis[2];
            load_patches(in.ref, y0 - kHalo, column, in.width, in.height, simple, ref);
            load_patches(in.dis, y0 - kHalo, column, in.width, in.height, simple, dis);
#pragma unroll
            for (int n = 0; n < 2; ++n)
                filter_slot(ref[n], dis[n], filters, rounding, statistic, halving, memory.slots[2 * warp + n],
                            memory.halved[(slot + n) % (2 * kSlots)]);
        }
        __syncthreads();
        // Two warps filter the left tiles, beginning with the slot held from the step before; two the right ones,
        // which hold their last slot and are left next.
        const bool left = (warp / 2 + step) % 2 == 0;
        const int first = left ? -1 : kSlots / 2 - 1;
        if (!left && rows) load_slice(memory.slots[first], 8 * half + g, q, held);
        const auto filter_rows = [&](int n, const Slice& here, Slice& next) {
            const int tile = kSlots * step + first + n, x = x0 + kSlot * tile;
            const bool exists = tile >= 0 && x < in.width;
            if (rows) {
                load_slice(memory.slots[first + n + 1], 8 * half + g, q, next);
                if (exists) {
                    const bool first_row = row < in.height, second_row = row + 1 < in.height;
                    const bool one = x + g < in.width, other = x + g + 8 < in.width;
                    add_places(filter_tile(filters, here, next),
                               {one && first_row, one && second_row, other && first_row, other && second_row},
                               memory.steps, limits, n_limits, tally);
                }
            }
            if (halving && exists && n % 2 == half)
                halve_tile(filters, memory.halved[tile % (2 * kSlots)][g][q],
                           memory.halved[(tile + 1) % (2 * kSlots)][g][q], to + kSlot / 2 * tile, out_pitch / 2,
                           static_cast<i64>(out_pitch / 2) * (in.height / 2),
                           x / 2 + g < in.width / 2 ? halved_rows : 0);
        };
#pragma unroll 1
        for (int n = 0; n < kSlots / 2; n += 2) {
            Slice next;
            filter_rows(n, held, next);
            filter_rows(n + 1, next, held);
        }
        __syncthreads();
    }
    if (!statistic) return;
    const auto add = [&](u64 value, int word) {
        value = warp_sum(value);
        if (lane == 0) atomicAdd(sums + word, value);
    };
    if (first_limit == 0) {
        add(static_cast<i64>(static_cast<i32>(tally.total)), 0);
        add(tally.flat_dis, 1);
        add(tally.flat, 2);
    }
#pragma unroll
    for (int i = 0; i < kMaxGains; ++i)
        if (i < n_limits)
            add(static_cast<i64>(static_cast<i32>(tally.signal[i] - tally.noise)), kShared + first_limit + i);
}

// Scale 0 is the frames' own luma; `planes` has the others, `stride` bytes from frame to frame.
__device__ __forceinline__ Level level_of(const Frame& frame, const u8* planes, int pitch, int width, int height,
                                          int scale, int depth) {
    if (scale == 0)
        return {{frame.ref.plane[0], frame.ref.pitch[0]}, {frame.dis.plane[0], frame.dis.pitch[0]},
                width, height, scale, depth};
    return {{planes, pitch}, {planes + static_cast<i64>(pitch) * height, pitch}, width, height, scale, depth};
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
vif_8(const Frame* frames, const u8* planes, i64 stride, int pitch, int width, int height, int scale, int depth,
      int n_steps, u8* halved, int halved_pitch, const u16* steps, double limit0, double limit1, double limit2,
      double limit3, int n_limits, int first_limit, u64* sums, int words) {
    const i64 frame = blockIdx.z;
    const double limits[kMaxGains] = {limit0, limit1, limit2, limit3};
    measure<u8>(level_of(frames[frame], planes + stride * frame, pitch, width, height, scale, depth), n_steps,
                halved == nullptr ? nullptr : halved + stride * frame, halved_pitch, steps, limits, n_limits,
                first_limit, sums + words * frame);
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
vif_16(const Frame* frames, const u8* planes, i64 stride, int pitch, int width, int height, int scale, int depth,
      int n_steps, u8* halved, int halved_pitch, const u16* steps, double limit0, double limit1, double limit2,
      double limit3, int n_limits, int first_limit, u64* sums, int words) {
    const i64 frame = blockIdx.z;
    const double limits[kMaxGains] = {limit0, limit1, limit2, limit3};
    measure<u16>(level_of(frames[frame], planes + stride * frame, pitch, width, height, scale, depth), n_steps,
                halved == nullptr ? nullptr : halved + stride * frame, halved_pitch, steps, limits, n_limits,
                first_limit, sums + words * frame);
}
