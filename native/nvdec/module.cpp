// CardDecoder for Python. Waiting releases the interpreter lock, and the sessions' threads never have it.
#include <nanobind/stl/map.h>
#include <nanobind/stl/tuple.h>

#include <map>
#include <tuple>
#include <utility>

#include "core/binding.h"
#include "nvdec/card_decoder.h"
#include "signature/signature.h"

namespace acuity {

namespace {

using Pair = std::pair<int, int>;
using Room = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;

cuvid::Handle handle(std::uint64_t value) { return reinterpret_cast<cuvid::Handle>(value); }

template <class Function>
void find(Function& function, const nb::dict& addresses, const char* name) {
    const nb::object found = addresses.attr("get")(name);
    if (found.is_none()) throw nb::value_error(name);
    function = reinterpret_cast<Function>(nb::cast<std::uint64_t>(found));
}

cuvid::Functions functions_of(const nb::dict& addresses) {
    cuvid::Functions functions{};
#define ACUITY_FIND(name, ...) find(functions.name, addresses, #name);
    ACUITY_CUVID_FUNCTIONS(ACUITY_FIND)
#undef ACUITY_FIND
    return functions;
}

using OwnedDecoder = std::unique_ptr<CardDecoder, CardDecoder::Ending>;

class Decoder {
  public:
    explicit Decoder(OwnedDecoder decoder) : decoder_(std::move(decoder)) {}
    ~Decoder() {
        nb::gil_scoped_release released;  // its threads may call what needs the lock
        decoder_.reset();
    }
    CardDecoder& operator*() const { return *decoder_; }
    CardDecoder* operator->() const { return decoder_.get(); }

