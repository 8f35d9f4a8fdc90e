// Banding: steps between flat places that are large enough to be seen and too small to be an edge.
//
// A picture is judged in 10 bits, at five scales. A plane of samples carries each sample's value and, in the
// top bit, whether its surroundings are too busy for banding to be seen there. Rows are padded to whole
// cache lines with busy samples.
#pragma once

#include "core/kernels.h"
#include "core/workspace.h"

namespace acuity {

constexpr std::uint16_t kCambiBusy = 0x8000;
constexpr int kCambiMaxSteps = 32;
constexpr int kCambiMaxWindow = 65;     // on a side
constexpr int kCambiFlatRadius = 3;     // surroundings are 7x7 samples
constexpr int kCambiStrip = 512;        // columns whose histograms are kept at once
constexpr int kCambiStripBefore = 96, kCambiStripAfter = 128;  // columns beside them that runs may change
constexpr std::size_t kCambiBins = 65536;

using CambiPlane = Grid<std::uint16_t>;

// A picture, and how its samples are taken.
struct CambiSource {
    Plane in;
    int width, height;            // of the result
    const std::int32_t* columns;  // where each column and row of the result comes from; null: 1 to 1
    const std::int32_t* rows;
    bool smooth;                  // average 2x2 samples, which undoes dithering
    bool halve;                   // then leave out every other row and column
    int flat;                     // more of the 7x7 than this must equal their right and lower neighbours
};

// Which values are counted, and what a step between two of them weighs.
struct CambiLevels {
    int base, count;            // values from base on
    int steps;                  // 1, 2, 4, … kCambiMaxSteps: the largest step
    const std::uint8_t* first;  // of each value: the smallest step that can be seen, less 1; `steps`: none
    const float* weights;       // of each step
    const float* inverse;       // 1 / n
};

// The samples that are counted.
struct CambiSurvey {
    std::int64_t samples;
    int lowest, highest;  // values, less base; of no samples: count, -1
};

struct CambiScale {
    CambiPlane plane;
    int width, height;
    int radius;  // of the window
    CambiLevels levels;
    CambiSurvey survey;
};

// Contrasts of one scale, in a form that doesn't depend on the order in which they are found. They are 0 or
// between 0.5 and 2^14, so each is a whole number of 2^-24 and sums of them are exact.
struct CambiContrasts {
    unsigned __int128 sum;  // of all, in 2^-24
    std::uint32_t* list;    // where to put those that aren't 0, as the bits of floats; null: nowhere
    std::int64_t listed;    // how many; zeros may be among them
    Grid<float> map;        // where to put those that aren't 0, sample by sample; null: nowhere. Its rows
                            // have the samples of the plane's, padding included
};

struct CambiKernels {
    // Takes a picture's samples and marks those in busy places.
    void (*flatten)(const CambiSource& source, void* scratch, CambiPlane out);

    // Keeps every step-th row and column, gives each sample the most frequent value around it, in place, and
    // counts samples. Width and height are those of the result.
    void (*filter)(CambiPlane plane, int width, int height, int step, const CambiLevels& levels, void* scratch,
                   CambiSurvey& out);

    // Contrast of every sample with those around it.
    void (*contrast)(const CambiScale& scale, void* scratch, CambiContrasts& out);

    // Sum of the `count` largest, in 2^-24; those that aren't listed are 0. Changes the list, which has room
    // for another cache line; `bins` is room for kCambiBins numbers.
    unsigned __int128 (*largest)(std::uint32_t* list, std::int64_t listed, std::int64_t count, std::uint32_t* bins);
};

// Bytes of scratch memory for pictures of that width.
std::size_t cambi_scratch_bytes(int width, const CambiLevels& levels);

}  // namespace acuity
