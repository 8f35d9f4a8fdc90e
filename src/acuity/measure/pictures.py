"""Takes in the pictures that a program passes: as Picture objects, checked, and all alike."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import islice
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast

from acuity.arrays import np
from acuity.errors import InputError, PairingError, to_set
from acuity.features.extractor import REACH, Frame, Geometry, Pair
from acuity.measure.loans import Loan
from acuity.records import NamedTuple
from acuity.text import quoted, told
from acuity.video.card_picture import CardPicture
from acuity.video.picture import LAYOUTS, ColourTags, Picture, PixelFormat, Samples

if TYPE_CHECKING:
    from acuity.devices.cuda.card_arrays import CardArrays
    from acuity.devices.device import Device

# DLPack's kinds of devices whose memory is the machine's: the CPU, and memory that is page-locked for a GPU.
_HOST: Final = frozenset({1, 3, 11})


class DlpackArray(Protocol):
    """An array of any library that speaks DLPack: PyTorch, CuPy, JAX."""

    def __dlpack__(self, *, stream: Any = None) -> Any: ...

    def __dlpack_device__(self) -> tuple[Any, int]: ...


class CudaArray(Protocol):
    """An array on a card, of any library that has Numba's interface: CuPy, Numba, PyTorch."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


Plane: TypeAlias = "Samples | DlpackArray | CudaArray"


def in_memory(array: Plane) -> Samples | None:
    """The array as numpy's, without a copy; None if it lies on a device. Raises InputError."""
    if isinstance(array, np.ndarray):
        return array
    try:
        if hasattr(array, "__dlpack_device__"):
            kind, _ = array.__dlpack_device__()
            return cast("Samples", np.from_dlpack(cast("Any", array))) if int(kind) in _HOST else None
        if getattr(array, "__cuda_array_interface__", None) is not None:
            return None
    except Exception as error:  # whatever another library raises
        raise InputError(
            f"an array of type {type(array).__name__} can't be read ({told(error)}): pass a numpy array"
        ) from error
    raise InputError(
        "a picture is an array of luma samples, a tuple of such planes or a Picture, not something of type "
        f"{type(array).__name__}"
    )


PictureLike: TypeAlias = "Picture | Plane | tuple[Plane, ...]"

_DEPTHS: Final = range(8, 17)


class Terms(NamedTuple):
    """How a program hands over the pictures of a frame."""

    bitdepth: int | None = None  # of uint16 arrays
    copy: bool = True  # of arrays, because their owner may reuse them for the next frame
    loan: Loan | None = None  # what pictures that are not copied keep alive


def as_depth(bitdepth: int | None) -> int | None:
    """The bitdepth that was passed in; raises InputError if samples can't have it."""
    if bitdepth is None:
        return None
    if isinstance(bitdepth, Integral) and not isinstance(bitdepth, bool) and int(bitdepth) in _DEPTHS:
        return int(bitdepth)
    raise InputError(
        f"bitdepth={quoted(bitdepth)} is no depth of samples: pass bitdepth=10, 12 or 16 for uint16 arrays, "
        "and none for uint8"
    )


def as_pair(
    ref: PictureLike, dis: PictureLike, terms: Terms, find_port: Callable[[], CardArrays | None]
) -> Pair:
    """Pictures unchanged; arrays as copies, or as they are."""
    found = [_as_picture(given, terms) for given in (ref, dis)]
    on_card = [entry for entry in found if not isinstance(entry, Picture)]
    taken: Iterator[Picture] = iter(())
    if on_card:
        if (port := find_port()) is None:
            raise InputError(
                "the array lies on a card, and this measurement computes on the CPU: pass "
                "array.cpu().numpy() or cupy.asnumpy(array), or make the measurement with ",
                to_set("backend", "cuda"),
            )
        taken = iter(port.take(on_card, partial(_format_of, bitdepth=terms.bitdepth), copy=terms.copy))
    pictures = [entry if isinstance(entry, Picture) else next(taken) for entry in found]
    for picture, given in zip(pictures, (ref, dis), strict=True):
        if not terms.copy and not isinstance(given, Picture):
            picture.loan = terms.loan
    return Pair(*pictures)


