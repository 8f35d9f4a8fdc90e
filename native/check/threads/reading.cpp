#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "reading/file_reads.h"
#include "threads.h"

namespace acuity::check {
namespace {

constexpr std::size_t kBytes = 500;
constexpr char kMarker[] = "MARK";

struct Nothing {};

using Frame = std::vector<unsigned char>;

Frame frame_of(std::int64_t number) {
    Frame frame(kBytes);
    std::memcpy(frame.data(), kMarker, 4);
    for (std::size_t i = 4; i < kBytes; ++i) frame[i] = static_cast<unsigned char>(number * 31 + static_cast<int>(i) * 7);
    return frame;
}

// A file without a name, with frames of which every 50th has another marker.
int file_of(std::int64_t frames) {
    std::FILE* file = std::tmpfile();
    if (file == nullptr) std::abort();
    for (std::int64_t number = 0; number < frames; ++number) {
        Frame frame = frame_of(number);
        if (number % 50 == 49) frame[0] = 'X';
        std::fwrite(frame.data(), 1, frame.size(), file);
    }
    std::fflush(file);
    const int descriptor = dup(fileno(file));
    std::fclose(file);
    return descriptor;
}

}  // namespace

// One thread takes what several read: every frame once, in order and complete, up to the file's end.
void check_reading(std::int64_t frames, int threads, int ahead, int wake) {
    const auto finish = [](std::int64_t number, const unsigned char* frame, float* signature) {
        *signature = static_cast<float>(frame[4]) + static_cast<float>(number);
    };
    FileReads reads(file_of(frames), {0, kBytes, kBytes, kMarker}, threads, wake, finish);
    std::vector<Frame> rooms(static_cast<std::size_t>(ahead), Frame(kBytes));
    std::vector<float> signatures(rooms.size());
    for (std::size_t i = 0; i < rooms.size(); ++i) reads.give(rooms[i].data(), &signatures[i]);
    for (std::int64_t number = 0;; ++number) {
        const double since = seconds();
        Found found = Found::nothing;
        while (found == Found::nothing && seconds() - since < kTooLong)
            found = reads.look<Nothing>(std::chrono::duration<double>(kTooLong));
        expect_awake(since, "no frame is slept through");
        if (number == frames) {
            expect(found == Found::odd, "the end is odd");
            break;
        }
        const std::size_t at = static_cast<std::size_t>(number) % rooms.size();
        if (number % 50 == 49) {
            expect(found == Found::odd, "another marker is odd", static_cast<std::uint64_t>(number));
        } else {
            expect(found == Found::frame, "a frame is found", static_cast<std::uint64_t>(number));
            expect(rooms[at] == frame_of(number), "a frame is complete", static_cast<std::uint64_t>(number));
            expect(signatures[at] == static_cast<float>(rooms[at][4]) + static_cast<float>(number), "a frame is signed");
        }
        reads.take();
        reads.give(rooms[at].data(), &signatures[at]);
    }
}

// Threads that are stopped while they read, and while nobody has given them room.
void check_leaving(int rounds) {
    for (int round = 0; round < rounds; ++round) {
        std::vector<Frame> rooms(8, Frame(kBytes));
        FileReads reads(file_of(20), {0, kBytes, kBytes, kMarker}, 3, 1, nullptr);
        for (int i = 0; i < round % 9; ++i) reads.give(rooms[static_cast<std::size_t>(i)].data(), nullptr);
        if (round % 2 == 0 && round % 9 > 0) reads.look<Nothing>(std::chrono::duration<double>(kTooLong));
        reads.stop();
        expect(reads.look<Nothing>(std::chrono::duration<double>(kTooLong)) == Found::end, "what was stopped has ended");
    }
}

}  // namespace acuity::check
