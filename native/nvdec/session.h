// One decoder of the card: packets in, pictures in memory of their own out, in the order of presentation.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <stdexcept>
#include <vector>

#include "nvdec/cuvid.h"

namespace acuity {

// The card may show something else than another decoder would.
struct DecodingDoubt : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct CodedPacket {
    std::vector<std::uint8_t> bytes;
    std::int64_t stamp;  // the time, which is positive and of this packet alone
    bool hidden;         // decoded for others, but not shown
};

// Memory of one picture: on the card, with the sums of its cells, and room for these in the machine's memory, which
// is page-locked, and for its signature.
struct PictureRoom {
    std::uint64_t address, sums;
    std::uint64_t* host;
    float* signature;
};

struct DecodedPicture {
    std::int64_t stamp;
    int room;  // its number
};

// How unpacked pictures lie in memory, and the cells of their signatures.
struct PicturePlan {
    int width, height;
    int luma_pitch, chroma_pitch;
    std::int64_t first_chroma, second_chroma;  // from the start of a picture
    int chroma_width, chroma_height;           // 0: only luma is unpacked
    int cell_rows, cell_columns, row_step;
};

// How pictures are decoded and unpacked.
struct DecodingPlan {
    cuvid::Functions functions;
    cuvid::Handle context;
    int codec;  // the driver's number
    int depth;
    PicturePlan picture;
    cuvid::Handle unpack, sum;                 // kernels
    std::function<void(const std::uint64_t* sums, float* signature)> sign;
};

// Used by one thread. Pictures are handed out when every packet before theirs was shown undamaged, because a damaged
// picture may be shown after others that refer to it. All methods throw DecodingDoubt.
class DecodeSession {
  public:
    using TakeRoom = std::function<int()>;  // the number of free room, after waiting for it; -1: it is over
    using RoomOf = std::function<PictureRoom(int)>;

    DecodeSession(const DecodingPlan& plan, TakeRoom take_room, RoomOf room_of);
    ~DecodeSession();
    DecodeSession(const DecodeSession&) = delete;
    DecodeSession& operator=(const DecodeSession&) = delete;

    // The pictures that are certain by now.
    std::vector<DecodedPicture> decode(const CodedPacket& packet);
    // Those that are left; after that, packets may begin another part of the video.
    std::vector<DecodedPicture> flush();

  private:
    struct Fed {
        std::int64_t number;
        bool hidden;
    };
    struct Shown {
        std::int64_t number;
        DecodedPicture picture;
    };

    void parse(const CodedPacket* packet);
    std::vector<DecodedPicture> certain();
    int begin_sequence(const cuvid::VideoFormat& format);
    void show(const cuvid::ShownPicture& picture);
    void unpack(std::uint64_t surface, unsigned pitch, const PictureRoom& room);
    void check(cuvid::Status status, const char* what) const;
    void launch(cuvid::Handle kernel, unsigned x, unsigned y, unsigned threads, void** arguments);
    template <class Work>
    int guarded(Work work);
    void release();

    const DecodingPlan& plan_;
    const TakeRoom take_room_;
    const RoomOf room_of_;
    cuvid::Handle stream_ = nullptr, done_ = nullptr, parser_ = nullptr, decoder_ = nullptr;
    cuvid::VideoFormat format_{};
    int surfaces_ = 0;
    std::int64_t number_ = 0;
    std::map<std::int64_t, Fed> fed_;  // by stamp, those not shown yet
    std::deque<Shown> shown_;          // that aren't handed out yet
    std::exception_ptr error_;         // of a function that the parser called
};

}  // namespace acuity
