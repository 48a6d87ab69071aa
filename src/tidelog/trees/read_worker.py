"""A process that reads texts for another: batches of texts come in by a pipe, and arrays go back."""

import pickle
import sys
from typing import BinaryIO

import numpy as np

from tidelog.dataclass import dataclass
from tidelog.errors import TidelogError
from tidelog.trees.languages import Language, find_language
from tidelog.trees.nodes import Int32s
from tidelog.trees.pool import TreeValue


@dataclass(frozen=True, slots=True, eq=False)
class TravellingTree:
    """The tree of a text as it travels: `values` counts in `distinct`, which has each value once.

    Values are in the order in which they were first met, so that a pool numbers them as reading here would.
    """

    types: Int32s
    links: Int32s
    parents: Int32s
    values: Int32s
    distinct: list[TreeValue]
    starts: Int32s
    ends: Int32s


def read_text(language: Language, text: str, name: str) -> TravellingTree | None:
    """Return the tree of a text, or None if the text has a mistake or does not say where nodes stand."""
    try:
        tree = language.read(text, name)
    except TidelogError:
        return None
    if tree.places is None:
        return None
    nodes = tree.nodes
    used, first, values = np.unique(nodes.values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    order = order[used[order] >= 0]
    places = np.full(len(used), -1, np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    return TravellingTree(
        nodes.types,
        nodes.links,
        nodes.parents,
        places[values],
        list(language.pool.pick(used[order])),
        tree.places.starts.astype(np.int32),
        tree.places.ends.astype(np.int32),
    )


def answer(questions: BinaryIO, answers: BinaryIO, language: Language) -> None:
    """Answer batches of texts until there are no more."""
    while True:
        try:
            batch: list[tuple[str, str]] = pickle.load(questions)  # noqa: S301 - our own process wrote it
        except EOFError:
            return
        pickle.dump([read_text(language, text, name) for name, text in batch], answers, protocol=5)
        answers.flush()


def main(language: str) -> None:
    """Answer the process that started this one."""
    answer(sys.stdin.buffer, sys.stdout.buffer, find_language(language))
