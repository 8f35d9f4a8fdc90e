#include "nvdec/card_decoder.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace acuity {

namespace {

// So many pictures of the current part, which pictures are taken from, may always be decoded ahead.
constexpr std::size_t kAtLeast = 8;
// Parts of fewer packets are joined: a decoder that ends a part has to begin anew.
constexpr int kShortest = 24;
constexpr std::size_t kBytes = 128u << 20;  // of packets that wait
// Room that is left to the current part. Of its pictures some wait for others (as many as there are B frames in a row,
// at most 16), and the taker keeps a few to look back at.
constexpr std::size_t kReserve = 24;
// How long a picture waits for room where no more is given.
constexpr std::chrono::seconds kNoRoom{30};

}  // namespace

CardDecoder::CardDecoder(DecodingPlan plan, int sessions, int most)
    : plan_(std::move(plan)),
      sessions_(std::max(sessions, 1)),
      most_(std::max<std::size_t>(static_cast<std::size_t>(std::max(most, 0)), kAtLeast)),
      process_(getpid()) {}

CardDecoder::~CardDecoder() { close(); }

void CardDecoder::Ending::operator()(CardDecoder* decoder) const {
    if (decoder->process_ == getpid()) delete decoder;
}

void CardDecoder::feed(CodedPacket packet, bool anew) {
    const std::scoped_lock lock(mutex_);
    Part* part = parts_.empty() ? nullptr : parts_.back().get();
    if (part == nullptr || part->complete || (anew && sessions_ > 1 && part->count >= kShortest)) {
        if (part != nullptr) {
            part->complete = true;
            part->lane->changed.notify_one();
        }
        part = &begin_part();
    }
    part->count++;
    packets_++;
    bytes_ += packet.bytes.size();
    part->packets.push_back(std::move(packet));
    part->lane->changed.notify_one();
}

void CardDecoder::end() {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    if (!parts_.empty()) parts_.back()->complete = true;
    for (const auto& lane : lanes_) lane->changed.notify_one();
    news_.notify_one();
}

CardDecoder::Part& CardDecoder::begin_part() {
    const std::size_t number = static_cast<std::size_t>(made_++ % sessions_);
    if (number == lanes_.size()) {
        auto lane = std::make_unique<Lane>();
        lane->thread = std::thread([this, made = lane.get()] { work(*made); });
        lanes_.push_back(std::move(lane));
    }
    Lane& lane = *lanes_[number];
    parts_.push_back(std::make_unique<Part>());
    Part& part = *parts_.back();
    part.lane = &lane;
    lane.parts.push_back(&part);
    lane.changed.notify_one();
    return part;
}

std::vector<DecodedPicture> CardDecoder::take(std::size_t most, bool waits) {
    std::unique_lock lock(mutex_);
    for (;;) {
        if (error_) std::rethrow_exception(error_);
        // A part that is done was left by its session.
        while (!parts_.empty() && parts_.front()->done && parts_.front()->pictures.empty()) {
            parts_.pop_front();
            wake_all();  // another part is the first
        }
        if (!parts_.empty() && !parts_.front()->pictures.empty()) break;
        if (stopped_ || !waits || wants_room_ || (ended_ && parts_.empty())) return {};
        news_.wait(lock);
    }
    std::deque<DecodedPicture>& pictures = parts_.front()->pictures;
    const std::size_t count = std::min(most, pictures.size());
    const std::vector<DecodedPicture> found(pictures.begin(), pictures.begin() + static_cast<std::ptrdiff_t>(count));
    pictures.erase(pictures.begin(), pictures.begin() + static_cast<std::ptrdiff_t>(count));
    waiting_ -= count;
    packets_ -= count;
    wake_all();
    return found;
}

bool CardDecoder::finished() const {
    const std::scoped_lock lock(mutex_);
    return stopped_ || (ended_ && std::all_of(parts_.begin(), parts_.end(), [](const auto& part) {
                            return part->done && part->pictures.empty();
                        }));
}

bool CardDecoder::far_ahead() const {
    const std::scoped_lock lock(mutex_);
    return far_ahead_locked();
}

