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

    nb::class_<Ring>(m, "Ring")
        .def(nb::init<std::int64_t>())
        .def("push", &ring_push)
        .def("pop", &ring_pop)
        .def("__len__", &Ring::size)
        .def_prop_ro("depth", &Ring::depth);

    nb::class_<Bridge>(m, "Bridge")
        .def(nb::init<std::int64_t>())
        .def("send", &bridge_send)
        .def("replies", &bridge_replies)
        .def("fileno", &Bridge::descriptor)
        .def("publish", &bridge_publish)
        .def("take", &bridge_take)
        .def("answer", &bridge_answer)
        .def("wait", &bridge_wait)
        .def("status", &bridge_status)
        .def("interrupt", &Bridge::interrupt)
        .def("close", &Bridge::close)
        .def_prop_ro("closed", &Bridge::closed)
        .def_prop_ro("depth", &Bridge::depth)
        .def_prop_ro("waiting", &Bridge::waiting)
        .def_prop_ro("outstanding", &Bridge::outstanding)
        .def_prop_ro("refused", &Bridge::refused);
}

}  // namespace acuity
