"""Loads a tiny model: finds and checks its file, reads its sidecar, and starts its session."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Final

from acuity.errors import ModelError, to_omit, to_set
from acuity.tiny.feature_input import FeatureInput, make_block, make_feature_input
from acuity.tiny.files import check_registered_kind, digest, find_tiny_model, read_model, registered
from acuity.tiny.graph import Graph, Tensor
from acuity.tiny.graph_checks import check_graph
from acuity.tiny.options import TinyOptions
from acuity.tiny.picture_input import PictureInput, make_picture_inputs
from acuity.tiny.session import Session, import_runtime
from acuity.tiny.sidecar import Sidecar, check_kind, read_sidecar
from acuity.tiny.tiny_model import Network, TinyModel, choose_outputs

_FLOATS: Final = ("float32", "float16", "float64")
_FEATURES, _PICTURES = 2, 4  # ranks
_MOST_INPUTS: Final = 2
_CODEC_NAMES: Final = ("codec", "codec_block")
_DEFAULTS: Final = TinyOptions()


def load_tiny_model(name: str | PathLike[str], options: TinyOptions = _DEFAULTS) -> TinyModel:
    """The tiny model of a name or a path; raises ModelError, BackendError or MissingExtra.

    A model that reads RGB must be told the video's colours: see TinyModel.in_colours().
    """
    import_runtime()
    label = os.fspath(name)
    path = find_tiny_model(name)
    data, sha256, sidecar, graph = read_checked(path)
    signer = None
    if options.verify:
        if graph.external:
            raise ModelError(
                f"the signature of '{path}' covers that file alone, and its weights are in "
                f"{', '.join(graph.external)}: export it as one file and sign that"
            )
        from acuity.tiny.signature import verify_signature

        signer = verify_signature(path, data)
    pictures, features = _inputs(label, graph, sidecar, options)
    kind = _kind(label, pictures, sidecar)
    check_registered_kind(path, kind)
    outputs = choose_outputs(label, graph, sidecar)
    _check_half(label, pictures, features, options)
    session = Session(label, graph, options)
    network = Network(label, sha256, graph, options, session, outputs, tuple(pictures), features)
    return TinyModel(sidecar.name or path.stem, label, path, kind, network, sidecar, signer)


def read_checked(path: Path) -> tuple[bytes, str, Sidecar, Graph]:
    """A model file, its SHA-256, its sidecar and its graph; refuses a file that these know as another."""
    data, sidecar = read_model(path), read_sidecar(path)
    sha256 = digest(data)
    file = registered(path)
    said = [(sidecar.file, sidecar.sha256), *([(file.source, file.sha256)] if file else [])]
    for source, wanted in said:
        if wanted is not None and wanted != sha256:
            raise ModelError(
                f"'{path}' has the SHA-256 {sha256}, and {source!r} says {wanted}: it was changed or "
                "replaced, so fetch both again"
            )
    return data, sha256, sidecar, check_graph(path, data)


def _inputs(
    label: str, graph: Graph, sidecar: Sidecar, options: TinyOptions
) -> tuple[list[PictureInput], FeatureInput | None]:
    """The pictures or features that the graph's inputs are fed; raises ModelError where neither fits."""
    tensors = read_inputs(label, graph, sidecar)
    if tensors[0].rank == _PICTURES:
        _check_unread(label, options)
        return make_picture_inputs(label, tensors, sidecar), None
    features, codec = split_codec(label, tensors, sidecar)
    if codec is None:
        if sidecar.codec_aware:
            raise sidecar.fail("it says codec_aware, and the graph has no second input for the codec")
        _check_unread(label, options)
        return [], make_feature_input(label, features, sidecar)
    assert codec.shape is not None
    block = make_block(label, codec.shape[1], sidecar.vocabulary, options)
    return [], make_feature_input(label, features, sidecar, codec, block)


def read_inputs(label: str, graph: Graph, sidecar: Sidecar) -> list[Tensor]:
    """The inputs in the sidecar's order: one or two of pictures, or of features; raises ModelError."""
    known = {tensor.name: tensor for tensor in graph.inputs}
    for name in sidecar.inputs:
        if name not in known:
            raise sidecar.fail(f"it names the input '{name}', and the graph has {', '.join(known) or 'none'}")
    tensors = [known[name] for name in dict.fromkeys((*sidecar.inputs, *known))]
    for tensor in tensors:
        where = f"the input '{tensor.name}' of '{label}'"
        if tensor.type not in _FLOATS:
            raise ModelError(f"{where} takes {tensor.type}, and it must take float32 or float16")
        if tensor.rank not in (_FEATURES, _PICTURES):
            rank = "an unknown rank" if tensor.rank is None else f"rank {tensor.rank}"
            raise ModelError(
                f"{where} has {rank}, and it must have rank 4 (pictures: batch x channels x rows x columns) "
                "or 2 (features: batch x features)"
            )
    if len({tensor.rank for tensor in tensors}) != 1 or len(tensors) > _MOST_INPUTS:
        shown = ", ".join(f"'{tensor.name}' of rank {tensor.rank}" for tensor in tensors) or "none"
        raise ModelError(
            f"the model '{label}' has the inputs {shown}, which cannot be fed: it must have one or two of "
            "pictures, or one of features and one of the codec"
        )
    return tensors


def split_codec(
    label: str, tensors: list[Tensor], sidecar: Sidecar, wanted: str = ""
) -> tuple[Tensor, Tensor | None]:
    """The input of features (`wanted` is its name, if known), and that of the codec block, if any."""
    if len(tensors) == 1:
        return tensors[0], None
    named = [tensor for tensor in tensors if tensor.name in _CODEC_NAMES and tensor.name != wanted]
    first, second = tensors if tensors[1].name != wanted else tensors[::-1]
    codec = named[0] if len(named) == 1 else second
    if sidecar.codec_aware is False or (codec not in named and not sidecar.codec_aware):
        raise ModelError(
            f"the model '{label}' has two inputs of rank 2, and neither is the codec block: call that "
            "one 'codec' or 'codec_block', or set codec_aware in the sidecar"
        )
    return first if codec is second else second, codec


def _check_unread(label: str, options: TinyOptions) -> None:
    """Refuse a codec for a model that would not look at it."""
    for name in ("codec", "preset", "crf"):
        if getattr(options, name) is not None:
            raise ModelError(f"the model '{label}' reads no codec: ", to_omit(f"tiny_{name}"))


def _kind(label: str, pictures: list[PictureInput], sidecar: Sidecar) -> str:
    """'fr' or 'nr', by the sidecar or else by what the model reads."""
    alone = bool(pictures) and all(entry.pictures == ("dis",) for entry in pictures)
    read = "nr" if alone else "fr"
    kind = read if sidecar.kind is None else check_kind(label, sidecar.kind)
    if kind != read:
        what = "the distorted picture alone" if alone else "the reference too"
        raise sidecar.fail(f"it says kind {kind!r}, and the model reads {what}, which is {read!r}")
    return kind


def _check_half(
    label: str, pictures: list[PictureInput], features: FeatureInput | None, options: TinyOptions
) -> None:
    """Refuse tiny_fp16 for a graph of another precision, which nothing here converts."""
    types = [entry.type for entry in pictures] + ([features.type] if features else [])
    if options.fp16 and any(entry != "float16" for entry in types):
        raise ModelError(
            to_set("tiny_fp16", True),
            f" asks for inputs of half precision, and '{label}' takes {types[0].name}: "
            "export it in float16, or ",
            to_omit("tiny_fp16"),
        )
