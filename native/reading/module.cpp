// FileReads and LumaLook for Python. Taking a frame that is there keeps the interpreter lock; waiting releases it.
#include <nanobind/stl/optional.h>

#include <deque>
#include <utility>

#include "core/binding.h"
#include "reading/damage_log.h"
#include "reading/file_reads.h"
#include "reading/luma_look.h"
#include "signature/signature.h"

namespace acuity {

namespace {

using Room = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Cells = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr double kSlice = 0.05;  // seconds between two looks for signals while waiting

// Where the luma is in a frame's bytes, and what is made of it.
struct LumaUse {
    std::int64_t start;
    int width, height, depth;
    const SignatureKernels* kernels;
    CellGrid grid;  // of the signature; without columns there is none
    std::shared_ptr<LumaLook> look;
    int every;      // of how many frames one is looked at

    void operator()(std::int64_t number, const unsigned char* frame, float* signature) const {
        const Plane luma{frame + start, static_cast<std::ptrdiff_t>(width) * (depth == 8 ? 1 : 2), width, height, depth};
        if (look && number % every == 0) look->study(luma);
        if (signature != nullptr) cell_means(*kernels, luma, grid, signature);
    }
};

// The reads with what they write to, which must live as long.
class Reads {
  public:
    Reads(int descriptor, FramePlaces places, std::size_t lead, LumaUse use, int threads, int wake)
        : lead_(lead),
          bytes_(places.bytes),
          cells_(static_cast<std::size_t>(use.grid.columns) * use.grid.rows),
          reads_(new FileReads(descriptor, std::move(places), threads, wake, std::move(use))) {}

    void give(const Room& room, const std::optional<Cells>& signature) {
        if (room.shape(0) < lead_ + bytes_ || (signature ? signature->shape(0) : 0) != cells_)
            throw nb::value_error("the room for a frame or its signature has another size");
        given_.emplace_back(room, signature);
        reads_->give(room.data() + lead_, signature ? signature->data() : nullptr);
    }

    // The number of the `Found`: after waiting for at most so many seconds, or without end if they are negative.
    int look(double seconds) {
        Found found = reads_->look<nb::gil_scoped_release>(std::chrono::duration<double>(0));
        while (found == Found::nothing && !given_.empty() && seconds != 0) {
            const double slice = seconds < 0 ? kSlice : std::min(seconds, kSlice);
            found = reads_->look<nb::gil_scoped_release>(std::chrono::duration<double>(slice));
            if (seconds > 0) seconds -= slice;
            if (found == Found::nothing && PyErr_CheckSignals() != 0) throw nb::python_error();
        }
        return static_cast<int>(found);
    }

    int take() {
        const int found = look(-1);
        if (!given_.empty()) {
            reads_->take();
            given_.pop_front();
        }
        return found;
    }

    void stop() { reads_->stop(); }
    void join() {
        {
            nb::gil_scoped_release released;
            reads_->join();
        }
        given_.clear();
    }
    int threads() const { return reads_->threads(); }

