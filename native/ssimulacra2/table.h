// SSIMULACRA 2: rows of pictures in a space of perceived colour, blurred and compared.
//
// A scale is walked once, from top to bottom, kRows rows at a time: rows become light, then colour, are blurred
// across into a ring of rows, from there blurred down, and compared at once. All arithmetic is the reference
// program's, rounding included: its recursive blur rounds so coarsely that another order of operations changes
// the score by whole points. fused() is a * b + c rounded once, as the reference has it on machines that can.
#pragma once

#include "core/kernels.h"

namespace acuity {

namespace ssimulacra2 {

constexpr int kRows = 4;      // walked together
constexpr int kColumns = 16;  // of a block of the ring; sums are kept apart by column modulo this
constexpr int kPad = 16;      // zeros before and after each row of colour
constexpr int kRadius = 5;    // of the blur, whose weight is zero there
constexpr int kSlots = 16;    // rows of the ring: those within the blur's reach and those that enter it
constexpr int kBlurred = 5;   // what is blurred: squares of both pictures, their product, both pictures
constexpr int kModes = 3;     // cosines that make up the blur
constexpr int kNorms = 6;     // sums over a map of errors, of its values and of their fourth powers, three maps
constexpr int kCurve = 2048;  // steps of the curve of light

// Floats of a block: of the ring, and of the state of the blur down, which is two past values of each mode.
constexpr int kRingBlock = kBlurred * kColumns;
constexpr int kStateBlock = kBlurred * kModes * 2 * kColumns;

constexpr int blocks(int width) { return (width + kColumns - 1) / kColumns; }

// The blur of standard deviation 1.5 as three cosines (Charalampidis 2016, "Recursive implementation of the
// Gaussian filter using truncated cosine functions"): mode k follows y[n] = gain x[n] - turn y[n-1] - y[n-2],
// where x[n] is the sum of the samples kRadius - 1 ahead and kRadius + 1 back.
constexpr double kGain[kModes] = {0.05529523572608661, -0.05883668702694996, 0.012955819110517082};
constexpr double kTurn[kModes] = {-1.902113032590307, -1.1755705045849463, -1.2246467991473532e-16};

// Four steps of a mode at once: each of the four values from four inputs and the two values before.
struct FourSteps {
    float input[4];    // by how many steps the input is back
    float last[4];     // factor of the value before, by step
    float earlier[4];  // factor of the one before that

    constexpr FourSteps(double gain, double d)
        : input{static_cast<float>(gain), static_cast<float>(-d * gain), static_cast<float>(d * d * gain - gain),
                static_cast<float>(-d * d * d * gain + 2.0 * d * gain)},
          last{static_cast<float>(-d), static_cast<float>(d * d - 1.0), static_cast<float>(-d * d * d + 2.0 * d),
               static_cast<float>(d * d * d * d - 3.0 * d * d + 1.0)},
          earlier{-1.0f, static_cast<float>(d), static_cast<float>(-d * d + 1.0),
                  static_cast<float>(d * d * d - 2.0 * d)} {}
};
constexpr FourSteps kFourSteps[kModes] = {
    {kGain[0], kTurn[0]}, {kGain[1], kTurn[1]}, {kGain[2], kTurn[2]}};

// Columns that the reference takes four steps at a time; before and after them it takes one.
constexpr int kFirstFour = 8;
constexpr bool four_at(int column, int width) { return column >= kFirstFour && column < width - 7; }

// How samples become linear red, green and blue.
struct Light {
    int black;                              // luma of black
    int grey;                               // chroma of grey, as the sum that upsampling makes
    float luma;                             // factors, of chroma sums too
    float red_v, green_u, green_v, blue_u;
    const float* curve;                     // light at kCurve + 1 values, then the step from each to the next
};

// Colour as the eye mixes it: X, Y and B - Y, all about 0 to 1.
constexpr float kConeBias = 0.0037930732552754493f;
constexpr float kConeBiasRoot = 0.15595419704914093f;

constexpr float kSmall = 0.0009f;  // keeps flat areas apart from noise in the structural similarity

struct Sums {
    double lane[kNorms][kColumns];
};

// Where a band of kRows rows is compared.
struct Band {
    const float* ahead[kRows];  // rows of the ring that enter the blur
    const float* behind[kRows];
    float* state;
    const float* ref[kRows];  // colour of the rows that leave it
    const float* dis[kRows];
    int first, last;  // which of them are in the picture
    int width;
};

}  // namespace ssimulacra2

struct Ssimulacra2Kernels {  // `scratch` is room for scratch_floats(width)
    // A row of a picture as linear light. Chroma is upsampled bilinearly, as if sited on the left column and
    // between two rows; `chroma` false: there is none. May write up to whole registers.
    void (*linear)(const Plane* planes, bool chroma, const ssimulacra2::Light& light, int row, float* scratch,
                   float* const rgb[3]);

    // The mean of squares of two by two.
    void (*halve)(const float* upper, const float* lower, int width, float* out);

    // A row of light as colour. `mix` says how red, green and blue excite three kinds of cones. May write up to
    // whole registers.
    void (*colour)(const float* const rgb[3], const float mix[9], int width, float* const xyb[3]);

    // Blur kRows rows across, each into a row of the ring.
    void (*blur_across)(const float* const ref[ssimulacra2::kRows], const float* const dis[ssimulacra2::kRows],
                        int width, float* scratch, float* const out[ssimulacra2::kRows]);

    // Blur down and add up the errors.
    void (*compare)(const ssimulacra2::Band& band, ssimulacra2::Sums& sums);
};

namespace ssimulacra2 {

constexpr std::size_t scratch_floats(int width) {
    return static_cast<std::size_t>(kRows) * static_cast<std::size_t>(width + 4 * kColumns);
}

}  // namespace ssimulacra2

}  // namespace acuity
