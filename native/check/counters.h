// What the processor counts of this thread while it runs code of the program's own.
#pragma once

namespace acuity::check {

struct Counts {
    double cycles = 0, instructions = 0;
};

class Counters {
  public:
    Counters();
    ~Counters();
    Counters(const Counters&) = delete;
    Counters& operator=(const Counters&) = delete;

    // Whether the system lets this process count: /proc/sys/kernel/perf_event_paranoid is 2 or less, and the machine
    // has counters, as many virtual ones don't.
    bool counting() const { return instructions_ >= 0; }

    // Since the program started counting.
    Counts read() const;

  private:
    int cycles_ = -1, instructions_ = -1;  // files
};

}  // namespace acuity::check
