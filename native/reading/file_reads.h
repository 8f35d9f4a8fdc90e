// Frames at known places of a file, read ahead by threads of its own into memory that is given.
//
// One thread gives room for frames and takes them in order; as many frames are ahead as it has given room for. A frame
// that isn't as expected (another marker, too few bytes, an error) comes as `odd`: the taker reads it again and says
// what is wrong.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace acuity {

// Where the frames are: frame n at first + n * step.
struct FramePlaces {
    std::int64_t first, step;
    std::size_t bytes;   // of each, its marker included
    std::string marker;  // what each begins with
};

// nothing: not there yet; end: the reads were stopped.
enum class Found { frame, odd, end, nothing };

class FileReads {
  public:
    // What is done with each frame after it was read, by the thread that read it.
    using Finish = std::function<void(std::int64_t number, const unsigned char* frame, float* signature)>;

    // Closes the descriptor at the end. Sleeping threads are woken when there is room for `wake` frames, or when
    // somebody waits. Throws std::system_error, and closes nothing, if the system starts no thread.
    FileReads(int descriptor, FramePlaces places, int threads, int wake, Finish finish);
    ~FileReads();
    // Deletes them, but not in a forked process: the parent's threads, and what they wait for, can't be ended there.
    struct Ending {
        void operator()(FileReads* reads) const;
    };
    FileReads(const FileReads&) = delete;
    FileReads& operator=(const FileReads&) = delete;

    // Room for the next frame, and for its signature if `finish` makes one.
    void give(unsigned char* room, float* signature);

    // Whether the first frame that wasn't taken is there; waits for it at most so long, without the `Unlocked`.
    // In a forked process, which doesn't have the threads, every frame is odd.
    template <class Unlocked>
    Found look(std::chrono::duration<double> most);
    // Takes out the frame that look() has found.
    void take();

    // Asks the threads to end; join() waits for them and closes the descriptor. Both may be called again.
    void stop();
    void join();

    bool forked() const;
    int threads() const { return static_cast<int>(threads_.size()); }

  private:
    struct Item {
        unsigned char* room;
        float* signature;
        Found found;
    };

    void work();
    Found read(const Item& item, std::int64_t number) const;
    void wake_readers();

    const int descriptor_;
    const FramePlaces places_;
    const std::size_t wake_;
    const Finish finish_;
    const pid_t process_;

    std::mutex lock_;
    std::condition_variable room_, news_;
    std::deque<Item> items_;   // given and not taken: references stay valid while others come and go
    std::int64_t first_ = 0;   // the number of the first of them
    std::int64_t next_ = 0;    // and of the next that a thread reads
    int sleeping_ = 0;         // threads
    bool waiting_ = false;     // somebody waits for the first
    bool stopped_ = false;
    bool joined_ = false;
    std::vector<std::thread> threads_;
};

template <class Unlocked>
Found FileReads::look(std::chrono::duration<double> most) {
    if (forked()) return Found::odd;
    std::unique_lock held(lock_);
    const auto there = [this] { return stopped_ || items_.empty() || items_.front().found != Found::nothing; };
    if (!there() && most.count() > 0) {
        waiting_ = true;
        wake_readers();
        held.unlock();
        {
            [[maybe_unused]] Unlocked unlocked;
            std::unique_lock waits(lock_);
            news_.wait_for(waits, most, there);
            waiting_ = false;
        }
        held.lock();
    }
    if (stopped_) return Found::end;
    return items_.empty() ? Found::nothing : items_.front().found;
}

}  // namespace acuity