  private:
    const std::size_t lead_, bytes_, cells_;
    std::deque<std::pair<Room, std::optional<Cells>>> given_;
    std::unique_ptr<FileReads, FileReads::Ending> reads_;  // the last: its threads end before what they write to
};

void make_reads(Reads* self, int descriptor, std::int64_t first, std::int64_t step,
                std::int64_t bytes, const nb::bytes& marker, std::int64_t lead, std::int64_t start, int width,
                int height, int depth, std::pair<int, int> grid, std::shared_ptr<LumaLook> look, int every, int threads,
                int wake) {
    const Shape shape("reading", 1, width, height, depth);
    const std::int64_t luma = static_cast<std::int64_t>(width) * height * (depth == 8 ? 1 : 2);
    const bool signs = grid.first > 0 && grid.second > 0;
    if (first < 0 || step < 1 || lead < 0 || start < 0 || bytes < start + luma || threads < 1 || every < 1 ||
        marker.size() > static_cast<std::size_t>(bytes) || grid.first > height || grid.second > width ||
        grid.first < 0 || grid.second < 0 || (depth > 8 && (lead + start) % 2 != 0))
        throw nb::value_error("frames have their luma inside, and lie at places of a file");
    FramePlaces places{first, step, static_cast<std::size_t>(bytes), {marker.c_str(), marker.size()}};
    const CellGrid cells{signs ? grid.second : 0, signs ? grid.first : 0};
    new (self) Reads(descriptor, std::move(places), static_cast<std::size_t>(lead),
                     LumaUse{start, width, height, depth, select_kernels("").signature, cells, std::move(look), every}, threads, wake);
}

}  // namespace

void bind_reading(nb::module_& m) {
    m.attr("DAMAGE_LOG") = reinterpret_cast<std::uintptr_t>(&count_damage);
    m.def("damage_logged", [] { return damage_logged.load(); },
          "How often that function was told of damaged pictures.");
    nb::class_<LumaLook>(m, "LumaLook",
        "The brightest lines of a video and the blocks that leave a range, gathered by any threads.")
        .def("__init__",
             [](LumaLook* self, int step, int line_step, int block, int lowest, int highest) {
                 if (step < 1 || line_step < 0 || block < step || block % step != 0 || block > 256 || lowest < 0 ||
                     highest > 65535)
                     throw nb::value_error("blocks have some samples, of which every few are looked at");
                 new (self) LumaLook(step, line_step, block, lowest, highest);
             },
             nb::kw_only(), "step"_a, "line_step"_a, "block"_a, "lowest"_a, "highest"_a)
        .def("study",
             [](LumaLook& look, const Array& luma, int depth, bool thinned) {
                 const Shape shape("a look", 1, static_cast<int>(luma.shape(1)), static_cast<int>(luma.shape(0)), depth);
                 const Plane plane = shape.plane(luma);
                 bool fits;
                 {
                     nb::gil_scoped_release released;
                     fits = look.study(plane, thinned);
                 }
                 if (!fits) throw nb::value_error("the pictures of a video have one size");
             },
             "luma"_a, "depth"_a, "thinned"_a = false,
             "Take in a picture; `thinned`: of which only every `step`th sample is left, in both directions.")
        .def_prop_ro("columns", [](const LumaLook& look) { return look.lines().columns; },
                     "The highest sum of each column; without a picture there are none.")
        .def_prop_ro("rows", [](const LumaLook& look) { return look.lines().rows; }, "The highest sum of each row.")
        .def_prop_ro("samples",
                     [](const LumaLook& look) {
                         const LumaLook::Lines lines = look.lines();
                         return std::pair(lines.of_column, lines.of_row);
                     }, "How many samples the sum of a column has, and that of a row.")
        .def_prop_ro("blocks", &LumaLook::blocks, "How many blocks were seen, and how many of them leave the range.");

    m.attr("FOUND_FRAME") = static_cast<int>(Found::frame);
    m.attr("FOUND_ODD") = static_cast<int>(Found::odd);
    m.attr("FOUND_END") = static_cast<int>(Found::end);
    m.attr("FOUND_NOTHING") = static_cast<int>(Found::nothing);
    nb::class_<Reads>(m, "FileReads",
        "Frames at known places of a file, read ahead by threads of its own into memory that is given.\n\n"
        "One thread gives and takes; stop() may be called by any.")
        .def("__init__", &make_reads, "descriptor"_a, nb::kw_only(), "first"_a, "step"_a, "bytes"_a,
             "marker"_a, "lead"_a, "start"_a, "width"_a, "height"_a, "depth"_a, "grid"_a, "look"_a.none(), "every"_a,
             "threads"_a, "wake"_a,
             "Takes over the descriptor, unless it raises. Frame n has `bytes` from first + n * step on.\n\n"
             "They are read to `lead` of the room given, begin with `marker`, and their luma is at `start`. The "
             "grid\n"
             "is that of the signature, (0, 0) for none; `look` sees one frame in `every`.")
        .def("give", &Reads::give, "room"_a, "signature"_a.none(), "Room for one more frame, and for its signature.")
        .def("look", &Reads::look,
             "What was found of the next frame, after waiting at most so long: one of the FOUND values.")
        .def("take", &Reads::take, "Wait for the next frame and take it out: one of the FOUND values.")
        .def("stop", &Reads::stop, "Ask the threads to end.")
        .def("join", &Reads::join, "Wait for the threads to end.")
        .def_prop_ro("threads", &Reads::threads);
}

}  // namespace acuity
