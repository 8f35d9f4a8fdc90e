"""Pictures for pages: which frames, what they show, how many bytes they take, and why there may be none."""

from __future__ import annotations

import base64
import io
import json
import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import av
import numpy as np
import pytest
from numpy.typing import NDArray

import acuity
from acuity.errors import InputError
from acuity.frames.heat_map import GAIN, difference_picture
from acuity.frames.page_pictures import folder_pictures, page_pictures
from acuity.frames.previews import compressed
from acuity.frames.request import WorstRequest
from acuity.frames.worst import find_worst
from acuity.report.page.page_document import PagePicture
from acuity.scoring.report import ScoreReport
from acuity.scoring.request import Request
from acuity.scoring.run import run_request
from acuity.video.readers.open import open_video
from numbered_clips import DAMAGED, HEIGHT, WIDTH, clip, number_of, pair, y4m

KINDS = ("reference", "distorted", "difference", "heat")


class Scored(NamedTuple):
    request: Request
    report: ScoreReport


def scored(videos: tuple[Any, Any], **changes: Any) -> Scored:
    request = Request(*videos, threads=1, **changes)
    return Scored(request, run_request(request))


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Scored:
    return scored(pair(tmp_path_factory.mktemp("clips")))


def samples(url: str | None) -> NDArray[np.uint8]:
    assert url is not None
    assert url.startswith("data:image/webp;base64,")
    with av.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as container:
        return next(container.decode(video=0)).to_ndarray(format="rgb24")


def bytes_of(pictures: list[PagePicture]) -> int:
    return sum(len(getattr(one, kind)) for one in pictures for kind in KINDS)


def test_the_worst_frames_are_shown(damaged: Scored) -> None:
    pictures, why = page_pictures(*damaged, 3)
    assert why is None
    worst = damaged.report.worst(3)
    assert [(one.frame, one.score) for one in pictures] == worst
    assert {one.frame for one in pictures} == set(DAMAGED)
    for one in pictures:
        assert (one.width, one.height, one.time) == (WIDTH, HEIGHT, one.frame / 25)
        assert one.region is not None
        assert all(0 <= share <= 1 for share in one.region)
        assert one.description
        reference, distorted, difference, heat = (samples(getattr(one, kind)) for kind in KINDS)
        assert number_of(reference) == number_of(distorted) == one.frame
        assert reference.shape == distorted.shape == difference.shape == heat.shape == (HEIGHT, WIDTH, 3)
        off = difference_picture(reference, distorted)
        assert abs(float(difference.mean()) - float(off.mean())) < 0.15 * off.mean() + 3


def test_the_difference_is_brighter_and_never_wraps() -> None:
    reference, distorted = np.zeros((2, 3, 3), np.uint8), np.zeros((2, 3, 3), np.uint8)
    reference[0, 0], distorted[0, 1], distorted[1, 2] = 10, 3, 255
    found = difference_picture(reference, distorted)
    assert found[0, 0].tolist() == [10 * GAIN] * 3
    assert found[0, 1].tolist() == [3 * GAIN] * 3
    assert found[1, 2].tolist() == [252] * 3
    assert found[1, 0].tolist() == [0] * 3


def test_none_were_asked_for(damaged: Scored) -> None:
    assert page_pictures(*damaged, 0) == ([], None)


@pytest.mark.parametrize("budget", [12_000, 60_000])
def test_all_files_fit_the_budget(damaged: Scored, budget: int) -> None:
    pictures, _ = page_pictures(*damaged, 3, budget=budget)
    assert len(pictures) == 3
    assert bytes_of(pictures) <= budget * 4 / 3 + 3 * 4 * 40


