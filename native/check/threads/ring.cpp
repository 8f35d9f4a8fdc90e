#include <thread>

#include "threads.h"

namespace acuity::check {

void check_ring(std::uint64_t messages, std::int64_t depth) {
    Ring ring(depth);
    std::thread consumer([&] {
        for (std::uint64_t next = 0; next < messages;) {
            const Envelope* envelope = ring.front();
            if (envelope == nullptr) {
                std::this_thread::yield();
                continue;
            }
            expect_sample(*envelope, next, kind_of(next));
            ring.pop();
            ++next;
        }
    });
    for (std::uint64_t next = 0; next < messages;) {
        if (ring.push(next, kind_of(next), Sample(next).payload()))
            ++next;
        else
            std::this_thread::yield();
        if (next % 64 == 0) expect(ring.size() <= ring.depth(), "the size stays within the depth", next);
    }
    consumer.join();
    expect(ring.size() == 0, "the ring is empty at the end");
}

void check_published(std::int64_t rounds) {
    Published<Standing> published(standing(0));
    std::atomic<bool> over{false};
    const auto read = [&] {
        for (std::int64_t before = 0; !over.load();) {
            const Standing s = published.read();
            expect(s.time == static_cast<double>(s.done), "what is read was published together",
                   static_cast<std::uint64_t>(s.done));
            expect(s.done >= before, "what is read never goes back", static_cast<std::uint64_t>(s.done));
            before = s.done;
        }
    };
    std::thread first(read), second(read);
    for (std::int64_t n = 1; n <= rounds; ++n) published.write(standing(n));
    over = true;
    first.join();
    second.join();
    expect(published.read().done == rounds, "the last one stays");
}

void check_wakeup(std::int64_t signals) {
    Wakeup wakeup;
    std::atomic<std::int64_t> work{0}, done{0};
    std::thread sleeper([&] {
        while (done.load() < signals) {
            sleep_until_readable(wakeup.descriptor(), "no signal is slept through");
            wakeup.clear();
            done = work.load();
        }
    });
    for (std::int64_t n = 1; n <= signals; ++n) {
        work = n;
        wakeup.signal();
        while (done.load() + 64 < n) std::this_thread::yield();  // so that the two keep meeting
    }
    sleeper.join();
}

}  // namespace acuity::check
