"""Loans: pictures that a program lends for a frame; it is told when nothing needs them any more.

A loan lives as long as something refers to a picture of its frame: the work on it and on the next frames, and
the pairs that are kept for extractors that look back. What is left at the end of a measurement ends with it.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable

from acuity.errors import InputError
from acuity.text import quoted

Freed = Callable[[], object]


class Loan:
    """The loan of one frame; `freed` is called once."""

    __slots__ = ("__weakref__", "_process", "_waiting", "in_use")

    def __init__(self, freed: Freed) -> None:
        self.in_use = False  # whether pictures refer to it
        self._waiting = [freed]  # empty once it was called; pop() is safe between threads
        self._process = os.getpid()

    def end(self) -> None:
        """Call back, unless that was done; an exception is logged, and disturbs nothing else."""
        if os.getpid() != self._process:
            return
        try:
            freed = self._waiting.pop()
        except IndexError:
            return
        try:
            freed()
        except Exception:
            import logging  # which most measurements don't need

            told = "%r, which was to be told that pictures are free, failed"
            logging.getLogger(__name__).exception(told, freed)

    def __del__(self) -> None:
        self.end()


class Loans:
    """The open loans of one measurement."""

    def __init__(self) -> None:
        self._open: weakref.WeakSet[Loan] = weakref.WeakSet()

    def lend(self, freed: Freed) -> Loan:
        if not callable(freed):
            raise InputError(f"freed={quoted(freed)} can't be called: pass a function without arguments")
        loan = Loan(freed)
        self._open.add(loan)
        return loan

    def end(self) -> None:
        """End all: nothing is computed any more."""
        for loan in list(self._open):
            loan.end()
