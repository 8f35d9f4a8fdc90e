#include "nvdec/session.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace acuity {

namespace {

// Pictures between decoding and showing, so that the engine works on while a picture is unpacked.
constexpr unsigned kDisplayDelay = 4;
constexpr unsigned kNonBlocking = 1;      // a stream that doesn't wait for the default one
constexpr unsigned kSleepingNoTime = 3;   // an event whose waiters sleep, and that takes no time
constexpr unsigned kRowThreads = 128, kCellThreads = 32;
constexpr int kStoredBits = 16;           // of a sample in surfaces of more than 8 bits, which are the upper ones

std::string size_text(int width, int height) { return std::to_string(width) + "x" + std::to_string(height); }

// Whether packets of H.264 and HEVC keep the rule that no unit has two zeros before a byte of 0 or 2: an escape is
// written between them. Zeros before a start code or the end are padding.
bool is_escaped(std::string_view bytes) {
    using namespace std::string_view_literals;
    if (bytes.find("\0\0\2"sv) != bytes.npos) return false;
    for (std::size_t at = 0; (at = bytes.find("\0\0\0"sv, at)) != bytes.npos;) {
        at = bytes.find_first_not_of('\0', at);
        if (at == bytes.npos) break;
        if (bytes[at] != 1) return false;
    }
    return true;
}

bool same_size(const cuvid::VideoFormat& one, const cuvid::VideoFormat& other) {
    return one.coded_width == other.coded_width && one.coded_height == other.coded_height && one.left == other.left &&
           one.top == other.top && one.right == other.right && one.bottom == other.bottom &&
           one.luma_depth == other.luma_depth && one.chroma == other.chroma &&
           one.least_surfaces == other.least_surfaces;
}

}  // namespace

DecodeSession::DecodeSession(const DecodingPlan& plan, TakeRoom take_room, RoomOf room_of)
    : plan_(plan), take_room_(std::move(take_room)), room_of_(std::move(room_of)) {
    const cuvid::Functions& api = plan_.functions;
    check(api.cuCtxSetCurrent(plan_.context), "its context");
    try {
        check(api.cuStreamCreate(&stream_, kNonBlocking), "a stream");
        check(api.cuEventCreate(&done_, kSleepingNoTime), "an event");
        cuvid::ParserSettings settings{};
        settings.codec = plan_.codec;
        settings.most_surfaces = 1;  // until the headers say more
        settings.display_delay = kDisplayDelay;
        settings.user = this;
        settings.on_sequence = [](void* self, cuvid::VideoFormat* format) {
            auto* session = static_cast<DecodeSession*>(self);
            return session->guarded([&] { return session->begin_sequence(*format); });
        };
        settings.on_decode = [](void* self, cuvid::PictureParameters* parameters) {
            auto* session = static_cast<DecodeSession*>(self);
            return session->guarded([&] {
                session->check(session->plan_.functions.cuvidDecodePicture(session->decoder_, parameters), "a picture");
                return 1;
            });
        };
        settings.on_show = [](void* self, cuvid::ShownPicture* picture) {
            auto* session = static_cast<DecodeSession*>(self);
            return session->guarded([&] {
                if (picture != nullptr) session->show(*picture);  // none at the end of a stream
                return 1;
            });
        };
        check(api.cuvidCreateVideoParser(&parser_, &settings), "a parser");
    } catch (...) {
        release();
        throw;
    }
}

DecodeSession::~DecodeSession() { release(); }

void DecodeSession::release() {
    const cuvid::Functions& api = plan_.functions;
    if (parser_ != nullptr) api.cuvidDestroyVideoParser(parser_);
    if (decoder_ != nullptr) api.cuvidDestroyDecoder(decoder_);
    if (done_ != nullptr) api.cuEventDestroy_v2(done_);
    if (stream_ != nullptr) api.cuStreamDestroy_v2(stream_);
}