bool CardDecoder::far_ahead_locked() const {
    return waiting_ >= most_ || bytes_ >= kBytes || packets_ >= most_ + 2 * kShortest;
}

void CardDecoder::give(const std::vector<PictureRoom>& rooms) {
    const std::scoped_lock lock(mutex_);
    no_more_room_ = rooms.empty();
    for (const PictureRoom& room : rooms) {
        free_.push_back(static_cast<int>(rooms_.size()));
        rooms_.push_back(room);
    }
    wants_room_ = false;
    wake_all();
}

void CardDecoder::give_back(int room) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(room);
    if (wants_room_ || no_more_room_) {
        wants_room_ = false;
        wake_all();
    }
}

void CardDecoder::close() {
    {
        const std::scoped_lock lock(mutex_);
        stopped_ = true;
        wake_all();
        news_.notify_all();
    }
    for (const auto& lane : lanes_)
        if (lane->thread.joinable()) lane->thread.join();
}

void CardDecoder::wake_all() {
    for (const auto& lane : lanes_) lane->changed.notify_one();
}

// ---- in the threads -------------------------------------------------------------------------

void CardDecoder::work(Lane& lane) {
    try {
        decode_parts(lane);
    } catch (...) {
        const std::scoped_lock lock(mutex_);
        if (!error_) error_ = std::current_exception();
        news_.notify_all();
    }
}

void CardDecoder::decode_parts(Lane& lane) {
    DecodeSession session(
        plan_, [&] { return take_room(*lane.decoded); },
        [&](int room) {
            const std::scoped_lock lock(mutex_);
            return rooms_[static_cast<std::size_t>(room)];
        });
    while (Part* part = next_part(lane)) {
        lane.decoded = part;
        while (const std::optional<CodedPacket> packet = next_packet(*part))
            add(*part, session.decode(*packet), packet->hidden, false);
        {
            const std::scoped_lock lock(mutex_);
            if (stopped_) return;
        }
        add(*part, session.flush(), false, true);
    }
}

// The next part; none if no more will come.
CardDecoder::Part* CardDecoder::next_part(Lane& lane) {
    std::unique_lock lock(mutex_);
    lane.changed.wait(lock, [&] { return stopped_ || ended_ || !lane.parts.empty(); });
    if (stopped_ || lane.parts.empty()) return nullptr;
    Part* part = lane.parts.front();
    lane.parts.pop_front();
    return part;
}

// The next packet; none at the part's end, or if it is of no use any more.
std::optional<CodedPacket> CardDecoder::next_packet(Part& part) {
    std::unique_lock lock(mutex_);
    part.lane->changed.wait(lock, [&] {
        return stopped_ || (part.packets.empty() ? part.complete : has_room(part));
    });
    if (stopped_ || part.packets.empty()) return std::nullopt;
    std::optional<CodedPacket> packet(std::move(part.packets.front()));
    part.packets.pop_front();
    bytes_ -= packet->bytes.size();
    return packet;
}

bool CardDecoder::has_room(const Part& part) const {
    return waiting_ < most_ || (is_first(part) && part.pictures.size() < kAtLeast);
}

void CardDecoder::add(Part& part, const std::vector<DecodedPicture>& pictures, bool hidden, bool done) {
    const std::scoped_lock lock(mutex_);
    part.pictures.insert(part.pictures.end(), pictures.begin(), pictures.end());
    waiting_ += pictures.size();
    packets_ -= hidden;
    part.done = done;
    if ((!pictures.empty() || done) && is_first(part)) news_.notify_one();
}

int CardDecoder::take_room(const Part& part) {
    std::unique_lock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + kNoRoom;
    while (!stopped_ && free_.size() <= (is_first(part) ? 0 : kReserve)) {
        if (!no_more_room_) {
            wants_room_ = true;
            news_.notify_one();
        }
        if (!no_more_room_ || !is_first(part)) {
            part.lane->changed.wait(lock);
        } else if (part.lane->changed.wait_until(lock, deadline) == std::cv_status::timeout) {
            throw DecodingDoubt("the card has no memory left for its pictures");
        }
    }
    if (stopped_) return -1;
    const int room = free_.front();
    free_.pop_front();
    return room;
}

}  // namespace acuity
