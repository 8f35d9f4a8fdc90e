#include "reading/file_reads.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace acuity {

namespace {

// Signals are for the threads of the program: one that interrupts a read would only be retried.
class NoSignals {
  public:
    NoSignals() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_;
};

}  // namespace

FileReads::FileReads(int descriptor, FramePlaces places, int threads, int wake, Finish finish)
    : descriptor_(descriptor),
      places_(std::move(places)),
      wake_(static_cast<std::size_t>(std::max(wake, 1))),
      finish_(std::move(finish)),
      process_(getpid()) {
    const NoSignals blocked;
    threads_.reserve(static_cast<std::size_t>(threads));
    try {
        while (static_cast<int>(threads_.size()) < threads) threads_.emplace_back(&FileReads::work, this);
    } catch (const std::system_error&) {  // the system's limit; the threads that it allows do it too
        if (threads_.empty()) throw;
    }
}

FileReads::~FileReads() {
    stop();
    join();
}

void FileReads::Ending::operator()(FileReads* reads) const {
    if (!reads->forked()) {
        delete reads;
    } else if (!reads->joined_) {
        ::close(reads->descriptor_);
    }
}

bool FileReads::forked() const { return getpid() != process_; }

void FileReads::give(unsigned char* room, float* signature) {
    if (forked()) return;
    const std::lock_guard held(lock_);
    items_.push_back({room, signature, Found::nothing});
    if (items_.size() - static_cast<std::size_t>(next_ - first_) >= wake_) wake_readers();
}

void FileReads::take() {
    if (forked()) return;
    const std::lock_guard held(lock_);
    if (items_.empty()) return;
    items_.pop_front();
    ++first_;
}

void FileReads::stop() {
    if (forked()) return;
    const std::lock_guard held(lock_);
    stopped_ = true;
    room_.notify_all();
    news_.notify_all();
}

void FileReads::join() {
    if (forked() || joined_) return;
    joined_ = true;
    for (std::thread& thread : threads_) thread.join();
    ::close(descriptor_);
}

// One of the sleeping threads: it wakes the next if there is more to do.
void FileReads::wake_readers() {
    if (sleeping_ > 0) room_.notify_one();
}

void FileReads::work() {
    std::unique_lock held(lock_);
    const auto wanted = [this] { return stopped_ || static_cast<std::size_t>(next_ - first_) < items_.size(); };
    while (true) {
        if (!wanted()) {
            ++sleeping_;
            room_.wait(held, wanted);
            --sleeping_;
        }
        if (stopped_) return;
        const std::int64_t number = next_++;
        Item& item = items_[static_cast<std::size_t>(number - first_)];
        if (wanted()) wake_readers();
        held.unlock();
        const Found found = read(item, number);
        held.lock();
        item.found = found;
        if (waiting_ && number == first_) news_.notify_one();
    }
}

Found FileReads::read(const Item& item, std::int64_t number) const {
    const std::int64_t place = places_.first + number * places_.step;
    std::size_t done = 0;
    while (done < places_.bytes) {
        const ssize_t count = pread(descriptor_, item.room + done, places_.bytes - done,
                                    static_cast<off_t>(place + static_cast<std::int64_t>(done)));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return Found::odd;
        done += static_cast<std::size_t>(count);
    }
    if (std::memcmp(item.room, places_.marker.data(), places_.marker.size()) != 0) return Found::odd;
    try {
        if (finish_) finish_(number, item.room, item.signature);
    } catch (...) {  // there is no memory for it: the taker of the frame tries again, and says so
        return Found::odd;
    }
    return Found::frame;
}

}  // namespace acuity
