// What FFmpeg's decoders log about damaged pictures, counted in whichever of their threads.
#pragma once

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstring>

namespace acuity {

inline std::atomic<std::int64_t> damage_logged{0};

// A function for av_log_set_callback(): it writes nothing.
inline void count_damage(void*, int, const char* format, std::va_list) {
    for (const char* start : {"error while decoding MB", "concealing "})
        if (std::strncmp(format, start, std::strlen(start)) == 0) damage_logged.fetch_add(1);
}

}  // namespace acuity