def textured(width: int, height: int, seed: int) -> NDArray[np.uint8]:
    """A picture with as much detail as film has: smooth shapes, edges, and grain."""
    random = np.random.default_rng(seed)
    x, y = np.meshgrid(np.arange(width), np.arange(height))
    picture = 120 + 60 * np.sin(x / 37 + seed) * np.cos(y / 23) + 30 * ((x // 60 + y // 45) % 2)
    return np.clip(picture[..., None] + random.normal(0, 5, (height, width, 3)), 0, 255).astype(np.uint8)


def test_twenty_frames_take_less_than_five_megabytes() -> None:
    share = 3_400_000 // 20
    pictures = {kind: textured(1920, 1080, number) for number, kind in enumerate(KINDS)}
    made = compressed(pictures, share)
    assert made.size <= share
    assert sum(map(len, made.urls().values())) * 20 < 5_000_000
    assert made.width >= 640  # and is still worth looking at


def test_a_budget_that_nothing_fits_gives_the_smallest() -> None:
    made = compressed({"reference": textured(640, 360, 1)}, 10)
    assert (made.width, made.height) == (96, 54)


@pytest.mark.parametrize(
    ("aspect", "size"), [(Fraction(16, 11), (262, 144)), (Fraction(1, 2), (180, 288)), (None, (180, 144))]
)
def test_samples_become_square(aspect: Fraction | None, size: tuple[int, int]) -> None:
    made = compressed({"reference": textured(180, 144, 1)}, 1 << 20, aspect)
    assert (made.width, made.height) == size


def test_why_there_are_none(tmp_path: Path) -> None:
    """The last has a video that is gone."""
    reference, distorted = videos = pair(tmp_path)
    reasons = {
        "identical": scored((reference, reference)),
        "a reader can't": scored((open_video(reference), distorted)),
        "no model": scored(videos, metrics=["psnr"]),
        "changed while": scored(videos),
    }
    distorted.unlink()
    for reason, found in reasons.items():
        pictures, why = page_pictures(*found, 3)
        assert pictures == []
        assert reason in str(why)


@pytest.fixture(scope="module")
def folder(damaged: Scored, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("worst")
    find_worst(WorstRequest(damaged.request, place, 3, 0.0))
    return place


def test_the_folder_of_worst_has_the_same_frames(damaged: Scored, folder: Path) -> None:
    results = damaged.report.results
    scores = dict(zip(results.frames, results.values().tolist(), strict=True))
    found = folder_pictures(folder, scores)
    drawn, _ = page_pictures(*damaged, 3)
    assert found == drawn  # the files are lossless


def test_a_folder_of_other_videos_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match=r"frame 13 scores .* has no score in the report"):
        folder_pictures(folder, {4: 1.0})
    with pytest.raises(InputError, match=r"scores 1\.00 in the report"):
        folder_pictures(folder, dict.fromkeys(range(16), 1.0))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "no JSON"),
        ("[]", "no document acuity.worst/1"),
        ('{"schema": "acuity.worst/2"}', "no document acuity.worst/1"),
        ('{"schema": "acuity.worst/1", "frames": [{}]}', "no complete document"),
        ('{"schema": "acuity.worst/1", "frames": 3}', "no complete document"),
    ],
)
def test_a_folder_without_pictures_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(InputError, match=r"can't be read.*acuity worst"):
        folder_pictures(tmp_path)
    (tmp_path / "worst.json").write_text(text)
    with pytest.raises(InputError, match=f"{reason}.*acuity worst"):
        folder_pictures(tmp_path)


def test_names_in_a_list_stay_in_its_folder(folder: Path, tmp_path: Path) -> None:
    document = json.loads((folder / "worst.json").read_text())
    document["frames"][0]["png"] = "/etc/passwd"
    (tmp_path / "worst.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match="is no PNG file that can be read"):
        folder_pictures(tmp_path)


PICTURE = "data:image/webp;base64,"


@pytest.fixture
def report(tmp_path: Path) -> ScoreReport:
    return acuity.score(*pair(tmp_path), threads=1)


def test_a_page_shows_so_many_frames(report: ScoreReport, tmp_path: Path) -> None:
    page, told = tmp_path / "page.html", []
    acuity.write_page(report, page, 2, progress=lambda done, total: told.append((done, total)))
    assert page.read_text().count(PICTURE) == 2 * 4
    assert told[-1] == (report.pairs, report.pairs)
    acuity.write_page(report, page, pictures=0)
    assert PICTURE not in page.read_text()


def test_a_file_that_changed_since_it_was_scored_is_not_shown(report: ScoreReport, tmp_path: Path) -> None:
    """Also if it has the same size, length and format, so that only its time tells."""
    distorted = Path(report.request.distorted)  # type: ignore[union-attr, arg-type]
    before = distorted.stat()
    y4m(distorted, clip(damaged=DAMAGED, worn=True))
    os.utime(distorted, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000_000))
    assert distorted.stat().st_size == before.st_size
    page = tmp_path / "page.html"
    acuity.write_page(report, page)
    text = page.read_text()
    assert PICTURE not in text
    assert "changed while its frames were scored and drawn" in text


def test_a_report_that_was_kept_has_none(report: ScoreReport, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    acuity.write_page(replace(report, request=None), page)
    assert "without its videos" in page.read_text()


def test_what_progress_raises_leaves_no_file(report: ScoreReport, tmp_path: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        acuity.write_page(report, tmp_path / "page.html", progress=stop)
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"pictures": 33}, "pictures=33 is no number of frames: give 0 to 32"),
        ({"pictures": -1}, "give 0 to 32"),
        ({"pictures": True}, "give 0 to 32"),
        ({"pictures": 2.5}, "give 0 to 32"),
        ({"path": "page.png"}, r"'page.png' is no name of a page: end it with \.html"),
        ({"path": "gone/page.html"}, "the folder 'gone' does not exist"),
        ({"report": {}}, "a dict is no report of acuity.score"),
    ],
)
def test_bad_arguments(report: ScoreReport, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(acuity.AcuityError, match=reason):
        acuity.write_page(**{"report": report, "path": "page.html", **options})