void DecodeSession::check(cuvid::Status status, const char* what) const {
    if (status != 0)
        throw DecodingDoubt(std::string("the card's decoder failed at ") + what + " (CUDA error " +
                            std::to_string(status) + ")");
}

// Does the work of a function that the parser calls: errors wait until the parser has returned.
template <class Work>
int DecodeSession::guarded(Work work) {
    if (error_) return 0;
    try {
        return work();
    } catch (...) {
        error_ = std::current_exception();
        return 0;
    }
}

std::vector<DecodedPicture> DecodeSession::decode(const CodedPacket& packet) {
    number_++;
    if (packet.stamp <= 0 || !fed_.emplace(packet.stamp, Fed{number_, packet.hidden}).second)
        throw DecodingDoubt("two packets have one time, or a time is out of bounds");
    const auto* bytes = reinterpret_cast<const char*>(packet.bytes.data());
    if ((plan_.codec == cuvid::kH264 || plan_.codec == cuvid::kHevc) && !is_escaped({bytes, packet.bytes.size()}))
        throw DecodingDoubt("a packet is damaged");
    parse(&packet);
    return certain();
}

std::vector<DecodedPicture> DecodeSession::flush() {
    parse(nullptr);
    if (!fed_.empty()) throw DecodingDoubt(std::to_string(fed_.size()) + " packets gave no picture");
    return certain();
}

void DecodeSession::parse(const CodedPacket* packet) {
    cuvid::SourcePacket source{};
    if (packet == nullptr) {
        source.flags = cuvid::kEndOfStream;
    } else {
        source.flags = cuvid::kHasStamp;
        source.size = packet->bytes.size();
        source.data = packet->bytes.data();
        source.stamp = packet->stamp;
    }
    const cuvid::Status status = plan_.functions.cuvidParseVideoData(parser_, &source);
    if (error_) std::rethrow_exception(error_);
    check(status, "a packet");
}

std::vector<DecodedPicture> DecodeSession::certain() {
    std::int64_t first = number_ + 1;
    for (const auto& [stamp, fed] : fed_) first = std::min(first, fed.number);
    std::vector<DecodedPicture> found;
    while (!shown_.empty() && shown_.front().number < first) {
        found.push_back(shown_.front().picture);
        shown_.pop_front();
    }
    return found;
}

int DecodeSession::begin_sequence(const cuvid::VideoFormat& format) {
    if (decoder_ != nullptr) {
        if (!same_size(format, format_)) throw DecodingDoubt("the headers change");
        return surfaces_;
    }
    const int width = format.right - format.left, height = format.bottom - format.top;
    // Some headers have even sizes only.
    if ((width != plan_.picture.width && width != plan_.picture.width + 1) || (height != plan_.picture.height && height != plan_.picture.height + 1))
        throw DecodingDoubt("the picture became " + size_text(width, height));
    if (format.luma_depth + 8 != plan_.depth || format.chroma_depth != format.luma_depth || format.chroma != cuvid::k420)
        throw DecodingDoubt("the headers have another depth or chroma");
    if (format.left < 0 || format.top < 0 || format.left % 2 != 0 || format.top % 2 != 0 ||
        format.right > static_cast<std::int64_t>(format.coded_width) ||
        format.bottom > static_cast<std::int64_t>(format.coded_height))
        throw DecodingDoubt("the part that is shown begins or ends where it can't");
    surfaces_ = format.least_surfaces + kDisplayDelay;
    cuvid::DecoderSettings settings{};
    settings.width = settings.most_width = settings.to_width = format.coded_width;
    settings.height = settings.most_height = settings.to_height = format.coded_height;
    settings.surfaces = static_cast<unsigned long>(surfaces_);
    settings.codec = plan_.codec;
    settings.chroma = format.chroma;
    settings.flags = cuvid::kPreferEngines;
    settings.depth_above_8 = format.luma_depth;
    settings.surface_format = plan_.depth == 8 ? cuvid::kNv12 : cuvid::kP016;
    settings.outputs = 1;
    check(plan_.functions.cuvidCreateDecoder(&decoder_, &settings), "its creation");
    format_ = format;
    return surfaces_;
}

