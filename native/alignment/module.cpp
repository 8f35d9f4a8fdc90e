// Track for Python. Its calls are short, so they keep the interpreter lock.
#include <nanobind/stl/tuple.h>

#include <algorithm>

#include "alignment/track.h"
#include "core/binding.h"

namespace acuity {

namespace {

using Signature = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Floats = nb::ndarray<nb::numpy, const float, nb::ndim<2>>;
using Doubles = nb::ndarray<nb::numpy, const double, nb::ndim<1>>;
using Errors = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Costs = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The values of signatures, which have `cells` each, or as many as the first where that is 0.
class Values {
  public:
    Values(const nb::list& signatures, int cells) {
        for (const nb::handle item : signatures) {
            held_.push_back(nb::cast<Signature>(item));
            const std::size_t size = held_.back().shape(0);
            if (cells == 0) cells = static_cast<int>(size);
            if (size != static_cast<std::size_t>(cells) || size == 0)
                throw nb::value_error("all signatures have as many cells as the first");
            at_.push_back(held_.back().data());
        }
        cells_ = cells;
    }
    std::span<const float* const> at() const { return at_; }
    int cells() const { return cells_; }

  private:
    std::vector<Signature> held_;
    std::vector<const float*> at_;
    int cells_;
};

void extend(Track& track, const nb::list& ref, const nb::list& dis) {
    const Values ours(ref, track.cells()), theirs(dis, ours.cells());
    if (ours.at().size() != theirs.at().size() || ours.at().size() > static_cast<std::size_t>(track.room() / 2))
        throw nb::value_error("pairs have as many frames of one video as of the other, and come a few at a time");
    if (track.cells() == 0 && !ours.at().empty()) track.open(ours.cells());
    track.extend(ours.at(), theirs.at());
}

void add_rest(Track& track, const nb::list& ref, const nb::list& dis) {
    const Values ours(ref, track.cells()), theirs(dis, track.cells());
    const auto most = static_cast<std::size_t>(track.room() / 2);
    if (track.cells() == 0 || std::max(ours.at().size(), theirs.at().size()) > most)
        throw nb::value_error("only a few frames follow the last pair");
    track.add_rest(ours.at(), theirs.at());
}

// Refuses frames whose row, counted from the first that is kept, isn't there.
void check(const Track& track, int frame, int fewest = 0) {
    if (frame - track.first() < fewest || frame >= track.end()) throw nb::index_error("the frame isn't kept");
}

void errors(const nb::list& ones, const nb::list& others, int band, const Costs& out) {
    const Values ours(ones, 0), theirs(others, ours.cells());
    const std::size_t rows = ours.at().size(), columns = band > 0 ? static_cast<std::size_t>(band) : theirs.at().size();
    if (out.shape(0) != rows * columns) throw nb::value_error("each pair of signatures has an error");
    nb::gil_scoped_release released;
    mean_squared_errors(ours.at(), theirs.at(), ours.cells(), band, out.data());
}

int advance(Track& track, int frame, int limit, bool watchful) {
    if (frame < limit) {
        check(track, frame);
        check(track, limit - 1);
    }
    return track.advance(frame, limit, watchful);
}

void costs(const Track& track, const Errors& errors, double weight, const Costs& out) {
    if (errors.shape(0) == 0 || errors.shape(0) != out.shape(0)) throw nb::value_error("each error has a cost");
    track.costs({errors.data(), errors.shape(0)}, weight, out.data());
}

template <float* (Track::*rows)()>
Floats signatures(nb::handle_t<Track> self) {
    Track& track = nb::cast<Track&>(self);
    const auto room = static_cast<std::size_t>(track.room()), cells = static_cast<std::size_t>(track.cells());
    return Floats((track.*rows)(), {track.cells() == 0 ? 0 : room, cells}, self);
}

template <const std::vector<double>& (Track::*figures)() const>
Doubles view(nb::handle_t<Track> self) {
    const std::vector<double>& values = (nb::cast<const Track&>(self).*figures)();
    return Doubles(values.data(), {values.size()}, self);
}

}  // namespace

void bind_alignment(nb::module_& m) {
    m.def("mean_squared_errors", &errors, "ones"_a, "others"_a, "band"_a, "out"_a,
          "The mean squared error of each signature against each other; with a band, of row i against i and on.");
    nb::class_<Track>(m, "Track",
        "The last pairs of signatures with figures of each, and the cheapest path through lags of a few frames.\n\n"
        "Frames count from the first pair ever added. The arrays show its own memory: rows of signatures, from\n"
        "frame `first` on and room for more, and the figures of each row that there is.")
        .def("__init__",
             [](Track* self, int kept, int reach, int traced, double floor, double alike, double most, double jump) {
                 if (kept < 1 || reach < 1 || traced < 1 || kept > 100000 || reach > 1000 || traced > 100000)
                     throw nb::value_error("a track keeps some frames, and not too many");
                 new (self) Track({kept, reach, traced, floor, alike, most, jump});
             },
             nb::kw_only(), "kept"_a, "reach"_a, "traced"_a, "floor"_a, "alike"_a, "most"_a, "jump"_a)
        .def("extend", &extend, "Add pairs.")
        .def("add_rest", &add_rest, "Add frames after the last pair, which one of the videos doesn't have.")
        .def("advance", &advance,
             "Take the path on from a frame to before `limit`, or to the first frame that needs a closer look.")
        .def("path", &Track::path, "The matches of the path to a frame that are not those of lag 0.")
        .def("weight", &Track::weight, "How much a frame may say, 0 to 1.")
        .def("usual_motion",
             [](const Track& track, int frame) {
                 check(track, frame, 1);
                 return track.usual_motion(frame);
             }, "The usual change of the reference in the last half second, where it moves.")
        .def("still",
             [](const Track& track, int frame) {
                 check(track, frame);
                 return track.still(frame);
             }, "Whether the distorted video hardly changes there.")
        .def("backwards", [](const Track& track, int frame) { return frame < track.end() && track.backwards(frame); },
             "Whether the distorted video changes against the reference's direction.")
        .def("matches",
             [](const Track& track, int start) {
                 if (start < track.first()) throw nb::index_error("the frame isn't kept");
                 return track.matches(start);
             }, "Whether the pairs since `start` differ less than frames do from their neighbours.")
        .def("costs", &costs,
             "What it costs to match a frame with each of several, from its squared errors against them.")
        .def("last_errors",
             [](const Track& track, int count) {
                 const std::vector<double>& all = track.error();
                 if (count < 0 || static_cast<std::size_t>(count) > all.size()) throw nb::index_error("they aren't kept");
                 return std::vector<double>(all.end() - count, all.end());
             }, "The squared errors of so many last pairs.")
        .def_prop_ro("least_cost", &Track::least_cost)
        .def_prop_ro("settled", &Track::settled)
        .def_prop_ro("first", &Track::first)
        .def_prop_ro("end", &Track::end)
        .def_prop_ro("end_ref", &Track::end_ref)
        .def_prop_ro("end_dis", &Track::end_dis)
        .def_prop_ro("cells", &Track::cells)
        .def_prop_ro("ref", &signatures<&Track::ref>)
        .def_prop_ro("dis", &signatures<&Track::dis>)
        .def_prop_ro("moved_ref", &view<&Track::moved_ref>)
        .def_prop_ro("moved_dis", &view<&Track::moved_dis>)
        .def_prop_ro("tracking", &view<&Track::tracking>)
        .def_prop_ro("error", &view<&Track::error>);
}

}  // namespace acuity