  private:
    OwnedDecoder decoder_;
};

void make(Decoder* self, const nb::dict& functions, std::uint64_t context, int codec, Pair size, int depth,
          Pair pitches, std::pair<std::int64_t, std::int64_t> offsets, Pair chroma, Pair cells, int row_step,
          std::pair<std::uint64_t, std::uint64_t> kernels, int sessions, int most) {
    const int width = size.first, height = size.second;
    if (width < 1 || height < 1 || depth < 8 || depth > 16 || pitches.first < width * (depth == 8 ? 1 : 2) ||
        chroma.first < 0 || chroma.second < 0 || cells.first < 1 || cells.second < 1 || row_step < 1)
        throw nb::value_error("pictures have samples, and rows are as long as these");
    const PicturePlan picture{width, height, pitches.first, pitches.second, offsets.first, offsets.second,
                              chroma.first, chroma.second, cells.first, cells.second, row_step};
    const CellGrid grid{cells.second, cells.first};
    const auto sign = [=](const std::uint64_t* sums, float* signature) {
        means_of_sums(sums, width, height, depth, grid, signature);
    };
    DecodingPlan plan{functions_of(functions), handle(context), codec, depth, picture, handle(kernels.first),
                      handle(kernels.second), sign};
    new (self) Decoder(OwnedDecoder(new CardDecoder(std::move(plan), sessions, most)));
}

std::vector<std::pair<std::int64_t, int>> take(const Decoder& decoder, std::size_t most, bool waits) {
    std::vector<DecodedPicture> found;
    if (waits) {
        nb::gil_scoped_release released;
        found = decoder->take(most, true);
    } else {
        found = decoder->take(most, false);
    }
    std::vector<std::pair<std::int64_t, int>> pictures;
    pictures.reserve(found.size());
    for (const DecodedPicture& picture : found) pictures.emplace_back(picture.stamp, picture.room);
    return pictures;
}

// Of the card whose context is current in this thread.
std::map<std::string, int> abilities(const nb::dict& addresses, int codec, int depth) {
    const cuvid::Functions functions = functions_of(addresses);
    cuvid::DecoderAbilities found{};
    found.codec = codec;
    found.chroma = cuvid::k420;
    found.depth_above_8 = static_cast<std::uint32_t>(depth - 8);
    int status;
    {
        nb::gil_scoped_release released;
        status = functions.cuvidGetDecoderCaps(&found);
    }
    const auto number = [](auto value) { return static_cast<int>(value); };
    return {{"status", status},
            {"supported", number(found.supported)},
            {"engines", number(found.engines)},
            {"most_width", number(found.most_width)},
            {"most_height", number(found.most_height)},
            {"most_blocks", number(found.most_blocks)},
            {"least_width", number(found.least_width)},
            {"least_height", number(found.least_height)}};
}

}  // namespace

void bind_nvdec(nb::module_& m) {
    std::vector<std::string> names;
#define ACUITY_NAME(name, ...) names.emplace_back(#name);
    ACUITY_CUVID_FUNCTIONS(ACUITY_NAME)
#undef ACUITY_NAME
    m.attr("DECODER_FUNCTIONS") = nb::tuple(nb::cast(names));
    m.def("decoder_abilities", &abilities, "functions"_a, "codec"_a, "depth"_a,
          "What the card of this thread can decode: status, supported, engines, and bounds of the size.");
    nb::class_<Decoder>(m, "CardDecoder",
        "Decoders of a card for one video, in threads of their own.\n\n"
        "One thread feeds, gives and takes; any may give back. A failure, or doubt, is a RuntimeError of take().")
        .def("__init__", &make, "functions"_a, nb::kw_only(), "context"_a, "codec"_a, "size"_a, "depth"_a, "pitches"_a,
             "offsets"_a, "chroma"_a, "cells"_a, "row_step"_a, "kernels"_a, "sessions"_a, "most"_a,
             "Functions by their addresses; pitches and offsets are bytes of unpacked planes.\n\n"
             "`chroma` is (0, 0) if luma is all that is unpacked; `cells` are the rows and columns of a "
             "signature.")
        .def("feed",
             [](const Decoder& decoder, std::uint64_t address, std::size_t size, std::int64_t stamp, bool hidden,
                bool anew) {
                 const auto* bytes = reinterpret_cast<const std::uint8_t*>(address);
                 decoder->feed({{bytes, bytes + size}, stamp, hidden}, anew);
             },
             "address"_a, "size"_a, "stamp"_a, "hidden"_a, "anew"_a,
             "A packet, whose bytes are copied; OSError if the system starts no thread for it.")
        .def("end", [](const Decoder& decoder) { decoder->end(); }, "No more packets will come.")
        .def("take", &take, "most"_a, "waits"_a,
             "Stamps and rooms of the next pictures; if it waits, as soon as there are some or room is wanted.")
        .def_prop_ro("finished", [](const Decoder& decoder) { return decoder->finished(); })
        .def_prop_ro("far_ahead", [](const Decoder& decoder) { return decoder->far_ahead(); },
                     "Whether enough waits to be decoded and taken.")
        .def_prop_ro("wants_room", [](const Decoder& decoder) { return decoder->wants_room(); })
        .def("give",
             [](const Decoder& decoder, const std::vector<Room>& given) {
                 std::vector<PictureRoom> rooms;
                 for (const auto& [address, sums, host, signature] : given)
                     rooms.push_back({address, sums, reinterpret_cast<std::uint64_t*>(host),
                                      reinterpret_cast<float*>(signature)});
                 decoder->give(rooms);
             },
             "rooms"_a,
             "Room for pictures: addresses on the card, of their sums, for these here, and for the signature.\n\n"
             "None: there is no more, so that pictures wait for what is given back.")
        .def("give_back", [](const Decoder& decoder, int room) { decoder->give_back(room); }, "room"_a,
             "The room of a picture may be used anew.")
        .def("close", [](const Decoder& decoder) {
            nb::gil_scoped_release released;
            decoder->close();
        }, "End the threads. May be called again.");
}

}  // namespace acuity