def _as_picture(given: PictureLike, terms: Terms) -> Picture | tuple[Plane, ...]:
    """A picture, or planes that lie on a card."""
    if isinstance(given, Picture):
        _check_planes(given)
        return given if terms.loan is None else _lent(given, terms.loan)
    planes = given if isinstance(given, tuple) else (given,)
    if not planes:
        raise InputError(
            "a picture is an array of luma samples, a tuple of such planes or a Picture, not an empty tuple"
        )
    arrays = [in_memory(plane) for plane in planes]
    here = [array for array in arrays if array is not None]
    if not here:
        return planes
    if len(here) < len(arrays):
        away = next(number for number, array in enumerate(arrays) if array is None)
        near = next(number for number, array in enumerate(arrays) if array is not None)
        raise InputError(
            f"plane {away} of a picture lies on a card and plane {near} in the machine's memory: copy one of "
            "them to where the other is"
        )
    return _of_arrays(here, terms)


def _of_arrays(arrays: Sequence[Samples], terms: Terms) -> Picture:
    shapes, dtypes = tuple(array.shape for array in arrays), tuple(array.dtype for array in arrays)
    form = _format_of(shapes, dtypes, terms.bitdepth)
    if terms.copy:
        return Picture(tuple(array.copy(order="C") for array in arrays), form)
    picture = Picture(tuple(arrays), form)
    _check_planes(picture)
    return picture


def _lent(picture: Picture, loan: Loan) -> Picture:
    """The picture as an object of its own, which is gone when it isn't needed any more."""
    if isinstance(picture, CardPicture):
        found: Picture = picture.share()
    else:
        found = Picture(picture.samples, picture.format, picture.pts, picture.signed)
    found.kept, found.loan = picture.kept, loan
    return found


def geometry_of(picture: Picture) -> Geometry:
    shapes = picture.shapes
    chroma = (shapes[1][1], shapes[1][0]) if len(shapes) == 3 else None
    return Geometry(picture.width, picture.height, picture.format.depth, chroma)


def _check_planes(picture: Picture) -> None:
    """Refuse planes that the kernels can't read."""
    if isinstance(picture, CardPicture):
        return  # made and checked by its device
    if not picture.samples:
        raise InputError("a Picture has no planes: give it one of luma samples at least")
    for plane in picture.samples:
        if isinstance(plane, memoryview) and plane.format == picture.format.code and plane.ndim == 2:
            continue  # one of a buffer of ours
        if not isinstance(plane, np.ndarray) or plane.ndim != 2:
            given = f"of shape {plane.shape}" if isinstance(plane, np.ndarray) else type(plane).__name__
            raise InputError(f"the planes of a Picture are arrays of rows and columns, and one is {given}")
        if not plane.size:
            raise _without_samples([plane.shape])
        if plane.dtype != picture.format.dtype:
            raise InputError(
                f"samples of {picture.format.depth} bits are {picture.format.dtype.name}, and a plane of the "
                f"Picture is {plane.dtype.str}: convert it with astype()"
            )
        if plane.shape[1] > 1 and plane.strides[1] != plane.itemsize:
            raise InputError(
                "the samples of a row of a Picture have to lie one after the other, and these don't: "
                "pass numpy.ascontiguousarray() of it"
            )


@lru_cache(64)
def _format_of(
    shapes: tuple[tuple[int, ...], ...], dtypes: tuple[np.dtype[Any], ...], bitdepth: int | None
) -> PixelFormat:
    return PixelFormat(_layout(shapes), _depth(dtypes, bitdepth))


def _depth(dtypes: Sequence[np.dtype[Any]], bitdepth: int | None) -> int:
    dtype = dtypes[0]
    if any(other != dtype for other in dtypes) or dtype not in (np.uint8, np.uint16):
        named = " and ".join(dict.fromkeys(map(str, dtypes)))
        raise InputError(
            f"samples must be uint8 or uint16 arrays, and these are {named}: scale and round them to whole "
            "numbers of 8 to 16 bits, then convert them with astype()"
        )
    if dtype == np.uint8:
        if bitdepth not in (None, 8):
            raise InputError(f"uint8 samples cannot be {bitdepth} bits deep: pass a uint16 array")
        return 8
    if bitdepth is None or bitdepth == 8:
        # astype() would keep the low bits of deeper samples, so it is advised where 8 bits were meant.
        instead = " or convert them with astype('uint8')" if bitdepth else " whichever their samples have"
        raise InputError(
            f"uint16 samples cannot have bitdepth={bitdepth}: pass bitdepth=10, 12 or 16,{instead}"
        )
    return bitdepth


