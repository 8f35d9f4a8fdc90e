#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nvdec/card_decoder.h"
#include "threads.h"

namespace acuity::check {
namespace {

using namespace cuvid;

constexpr int kWidth = 64, kHeight = 48, kSurfaces = 8;
constexpr std::size_t kHeld = 3;  // packets whose pictures are shown later
constexpr std::int64_t kPart = 30;
constexpr char kBad = 'x';        // the first byte of a packet whose picture is damaged

// A driver whose pictures are the bytes of their packets, shown in the order of their stamps.
struct Parser {
    ParserSettings settings;
    bool begun = false;
    std::vector<std::pair<std::int64_t, std::uint8_t>> held;
    std::array<std::uint8_t, kSurfaces> surfaces{};
    int next = 0;
};

std::atomic<int> decoders{0};
thread_local Parser* current = nullptr;  // of this thread's session
thread_local std::uint8_t mapped = 0;

bool show_first(Parser& parser) {
    const auto first = std::min_element(parser.held.begin(), parser.held.end());
    const int index = parser.next++ % kSurfaces;
    parser.surfaces[static_cast<std::size_t>(index)] = first->second;
    ShownPicture picture{index, 1, 0, 0, first->first};
    parser.held.erase(first);
    return parser.settings.on_show(parser.settings.user, &picture) > 0;
}

Status parse(Handle handle, SourcePacket* packet) {
    Parser& parser = *static_cast<Parser*>(handle);
    current = &parser;
    if ((packet->flags & kEndOfStream) != 0) {
        while (!parser.held.empty())
            if (!show_first(parser)) return 1;
        return 0;
    }
    if (!std::exchange(parser.begun, true)) {
        VideoFormat format{};
        format.least_surfaces = kSurfaces;
        format.coded_width = kWidth;
        format.coded_height = kHeight;
        format.right = kWidth;
        format.bottom = kHeight;
        format.chroma = k420;
        if (parser.settings.on_sequence(parser.settings.user, &format) < kSurfaces) return 1;
    }
    if (parser.settings.on_decode(parser.settings.user, nullptr) < 1) return 1;
    parser.held.emplace_back(packet->stamp, packet->data[0]);
    return parser.held.size() > kHeld && !show_first(parser) ? 1 : 0;
}

Functions functions() {
    Functions made{};
    made.cuCtxSetCurrent = [](Handle) { return 0; };
    made.cuStreamCreate = [](Handle*, unsigned) { return 0; };
    made.cuStreamDestroy_v2 = [](Handle) { return 0; };
    made.cuEventCreate = [](Handle*, unsigned) { return 0; };
    made.cuEventDestroy_v2 = [](Handle) { return 0; };
    made.cuEventRecord = [](Handle, Handle) { return 0; };
    made.cuEventSynchronize = [](Handle) { return 0; };
    made.cuMemcpyDtoHAsync_v2 = [](void* to, std::uint64_t from, std::size_t size, Handle) {
        std::memcpy(to, reinterpret_cast<const void*>(from), size);
        return 0;
    };
    // The kernel that unpacks writes the picture's byte; the one that sums up copies it to the first sum.
    made.cuLaunchKernel = [](Handle kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle,
                             void** arguments, void**) {
        if (kernel == nullptr) {
            **static_cast<std::uint8_t**>(arguments[3]) = mapped;
        } else {
            **static_cast<std::uint64_t**>(arguments[7]) = **static_cast<std::uint8_t**>(arguments[0]);
        }
        return 0;
    };
    made.cuvidGetDecoderCaps = [](DecoderAbilities*) { return 0; };
    made.cuvidCreateVideoParser = [](Handle* parser, ParserSettings* settings) {
        *parser = new Parser{.settings = *settings, .held = {}};
        return 0;
    };
    made.cuvidParseVideoData = parse;
    made.cuvidDestroyVideoParser = [](Handle parser) {
        delete static_cast<Parser*>(parser);
        return 0;
    };
    made.cuvidCreateDecoder = [](Handle* decoder, DecoderSettings*) {
        decoders++;
        *decoder = current;
        return 0;
    };
    made.cuvidDestroyDecoder = [](Handle) {
        decoders--;
        return 0;
    };
    made.cuvidDecodePicture = [](Handle, PictureParameters*) { return 0; };
    made.cuvidGetDecodeStatus = [](Handle decoder, int index, DecodeState* state) {
        const Parser& parser = *static_cast<Parser*>(decoder);
        state->state = parser.surfaces[static_cast<std::size_t>(index)] == kBad ? kDamaged : 2;
        return 0;
    };
    made.cuvidMapVideoFrame64 = [](Handle decoder, int index, std::uint64_t*, unsigned* pitch, MapSettings*) {
        mapped = static_cast<Parser*>(decoder)->surfaces[static_cast<std::size_t>(index)];
        *pitch = kWidth;
        return 0;
    };
    made.cuvidUnmapVideoFrame64 = [](Handle, std::uint64_t) { return 0; };
    return made;
}

DecodingPlan plan() {
    const PicturePlan picture{kWidth, kHeight, kWidth, 0, 0, 0, 0, 0, 1, 1, 1};
    const auto sign = [](const std::uint64_t* sums, float* signature) { *signature = static_cast<float>(*sums); };
    return {functions(), nullptr, 4, 8, picture, nullptr, reinterpret_cast<Handle>(1), sign};
}

std::uint8_t byte_of(std::int64_t number) { return static_cast<std::uint8_t>('a' + number % 20); }

// The pictures' memory, which is given when it is wanted.
struct Rooms {
    struct Room {
        std::uint64_t picture, sum, host;
        float signature;
    };
    std::deque<Room> all;
    std::size_t most = 1u << 20;

