// Ring and Bridge for Python. Arguments are positional only, which is fastest in nanobind; only Bridge.wait()
// releases the interpreter lock.
#include <nanobind/nanobind.h>

#include <chrono>

#include "bridge/bridge.h"

namespace nb = nanobind;

namespace acuity {
namespace {

Payload view(const nb::bytes& bytes) { return {static_cast<const std::byte*>(bytes.data()), bytes.size()}; }

nb::tuple unpack(const Envelope& envelope) {
    return nb::make_tuple(envelope.ticket, envelope.kind, nb::bytes(envelope.scratch, envelope.length));
}

bool ring_push(Ring& ring, std::uint64_t ticket, std::uint32_t kind, const nb::bytes& payload) {
    return ring.push(ticket, kind, view(payload));
}

nb::object ring_pop(Ring& ring) {
    const Envelope* envelope = ring.front();
    if (envelope == nullptr) return nb::none();
    nb::tuple out = unpack(*envelope);
    ring.pop();
    return out;
}

bool bridge_send(Bridge& bridge, std::uint64_t ticket, std::uint32_t kind, const nb::bytes& payload) {
    return bridge.send(ticket, kind, view(payload));
}

nb::list bridge_replies(Bridge& bridge) {
    bridge.clear();
    nb::list out;
    while (const Envelope* envelope = bridge.reply()) {
        out.append(unpack(*envelope));
        bridge.collect();
    }
    return out;
}

bool bridge_publish(Bridge& bridge, std::int64_t done) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return bridge.publish({done, std::chrono::duration<double>(now).count()});
}

nb::object bridge_take(Bridge& bridge) {
    const Envelope* envelope = bridge.command();
    if (envelope == nullptr) return nb::none();
    nb::tuple out = unpack(*envelope);
    bridge.take();
    return out;
}

void bridge_answer(Bridge& bridge, std::uint64_t ticket, std::uint32_t kind, const nb::bytes& payload) {
    bridge.answer(ticket, kind, view(payload));
}

bool bridge_wait(Bridge& bridge, double seconds) {
    if (!(seconds >= 0)) throw nb::value_error("the time to wait must be zero seconds or more");
    const bool found = bridge.wait<nb::gil_scoped_release>(seconds);
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return found;
}

nb::tuple bridge_status(const Bridge& bridge) {
    const Standing s = bridge.status();
    return nb::make_tuple(s.done, s.time);
}

}  // namespace

void bind_bridge(nb::module_& m) {
    m.attr("PAYLOAD_BYTES") = kPayload;

    nb::class_<Ring>(m, "Ring",
        "Envelopes of (ticket, kind, payload) from one pushing thread to one popping thread; neither waits.\n\n"
        "All its memory is taken when it is made. Raises ValueError unless the depth is a power of two, 2 to "
        "65536.")
        .def(nb::init<std::int64_t>())
        .def("push", &ring_push,
             "False when the ring is full; ValueError when the payload is longer than PAYLOAD_BYTES.")
        .def("pop", &ring_pop, nb::sig("def pop(self) -> tuple[int, int, bytes] | None"),
             "The oldest envelope, or None.")
        .def("__len__", &Ring::size)
        .def_prop_ro("depth", &Ring::depth);

    nb::class_<Bridge>(m, "Bridge",
        "Commands, replies and a status between a server's thread and a measuring one; see native/bridge.\n\n"
        "Nothing here waits or takes a lock, but wait(). After close(), and in a forked child, methods raise\n"
        "ClosedError; status(), the counts and close() itself still answer.")
        .def(nb::init<std::int64_t>())
        .def("send", &bridge_send, "Send a command. False: queue_depth commands are outstanding, and nothing was sent.")
        .def("replies", &bridge_replies, nb::sig("def replies(self) -> list[tuple[int, int, bytes]]"),
             "All replies so far, as (ticket, kind, payload); first makes fileno() unreadable.")
        .def("fileno", &Bridge::descriptor, "A descriptor that is readable when there may be replies.")
        .def("publish", &bridge_publish,
             "Publish the number of frames done, at a frame boundary. True: there are commands to take.")
        .def("take", &bridge_take, nb::sig("def take(self) -> tuple[int, int, bytes] | None"),
             "The oldest command as (ticket, kind, payload), or None. Each one taken must be answered once.")
        .def("answer", &bridge_answer,
             "Reply to a command that was taken; there is always room. RuntimeError if none is unanswered.")
        .def("wait", &bridge_wait,
             "Sleep until there is a command (True), the time is over or interrupt() was called (False).")
        .def("status", &bridge_status, nb::sig("def status(self) -> tuple[int, float]"),
             "The frames done and the time.monotonic() that were published last.")
        .def("interrupt", &Bridge::interrupt, "End a wait() in progress, or else the next one.")
        .def("close", &Bridge::close,
             "Close the descriptors and end a wait() in progress; may be called again.\n\n"
             "An event loop must stop watching fileno() first.")
        .def_prop_ro("closed", &Bridge::closed)
        .def_prop_ro("depth", &Bridge::depth)
        .def_prop_ro("waiting", &Bridge::waiting, "The number of commands that are not taken yet.")
        .def_prop_ro("outstanding", &Bridge::outstanding, "The number of commands whose replies are not collected yet.")
        .def_prop_ro("refused", &Bridge::refused, "The number of commands that send() refused.");
}

}  // namespace acuity
