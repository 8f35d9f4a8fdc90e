// The driver's interface of the card's decoders, as far as it is used: how its structures lie in memory, and its
// functions, which the loader of the driver's libraries finds by name.
#pragma once

#include <cstdint>

namespace acuity::cuvid {

using Status = int;  // 0: success
using Handle = void*;

constexpr unsigned long kEndOfStream = 1, kHasStamp = 2;  // flags of packets
constexpr int kH264 = 4, kHevc = 8;                       // codecs
constexpr int kDamaged = 8, kConcealed = 9;               // states of decoded pictures
constexpr unsigned long kPreferEngines = 4;               // how decoders are made: on the video engines
constexpr int kNv12 = 0, kP016 = 1;                       // formats of surfaces
constexpr int k420 = 1;                                   // a format of chroma

// What the headers of a stream say.
struct VideoFormat {
    std::int32_t codec;
    std::uint32_t rate[2];
    std::uint8_t progressive, luma_depth, chroma_depth, least_surfaces;  // depths above 8
    std::uint32_t coded_width, coded_height;
    std::int32_t left, top, right, bottom;  // the part that is shown
    std::int32_t chroma;
    std::uint32_t bits_per_second;
    std::int32_t aspect[2];
    std::uint8_t colours[4];
    std::uint32_t more_bytes;
};
static_assert(sizeof(VideoFormat) == 64);

struct PictureParameters;  // which the parser makes for the decoder

// A picture to be shown.
struct ShownPicture {
    std::int32_t index, progressive, top_first, repeated;
    std::int64_t stamp;
};
static_assert(sizeof(ShownPicture) == 24);

struct SourcePacket {
    unsigned long flags, size;
    const std::uint8_t* data;
    std::int64_t stamp;
};
static_assert(sizeof(SourcePacket) == 32);

// Functions that the parser calls: 0 is a failure.
struct ParserSettings {
    std::int32_t codec;
    std::uint32_t most_surfaces, clock_rate, error_threshold, display_delay, flags, unused[4];
    void* user;
    int (*on_sequence)(void*, VideoFormat*);
    int (*on_decode)(void*, PictureParameters*);
    int (*on_show)(void*, ShownPicture*);
    void *on_operating_point, *on_message, *unused_pointers[5], *more;
};
static_assert(sizeof(ParserSettings) == 136);

struct DecoderSettings {
    unsigned long width, height, surfaces;
    std::int32_t codec, chroma;
    unsigned long flags, depth_above_8, intra_only, most_width, most_height, unused;
    std::int16_t shown[4];
    std::int32_t surface_format, deinterlacing;
    unsigned long to_width, to_height, outputs;
    void* lock;
    std::int16_t target[4];
    unsigned long histogram, more_unused[4];
};
static_assert(sizeof(DecoderSettings) == 176);

struct MapSettings {
    std::int32_t progressive, second_field, top_first, unpaired;
    std::uint32_t flags, zero;
    std::uint64_t raw_input;
    std::uint32_t raw_input_pitch, raw_input_format;
    std::uint64_t raw_output;
    std::uint32_t raw_output_pitch, unused;
    Handle stream;
    std::uint32_t more_unused[46];
    void *histogram, *last;
};
static_assert(sizeof(MapSettings) == 264);

struct DecodeState {
    std::int32_t state;
    std::uint32_t unused[31];
    void* more_unused[8];
};
static_assert(sizeof(DecodeState) == 192);

struct DecoderAbilities {
    std::int32_t codec, chroma;
    std::uint32_t depth_above_8, unused[3];
    std::uint8_t supported, engines;
    std::uint16_t formats;
    std::uint32_t most_width, most_height, most_blocks;
    std::uint16_t least_width, least_height;
    std::uint8_t histogram, counter_depth;
    std::uint16_t bins;
    std::uint32_t more_unused[10];
};
static_assert(sizeof(DecoderAbilities) == 88);

// Each function with its name in the libraries: what is returned is a Status.
#define ACUITY_CUVID_FUNCTIONS(USE)                                                                                  \
    USE(cuCtxSetCurrent, Handle context)                                                                             \
    USE(cuStreamCreate, Handle* stream, unsigned flags)                                                              \
    USE(cuStreamDestroy_v2, Handle stream)                                                                           \
    USE(cuEventCreate, Handle* event, unsigned flags)                                                                \
    USE(cuEventDestroy_v2, Handle event)                                                                             \
    USE(cuEventRecord, Handle event, Handle stream)                                                                  \
    USE(cuEventSynchronize, Handle event)                                                                            \
    USE(cuMemcpyDtoHAsync_v2, void* to, std::uint64_t from, std::size_t size, Handle stream)                         \
    USE(cuLaunchKernel, Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
        unsigned block_y, unsigned block_z, unsigned shared, Handle stream, void** arguments, void** more)           \
    USE(cuvidGetDecoderCaps, DecoderAbilities* abilities)                                                            \
    USE(cuvidCreateVideoParser, Handle* parser, ParserSettings* settings)                                            \
    USE(cuvidParseVideoData, Handle parser, SourcePacket* packet)                                                    \
    USE(cuvidDestroyVideoParser, Handle parser)                                                                      \
    USE(cuvidCreateDecoder, Handle* decoder, DecoderSettings* settings)                                              \
    USE(cuvidDestroyDecoder, Handle decoder)                                                                         \
    USE(cuvidDecodePicture, Handle decoder, PictureParameters* parameters)                                           \
    USE(cuvidGetDecodeStatus, Handle decoder, int index, DecodeState* state)                                         \
    USE(cuvidMapVideoFrame64, Handle decoder, int index, std::uint64_t* address, unsigned* pitch, MapSettings* how)  \
    USE(cuvidUnmapVideoFrame64, Handle decoder, std::uint64_t address)

struct Functions {
#define ACUITY_DECLARE(name, ...) Status (*name)(__VA_ARGS__);
    ACUITY_CUVID_FUNCTIONS(ACUITY_DECLARE)
#undef ACUITY_DECLARE
};

}  // namespace acuity::cuvid
