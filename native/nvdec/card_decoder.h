// Several decoders of the card for one video: it is split where decoding may begin anew.
//
// Every part is decoded by one session, the next part by the next session, and the pictures come out in order: those of
// one session. Each session has a thread of its own. What is decoded ahead is bounded, and so is what waits to be
// decoded. One thread feeds packets, gives room and takes pictures; any may give a picture's room back.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "nvdec/session.h"

namespace acuity {

class CardDecoder {
  public:
    // At most so many sessions, and pictures that wait to be taken.
    CardDecoder(DecodingPlan plan, int sessions, int most);
    ~CardDecoder();
    // Deletes it, but not in a forked process, which doesn't have the threads.
    struct Ending {
        void operator()(CardDecoder* decoder) const;
    };
    CardDecoder(const CardDecoder&) = delete;
    CardDecoder& operator=(const CardDecoder&) = delete;

    // A packet, and whether decoding may begin with it. Throws std::system_error if the system starts no thread.
    void feed(CodedPacket packet, bool anew);
    // No more packets will come.
    void end();
    // The next pictures, at most so many; if there are none and it `waits`, it returns when there are some, when all
    // were taken, or when room is wanted. Throws DecodingDoubt.
    std::vector<DecodedPicture> take(std::size_t most, bool waits);
    // Whether all pictures were taken.
    bool finished() const;
    // Whether enough waits to be decoded and taken.
    bool far_ahead() const;

    // Whether pictures wait for room: give() more, or none if there is no more. Then the part that pictures are taken
    // from gets the room that is left, and waits for room that is given back; after too long it is a doubt.
    bool wants_room() const { return wants_room_.load(); }
    void give(const std::vector<PictureRoom>& rooms);
    // The room of a picture may be used anew.
    void give_back(int room);

    // Ends the threads, which gives their decoders back. May be called again.
    void close();

  private:
    struct Lane;
    // Packets that are decoded by one session, and the pictures of them that were not taken yet.
    struct Part {
        Lane* lane;
        std::deque<CodedPacket> packets;
        std::deque<DecodedPicture> pictures;
        int count = 0;          // packets that it was given
        bool complete = false;  // no more packets will come
        bool done = false;      // no more pictures will come
    };
    struct Lane {
        std::condition_variable changed;  // packets, or room for pictures
        std::deque<Part*> parts;          // to be decoded
        Part* decoded = nullptr;          // just now
        std::thread thread;
    };

    Part& begin_part();
    void work(Lane& lane);
    void decode_parts(Lane& lane);
    Part* next_part(Lane& lane);
    std::optional<CodedPacket> next_packet(Part& part);
    void add(Part& part, const std::vector<DecodedPicture>& pictures, bool hidden, bool done);
    int take_room(const Part& part);
    bool is_first(const Part& part) const { return !parts_.empty() && parts_.front().get() == &part; }
    bool has_room(const Part& part) const;
    bool far_ahead_locked() const;
    void wake_all();

    const DecodingPlan plan_;
    const int sessions_;
    const std::size_t most_;
    const pid_t process_;
    mutable std::mutex mutex_;
    std::condition_variable news_;              // for take()
    std::deque<std::unique_ptr<Part>> parts_;   // from the one that pictures are taken from on
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::deque<PictureRoom> rooms_;             // never moved once they are given
    std::deque<int> free_;                      // their numbers
    std::atomic<bool> wants_room_{false};
    bool no_more_room_ = false;
    std::size_t waiting_ = 0;                   // pictures that were not taken yet
    std::size_t bytes_ = 0;                     // of packets that wait
    std::size_t packets_ = 0;                   // whose pictures were not taken yet
    int made_ = 0;                              // parts
    bool ended_ = false, stopped_ = false;
    std::exception_ptr error_;
};

}  // namespace acuity