def _layout(shapes: tuple[tuple[int, ...], ...]) -> str:
    if any(len(shape) != 2 for shape in shapes):
        raise InputError(
            f"a plane must be an array of rows and columns, and these are {list(shapes)}: pass luma, or a "
            "tuple of luma and two planes of chroma"
        )
    if not all(map(all, shapes)):
        raise _without_samples(shapes)
    for layout in LAYOUTS:
        if tuple(PixelFormat(layout, 8).plane_shapes(shapes[0][1], shapes[0][0])) == shapes:
            return layout
    raise InputError(f"planes of shapes {list(shapes)} are no 400, 420, 422 or 444 picture")


def _without_samples(shapes: Sequence[tuple[int, ...]]) -> InputError:
    return InputError(
        f"planes of shapes {list(shapes)} have no samples: pass arrays of at least one row and one column"
    )


_Form = list[object]


class Intake:
    """Turns pairs of pictures into frames."""

    def __init__(self, devices: Sequence[Device]) -> None:
        self._devices = devices
        self._port: CardArrays | None = None  # of the first device that has one, when it is needed
        self.colour = ColourTags()  # of all pairs, told before the first one
        self.geometry: Geometry | None = None  # of all pairs
        self.planes = 0  # of the last pair
        self._form: _Form | None = None  # of both pictures of the last pair, which were checked
        # The nearest first, as many as any extractor looks back: one that starts later then computes its
        # first frame as if it had run before.
        self._before: deque[Pair] = deque(maxlen=REACH)

    def take(self, index: int, ref: PictureLike, dis: PictureLike, terms: Terms) -> Pair:
        """The next pair as pictures; refuses pictures that differ from each other or from earlier ones."""
        if (
            isinstance(ref, Picture)
            and isinstance(dis, Picture)
            and self._form is not None
            and terms.loan is None
            and _form(ref) == self._form == _form(dis)
        ):
            return Pair(ref, dis)
        pictures = as_pair(ref, dis, terms, self._find_port)
        form = _form(pictures.ref)
        if form == self._form == _form(pictures.dis):
            return pictures
        ours, theirs = map(geometry_of, pictures)
        if ours != theirs:
            raise PairingError(
                f"the reference is {_describe(ours)} and the distorted picture {_describe(theirs)}"
            )
        if self.geometry is None:
            finer = all(picture.finer is not None for picture in pictures)
            self.geometry = ours.changed(colour=self.colour, finer=finer)
        elif ours != self.geometry:
            raise InputError(
                f"frame {index} is {_describe(ours)}, but the video was {_describe(self.geometry)}"
            )
        self.planes = min(len(picture.shapes) for picture in pictures)
        self._form = form if form == _form(pictures.dis) else None
        return pictures

    def _find_port(self) -> CardArrays | None:
        if self._port is None:
            self._port = next((port for d in self._devices if (port := d.port()) is not None), None)
        return self._port

    def frame(self, index: int, pictures: Pair, lookback: int) -> Frame:
        """The pair as a frame, with `lookback` of the pairs before it."""
        return Frame(index, *pictures, tuple(islice(self._before, lookback)))

    def keep(self, pictures: Pair) -> None:
        """Keep the pair of a frame that was scheduled, for the next frames."""
        self._before.appendleft(pictures)

    def clear(self) -> None:
        self._before.clear()


def _form(picture: Picture) -> _Form:
    """All properties of a picture that are checked: a picture with equal ones is good too."""
    if isinstance(picture, CardPicture):
        return [picture.format, CardPicture, *picture.shapes]
    return [picture.format, *[(p.shape, p.strides, getattr(p, "dtype", None)) for p in picture.samples]]


def _describe(geometry: Geometry) -> str:
    return f"{geometry.width}x{geometry.height} at {geometry.depth} bits"
