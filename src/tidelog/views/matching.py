"""The facts that an atom with variables names."""

import numpy as np

from tidelog.program.written_facts import read_pattern
from tidelog.syntax import tree
from tidelog.values import Fact
from tidelog.views.facts import FixedFacts
from tidelog.views.snapshot import Snapshot


def matching_facts(text: str, snapshot: Snapshot) -> list[tuple[str, Fact]]:
    """Return the facts that match, each with its relation, in value order; `path(x, x)` names loops alone."""
    found = read_pattern(text, "facts", snapshot.program, snapshot.codec)
    name, engine = found.relation.name, snapshot.engine
    columns = engine.match(name, found.codes)
    size = len(columns[0]) if columns else engine.size(name)
    is_kept = np.ones(size, np.bool_)
    first: dict[str, int] = {}
    for place, term in enumerate(found.atom.terms):
        if isinstance(term, tree.Variable):
            is_kept &= columns[place] == columns[first.setdefault(term.name, place)]
    kept = [column[is_kept] for column in columns]
    return [
        (name, fact)
        for fact in FixedFacts(name, found.relation.columns, snapshot.codec, kept, int(is_kept.sum()))
    ]