    void grow(CardDecoder& decoder, int count) {
        std::vector<PictureRoom> given;
        for (int i = 0; i < count && all.size() < most; ++i) {
            Room& room = all.emplace_back();
            given.push_back({reinterpret_cast<std::uint64_t>(&room.picture), reinterpret_cast<std::uint64_t>(&room.sum),
                             &room.host, &room.signature});
        }
        decoder.give(given);
    }
};

// Takes pictures and checks them; another thread gives their rooms back.
std::int64_t drain(CardDecoder& decoder, Rooms& rooms, std::int64_t next, std::vector<int>& used) {
    for (;;) {
        if (decoder.wants_room()) rooms.grow(decoder, 4);
        const std::vector<DecodedPicture> found = decoder.take(5, false);
        for (const DecodedPicture& picture : found) {
            expect(picture.stamp == next, "pictures come in order", static_cast<std::uint64_t>(next));
            const float signature = rooms.all[static_cast<std::size_t>(picture.room)].signature;
            expect(signature == static_cast<float>(byte_of(next)), "a picture is its packet's", static_cast<std::uint64_t>(next));
            used.push_back(picture.room);
            next++;
        }
        if (found.empty()) return next;
    }
}

}  // namespace

// Packets that several sessions decode: every picture once, in order and complete.
void check_decoding(std::int64_t packets, int sessions, int most, std::size_t room) {
    {
        Rooms rooms;
        rooms.most = room;
        CardDecoder decoder(plan(), sessions, most);
        std::int64_t next = 1;
        std::vector<int> used;
        std::thread returning;
        const auto give_back = [&] {
            if (returning.joinable()) returning.join();
            returning = std::thread([&decoder, some = std::exchange(used, {})] {
                for (const int room : some) decoder.give_back(room);
            });
        };
        for (std::int64_t number = 1; number <= packets; ++number) {
            decoder.feed({{byte_of(number)}, number, false}, number % kPart == 1);
            const bool far = decoder.far_ahead();
            if (far || number % 7 == 0) {
                next = drain(decoder, rooms, next, used);
                if (used.size() > 20) give_back();
            }
            const double since = seconds();
            while (decoder.far_ahead() && seconds() - since < kTooLong) {
                next = drain(decoder, rooms, next, used);
                give_back();
            }
            expect_awake(since, "decoding goes on");
        }
        decoder.end();
        const double since = seconds();
        while (!decoder.finished() && seconds() - since < kTooLong) {
            next = drain(decoder, rooms, next, used);
            give_back();
        }
        expect(next == packets + 1, "every picture comes", static_cast<std::uint64_t>(next));
        if (returning.joinable()) returning.join();
    }
    expect(decoders == 0, "every decoder is given back");
}

// Decoders that are closed in their midst, and damage, after which no picture that refers to it is handed out.
void check_ending(int rounds) {
    for (int round = 0; round < rounds; ++round) {
        Rooms rooms;
        CardDecoder decoder(plan(), 3, 40);
        const bool damaged = round % 2 == 1;
        for (std::int64_t number = 1; number <= 100; ++number) {
            const std::uint8_t byte = damaged && number == 50 ? static_cast<std::uint8_t>(kBad) : byte_of(number);
            decoder.feed({{byte}, number, false}, number % kPart == 1);
        }
        if (!damaged) continue;
        decoder.end();
        std::int64_t last = 0;
        try {
            for (;;) {
                if (decoder.wants_room()) rooms.grow(decoder, 4);
                for (const DecodedPicture& picture : decoder.take(5, true)) last = picture.stamp;
                if (decoder.finished()) break;
            }
            expect(false, "damage is told");
        } catch (const DecodingDoubt& doubt) {
            expect(std::string(doubt.what()).find("damage") != std::string::npos, "damage is named");
        }
        expect(last < 50, "nothing after damage is shown", static_cast<std::uint64_t>(last));
    }
    expect(decoders == 0, "every decoder is given back");
}

}  // namespace acuity::check
