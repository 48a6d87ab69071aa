"""Queries: their answers as pages, and for each row the facts that one can ask why about."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Final

from tidelog.program.nodes import Column
from tidelog.session import Session
from tidelog.source import Source
from tidelog.syntax import print_node, tree, walk_tree
from tidelog.syntax.query import parse_query
from tidelog.values import Fact
from tidelog.views import Answer
from tidelog.views.fact_text import write_value
from tidelog.web.pages import Listing
from tidelog.web.replies import mistake
from tidelog.web.schema import FactReply

# Answers may be large: the last few are enough to turn pages and sort.
_KEPT: Final = 4
_MOST_CHARACTERS: Final = 20_000


class Queries:
    """Answers queries; the last answers are kept while their epoch lasts."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kept: OrderedDict[tuple[str, int], Answer] = OrderedDict()
        self._lock = Lock()

    def listing(self, text: str) -> Listing:
        """Return the answer to a query, to be paged through."""
        text = text.strip()
        if not text:
            raise mistake("bad-query", "the query is empty", "write for example path(1, x), x > 3")
        if len(text) > _MOST_CHARACTERS:
            raise mistake("request-too-large", f"a query has at most {_MOST_CHARACTERS:,} characters")
        epoch = self._session.epoch
        answer = self._answer((text, epoch))
        columns = tuple(Column(name, of) for name, of in zip(answer.columns, answer.types, strict=True))
        facts = _fact_writer(text, answer.columns)
        key = ("query", text, epoch)
        return Listing(key, "query", columns, answer.codec, len(answer), answer.codes, epoch, facts=facts)

    def witness(self, body: Mapping[str, object]) -> FactReply:
        """Return a fact that a pattern such as `path(1, _)` matches."""
        pattern = body.get("pattern")
        if not isinstance(pattern, str) or len(pattern) > _MOST_CHARACTERS:
            raise mistake("bad-request", "`pattern` is an atom, such as `path(1, _)`")
        atom = parse_query(Source("query", pattern)).atom
        if atom is None:
            raise mistake("bad-request", "`pattern` is an atom, such as `path(1, _)`")
        names = iter(f"any{number}" for number in range(len(atom.terms)))
        terms = [next(names) if isinstance(term, tree.Wildcard) else print_node(term) for term in atom.terms]
        answer = self._session.query(f"{atom.relation}({', '.join(terms)})")
        if not len(answer):
            return {"fact": None}
        values = dict(zip(answer.columns, answer.head(1)[0], strict=True))
        written = [write_value(values[each]) if each in values else each for each in terms]
        return {"fact": f"{atom.relation}({', '.join(written)})"}

    def _answer(self, key: tuple[str, int]) -> Answer:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        found = self._session.query(key[0])
        with self._lock:
            self._kept[key] = found
            for old in [each for each in self._kept if each[1] != key[1]]:
                del self._kept[old]
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found


def _fact_writer(text: str, columns: Sequence[str]) -> Callable[[Fact], list[str]]:
    """Return what writes the positive atoms of a query with the values of a row.

    Only atoms over variables and constants are written, and only if the query has no alternatives.
    """
    body = parse_query(Source("query", text)).body
    places = {name: place for place, name in enumerate(columns)}
    atoms: list[tuple[str, list[int | str]]] = []
    if len(body.alternatives) == 1:
        for element in body.alternatives[0].elements:
            if isinstance(element, tree.Atom):
                terms = [_term(each, places) for each in element.terms]
                if None not in terms:
                    atoms.append((element.relation, [each for each in terms if each is not None]))

    def written(term: int | str, row: Fact) -> str:
        return term if isinstance(term, str) else write_value(row[term])

    def write(row: Fact) -> list[str]:
        return [f"{name}({', '.join(written(each, row) for each in terms)})" for name, terms in atoms]

    return write


def _term(term: tree.Term, places: Mapping[str, int]) -> int | str | None:
    """Return the column that a variable has, or the text of a constant; None for anything else."""
    if isinstance(term, tree.Wildcard):
        return "_"
    if isinstance(term, tree.Variable):
        return places.get(term.name, "_")
    inside = walk_tree.walk((term,), into_aggregates=True)
    if any(isinstance(each, tree.Variable | tree.Wildcard) for each in inside):
        return None
    return print_node(term)