void DecodeSession::show(const cuvid::ShownPicture& picture) {
    const auto found = fed_.find(picture.stamp);
    if (found == fed_.end()) throw DecodingDoubt("a picture came twice, or belongs to no packet");
    if (found != fed_.begin()) throw DecodingDoubt("a picture is missing, or not in its place");
    const Fed fed = found->second;
    fed_.erase(found);
    const cuvid::Functions& api = plan_.functions;
    cuvid::MapSettings how{};
    how.progressive = picture.progressive;
    how.top_first = picture.top_first;
    how.unpaired = picture.repeated < 0;
    how.stream = stream_;
    std::uint64_t surface = 0;
    unsigned pitch = 0;
    check(api.cuvidMapVideoFrame64(decoder_, picture.index, &surface, &pitch, &how), "a surface");
    try {
        cuvid::DecodeState state{};
        // Only some codecs have it.
        if (api.cuvidGetDecodeStatus(decoder_, picture.index, &state) == 0 &&
            (state.state == cuvid::kDamaged || state.state == cuvid::kConcealed))
            throw DecodingDoubt("the card's decoder met damage");
        if (!fed.hidden) {
            const int room = take_room_();
            if (room < 0) throw DecodingDoubt("decoding was ended");
            shown_.push_back({fed.number, {picture.stamp, room}});
            unpack(surface, pitch, room_of_(room));
        }
    } catch (...) {
        api.cuvidUnmapVideoFrame64(decoder_, surface);
        throw;
    }
    check(api.cuvidUnmapVideoFrame64(decoder_, surface), "a surface");
}

void DecodeSession::launch(cuvid::Handle kernel, unsigned x, unsigned y, unsigned threads, void** arguments) {
    check(plan_.functions.cuLaunchKernel(kernel, x, y, 1, threads, 1, 1, 0, stream_, arguments, nullptr), "a kernel");
}

void DecodeSession::unpack(std::uint64_t surface, unsigned pitch, const PictureRoom& room) {
    const int bytes = plan_.depth == 8 ? 1 : 2;
    const std::uint64_t across = static_cast<std::uint64_t>(format_.left) * bytes;
    // Chroma follows luma, and has as many samples in half as many rows.
    const std::uint64_t rows = format_.coded_height + format_.coded_height % 2;
    std::uint64_t luma = surface + static_cast<std::uint64_t>(pitch) * format_.top + across;
    std::uint64_t chroma = surface + static_cast<std::uint64_t>(pitch) * (rows + format_.top / 2) + across;
    int step = static_cast<int>(pitch), shift = plan_.depth == 8 ? 0 : kStoredBits - plan_.depth;
    auto plan = plan_.picture;
    std::uint64_t to = room.address, sums = room.sums;
    void* unpacked[] = {&luma, &chroma, &step, &to, &plan.luma_pitch, &plan.chroma_pitch, &plan.first_chroma,
                        &plan.second_chroma, &plan.width, &plan.height, &plan.chroma_width, &plan.chroma_height, &shift};
    launch(plan_.unpack, static_cast<unsigned>(plan.height), plan.chroma_width > 0 ? 2 : 1, kRowThreads, unpacked);
    void* summed[] = {&to, &plan.luma_pitch, &plan.width, &plan.height, &plan.cell_rows, &plan.cell_columns,
                      &plan.row_step, &sums};
    const unsigned cells = static_cast<unsigned>(plan.cell_rows) * static_cast<unsigned>(plan.cell_columns);
    launch(plan_.sum, cells, 1, kCellThreads, summed);
    const cuvid::Functions& api = plan_.functions;
    check(api.cuMemcpyDtoHAsync_v2(room.host, sums, cells * sizeof(std::uint64_t), stream_), "sums");
    check(api.cuEventRecord(done_, stream_), "an event");
    check(api.cuEventSynchronize(done_), "an event");
    plan_.sign(room.host, room.signature);
}

}  // namespace acuity
