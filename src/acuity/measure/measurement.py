"""Measurement, the object that a program embeds: it takes pairs of pictures and gives figures."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Self

from acuity.devices import AUTO, open_devices
from acuity.errors import BackendError, CardMemoryError, ClosedError, FeatureError, FeedingError
from acuity.features import get_extractor, parse_feature
from acuity.features.options import OptionValue
from acuity.measure.boundary import BoundarySnapshot, FrameBoundary
from acuity.measure.checkpoint import Checkpoint, is_steered
from acuity.measure.epochs import Epochs, check_step, is_counted, sampling
from acuity.measure.gate import HOST, INTERRUPTED, Failure, Pause
from acuity.measure.loans import Freed, Loans
from acuity.measure.pictures import PictureLike, Terms, as_depth
from acuity.measure.readings import Readings
from acuity.measure.scheduler import MAX_THREADS as MAX_THREADS
from acuity.measure.scheduler import check_threads
from acuity.measure.segments import Slot
from acuity.measure.steering import (
    Candidates,
    Swap,
    check_alone,
    check_feature_names,
    check_names,
    check_pictures,
    is_same_model,
    swap_model,
)
from acuity.measure.worker import FrameScheduler, WorkItem, dispatch, own_threads
from acuity.video.card_picture import CardPicture

if TYPE_CHECKING:
    from acuity.devices import Device
    from acuity.features.extractor import Extractor, Geometry, Pair
    from acuity.measure.crew import Crew
    from acuity.models.inputs import AnyModel
    from acuity.video.picture import ColourTags


class Measurement(Readings):
    """Measures models and features over pairs of pictures, on several threads.

    Add models and features, then pictures; read figures of a frame as soon as they are known, flush, and
    take the results. The output does not depend on the number of threads. One thread adds, feeds and steers,
    between two frames; any thread may call the methods that only read, at any time.
    """

    def __init__(
        self,
        threads: int | None = None,
        subsample: int = 1,
        instruction_set: str | None = None,
        backend: str | Sequence[Device] = "auto",
        *,
        alone: bool = False,
        crew: Crew | None = None,
        may_decline: bool = False,
    ) -> None:
        """Raises BackendError if the backend can't start. The last device computes every extractor.

        With `may_decline`, and with 'auto', a card that has too little memory for a single frame isn't used:
        the other devices compute everything, and `declined` has the reason.

        With `alone` each distorted picture comes as its own reference: extractors that compare with a
        reference are refused. The threads of a `crew` are shared with other measurements.
        """
        steps = sampling(subsample)
        super().__init__(open_devices(backend, instruction_set=instruction_set), steps)
        self._may_decline = may_decline or backend == AUTO
        self.declined: BackendError | None = None  # why the preferred device isn't used
        self._alone = alone
        self._crew = crew
        wanted = crew.threads if crew is not None else check_threads(threads)
        self.threads = max(device.workers(wanted) for device in self._devices)
        self.boundary = FrameBoundary()
        self._candidates = Candidates(self._collector)
        self._loans = Loans()
        self._feeding = threading.Lock()
        self._unscheduled = 0  # frames that needed no work
        self._failure: Failure | None = None

    # ---- what to measure --------------------------------------------------------------------

    def add_model(self, model: AnyModel | str) -> AnyModel:
        """Add a model, by itself or by name, with the features it needs."""
        self._check_unstarted("a model")
        prediction = self._candidates.get(model)
        self._check_alone(prediction.extractors)
        check_names(self._agenda, prediction)
        slot = Slot(prediction.model.name, Epochs(prediction))
        self._agenda = self._agenda.request(slot._replace(requested=slot.segments(1)[0].model))
        return prediction.model

    def add_feature(self, name: str, options: Mapping[str, OptionValue] | None = None) -> None:
        """Add an extractor: add_feature('vif', {'debug': True}) or add_feature('vif=debug=true')."""
        self._check_unstarted("a feature")
        extractor, written = parse_feature(name)
        asked = get_extractor(extractor)({**written, **(options or {})})
        self._check_alone([asked])
        check_feature_names(self._agenda, [asked])
        self._agenda = self._agenda.request(asked)

    def _check_alone(self, extractors: Iterable[Extractor]) -> None:
        if self._alone:
            check_alone(extractors)

    def tell_colour(self, colour: ColourTags) -> None:
        """Say what the samples of all pictures stand for, for the extractors whose figures depend on it."""
        self._check_unstarted("the meaning of the samples")
        self._intake.colour = colour

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take the figures of the first frames from an earlier measurement of the same models and features.

        Call it when these are added. Every frame must still be fed: those of the checkpoint are checked and
        looked back at, but not computed. Raises ResumeError if something else was measured.
        """
        self._check_unstarted("a checkpoint")
        checkpoint.check(self._agenda)
        self._known = checkpoint

    def _check_unstarted(self, what: str) -> None:
        self._check_open()
        if self._frames:
            raise ClosedError(f"{what} must be added before the first frame")

    # ---- feeding ----------------------------------------------------------------------------

    def add(
        self,
        ref: PictureLike,
        dis: PictureLike,
        *,
        bitdepth: int | None = None,
        copy: bool = True,
        freed: Freed | None = None,
    ) -> int | None:
        """Feed the next pair and return its frame number, or None if the measurement is finished.

        It is finished after stop(), and when the frame to stop after was fed. Waits while too many frames are
        under way, and while the measurement is paused, but not for a pause that the calling thread began.

        Pictures are borrowed until their figures and those of the next two frames exist. Arrays (luma, or a
        tuple of planes) are copied; with `copy=False` they are borrowed too. Arrays of uint16 need a
        bitdepth. Arrays on the measurement's card (DLPack, `__cuda_array_interface__`) stay on it, and what
        the program does with them next, in the stream it works in, comes after the copy.

        `freed` is called once for each add(), without arguments, when neither picture is needed any more: at
        once if nothing is borrowed, and by flush() or close() at the latest. It may run on any thread, should
        return soon, and must not use the measurement; what it raises is logged.
        """
        loan = None if freed is None else self._loans.lend(freed)
        try:
            self._check_open()
            if not self._feeding.acquire(blocking=False):
                raise FeedingError(
                    "another frame is being fed: feed from one thread, one frame after the other"
                )
            try:
                return self._add(ref, dis, Terms(as_depth(bitdepth), copy, loan))
            finally:
                self._feeding.release()
        finally:
            if loan is not None and not loan.in_use:
                loan.end()

    def _add(self, ref: PictureLike, dis: PictureLike, terms: Terms) -> int | None:
        if self.gate.pauses:
            self.gate.wait(self.boundary, self._frames, adding=True)
            self._check_open()  # another thread may have closed it in the meantime
        if self.finished:
            return None
        index = self._frames
        pictures = self._intake.take(index, ref, dis, terms)
        scheduler = self._scheduler or self._start(pictures)
        if terms.loan is not None:
            terms.loan.in_use = any(picture.loan is not None for picture in pictures)
        plan = self._agenda.plans.at(index)
        counted = is_counted(self._agenda.steps, index)
        if self._known is not None and index < self._known.frames:
            self._collector.write(index, self._known.row(index))
            self._unscheduled += 1
        elif counted or plan.every_frame:
            scheduler.submit(WorkItem(self._intake.frame(index, pictures, plan.lookback), plan, counted))
        else:
            self._unscheduled += 1
        if counted:
            self.boundary.on_pictures.tell(index, pictures)
        self._intake.keep(pictures)
        self._frames += 1
        self._failure = None  # the program feeds again
        if self.boundary.on_frame.all:
            self.boundary.on_frame.tell(self.snapshot())
        return index

    def snapshot(self) -> BoundarySnapshot:
        """The frames fed and done so far."""
        done = self._unscheduled + (self._scheduler.done if self._scheduler else 0)
        return BoundarySnapshot(self._frames, done, self._frames - 1)

    def _start(self, pictures: Pair) -> FrameScheduler:
        if not self._agenda.measured:
            raise FeatureError("there is nothing to measure: add a model or a feature first")
        assert self._intake.geometry is not None
        self._agenda.measured.check_size(self._intake.geometry)
        self._agenda = self._agenda.planned(0)
        self._agenda.prepare(self._collector)
        self._started = time.monotonic()
        try:
            self._scheduler = self._dispatched(self._intake.geometry, pictures)
        except CardMemoryError as error:
            if not self._may_decline:
                raise
            self.declined = error.with_traceback(None)
            self._devices = self._devices[1:]
            self._scheduler = self._dispatched(self._intake.geometry, pictures)
        # Joins the threads also when the measurement is garbage or the interpreter ends.
        weakref.finalize(self, self._scheduler.close)
        return self._scheduler

    def _dispatched(self, geometry: Geometry, pictures: Pair) -> FrameScheduler:
        uploads = not all(isinstance(picture, CardPicture) for picture in pictures)
        work = geometry, self._agenda.plans.at(self._frames), self._collector
        join = self._crew.join if self._crew else partial(own_threads, self.threads)
        return dispatch(*work, self._devices, join, uploads=uploads)

    def flush(self) -> None:
        """End the input: wait for the frames under way and write the last figures."""
        self._check_open()
        if self._scheduler is not None:
            self._scheduler.drain()
            self._collector.finish()
        self._end("flushed")

    def close(self) -> None:
        """Stop and join the threads; figures that are known stay readable. May be called again."""
        if self._forked:  # the threads exist only in the other process, and their locks stay locked here
            self._state = "closed"
            return
        self._end("closed")

    def _end(self, state: str) -> None:
        begins = self._state == "open"
        if begins:
            self._state = state
            self._stopped = time.monotonic()
        self.gate.release_all()
        self._intake.clear()
        if self._scheduler is not None:
            self._scheduler.close()
        self._loans.end()
        if begins:
            self.boundary.on_end.tell(self.snapshot())

    def _check_open(self) -> None:
        self._check_process()
        if self._state != "open":
            text = f"the measurement was {self._state}, so it takes no more frames: make a new one"
            raise ClosedError(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is not None:
            self.fail(error)
        self.close()

    def fail(self, error: BaseException) -> None:
        """Note the error that ended the input early, for those who watch; the next frame removes the note."""
        if not self.over:
            self._failure = Failure.of(error)

    @property
    def failure(self) -> Failure | None:
        """The failure that ended the input early, if one did."""
        return INTERRUPTED if self.over and self.gate.interrupted else self._failure

    # ---- steering, between two frames -------------------------------------------------------

    def swap_model(self, name: str, model: AnyModel | str, *, repredict: bool = False) -> Swap:
        """Report another model as `name`, from the next frame on or as soon as its features are exact.

        With `repredict` also for earlier frames that have all its features; others keep their score.
        """
        self._check_open()
        holder = self._agenda.slot(name).holders.at(self._frames)
        prediction = self._candidates.get(model, name)
        self._check_alone(prediction.extractors)
        if is_same_model(prediction.model, holder.model):
            prediction = holder  # the same model: no new segment
        check_names(self._agenda, prediction, besides=name)
        if self._intake.geometry is not None:
            check_pictures(prediction.extractors, self._intake.geometry, self._intake.planes)
        agenda, found = swap_model(self._agenda, name, prediction, self._frames, repredict=repredict)
        if self._scheduler is not None:
            agenda.prepare(self._collector)
        self._agenda = agenda
        return found

    def set_subsample(self, subsample: int) -> None:
        """From the next frame on, count only frames whose number is a multiple of this."""
        self._check_open()
        steps = self._agenda.steps.assign(check_step(subsample), self._frames)
        self._agenda = self._agenda.changed(steps=steps)

    def stop_after(self, frame: int | None) -> None:
        """Take no more frames after this one, which may be the last one fed; None: take all frames."""
        self._check_open()
        self.gate.stop_after(frame, self._frames)

    def stop(self) -> None:
        """Take no more frames: the result covers those fed so far. Any thread may call this.

        A frame that is being fed is still taken. The feeding thread then flushes as at the end of the videos.
        """
        self._check_open()
        self.gate.stop()

    def interrupt(self) -> bool:
        """End as stop() does, because the program is asked to end; returns whether there is a result to keep.

        It is the result of a part of the clip, not of a steered measurement. If no frame was computed yet, or
        no more are taken, this returns False and does nothing. A signal handler may call it.
        """
        if self.over or self.finished or self._frames <= self.restored:
            return False
        self.gate.interrupt()
        return True

    def pause(self, *, shared: bool = False) -> None:
        """Make the feeding thread wait at the next frame boundary; any thread may call this.

        The pause ends with resume(); clients of a server can end it only if it is `shared`. The calling
        thread waits in wait_while_paused() and in feed(), but not in add(), unless the pause is shared.
        """
        self._check_open()
        thread = None if shared else threading.get_ident()
        self.gate.hold(HOST, Pause(HOST, thread=thread, shared=shared))

    def resume(self, *, everyone: bool = False) -> None:
        """End the host's own pause, and with `everyone` the clients' too; any thread may call this."""
        if everyone:
            self.gate.release_all()
        else:
            self.gate.release(HOST)

    def wait_while_paused(self) -> None:
        """Wait on the feeding thread, between two frames, until no pause is in effect or it is finished."""
        self.gate.wait(self.boundary, self._frames)

    def checkpoint(self) -> Checkpoint | None:
        """The figures of the frames fed, from which restore() goes on; call it after flush().

        None if the measurement was steered.
        """
        steered = is_steered(self._agenda) or self.gate.last is not None
        return None if steered else Checkpoint.of(self._agenda, self._collector, self._frames)
