"""The rules of a program as they were written, and the program without or with some of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from tidelog import syntax
from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import described
from tidelog.program.suggest import did_you_mean
from tidelog.source import Source, Span
from tidelog.syntax import parse, tree

RuleItem = tree.Rule | tree.Subsumption
_LISTED: Final = "`db.rules` lists the rules and their ids, and so does `rules` in the shell"


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """A rule, subsumption or fact of the program's text.

    `id` stays the same as long as the session lives, whatever other rules come and go.
    """

    id: int
    text: str
    span: Span = field(compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.id}: {self.text}"


# A rule, its id, its text (or the text of several), or several of these.
SomeRules = WrittenRule | int | str | Iterable["WrittenRule | int | str"]


@dataclass(frozen=True)
class TextPiece:
    """One text of the program; `removed` are the ids of its rules that count no more."""

    source: Source
    parsed: tree.SyntaxTree
    first_id: int
    removed: frozenset[int] = frozenset()

    @cached_property
    def rules(self) -> dict[int, RuleItem]:
        """Return the rules in the order of the text, those in components too."""
        numbered = enumerate(_rule_items(self.parsed.items), start=self.first_id)
        return {number: item for number, item in numbered if number not in self.removed}

    @property
    def end_id(self) -> int:
        """Return the id after the last one."""
        return self.first_id + sum(1 for _ in _rule_items(self.parsed.items))

    @cached_property
    def kept(self) -> tree.SyntaxTree:
        """Return the tree without the removed rules."""
        if not self.removed:
            return self.parsed
        counter = iter(range(self.first_id, self.end_id))
        return tree.SyntaxTree(tuple(_without(self.parsed.items, lambda: next(counter) in self.removed)))

    def portable(self) -> Source:
        """Return a text of the piece that needs no other file.

        It is the text itself unless rules were removed from it or the preprocessor had work to do.
        """
        is_plain = not self.removed and all(item.span.source is self.source for item in self.parsed.items)
        if is_plain and not any(line.lstrip().startswith("#") for line in self.source.text.splitlines()):
            return self.source
        return Source(self.source.name, syntax.print_tree(self.kept))


@dataclass(frozen=True)
class ProgramText:
    """The texts a program is made of: the one it was opened with, and those added later.

    A text that was added and of which nothing is left is dropped. `next_id` is the id of the next
    rule: ids are never given twice.
    """

    pieces: tuple[TextPiece, ...]
    next_id: int = 1

    @classmethod
    def read(
        cls,
        sources: Iterable[Source],
        include_path: Iterable[Path] = (),
        defines: Mapping[str, str] | None = None,
    ) -> "ProgramText":
        """Return the parsed texts; all mistakes in all of them are raised together."""
        text = cls(())
        found: list[Diagnostic] = []
        for source in sources:
            try:
                text = text.with_source(source, include_path, defines)
            except TidelogError as error:
                found += error.diagnostics
        if found:
            raise TidelogError(found)
        return text

    @property
    def tree(self) -> tree.SyntaxTree:
        """Return all texts as one tree."""
        if len(self.pieces) == 1:
            return self.pieces[0].kept
        return tree.SyntaxTree(tuple(item for piece in self.pieces for item in piece.kept.items))

    @cached_property
    def rules(self) -> tuple[WrittenRule, ...]:
        """Return all rules with their ids."""
        return tuple(
            WrittenRule(number, syntax.print_node(item), item.span)
            for piece in self.pieces
            for number, item in piece.rules.items()
        )

    @property
    def sources(self) -> tuple[Source, ...]:
        """Return texts that give the same program anywhere."""
        return tuple(piece.portable() for piece in self.pieces)

    def unused_name(self) -> str:
        """Return a name for added rules that no text has yet."""
        taken = {piece.source.name for piece in self.pieces}
        number = 1
        while f"added rules {number}" in taken:
            number += 1
        return f"added rules {number}"

    def newest(self, texts: Iterable[str]) -> tuple[int | str, ...]:
        """Return the id of a rule for each text, the newest of equal ones; unknown texts stay."""
        ids: dict[str, list[int]] = {}
        for rule in self.rules:
            ids.setdefault(rule.text, []).append(rule.id)
        return tuple(ids[text].pop() if ids.get(text) else text for text in texts)

    def with_source(
        self, source: Source, include_path: Iterable[Path] = (), defines: Mapping[str, str] | None = None
    ) -> "ProgramText":
        """Return the program with another text."""
        parsed = parse(source, include_path=tuple(include_path), defines=defines)
        piece = TextPiece(source, parsed, self.next_id)
        return ProgramText((*self.pieces, piece), piece.end_id)

    def without(self, rules: SomeRules) -> "ProgramText":
        """Return the program without some rules.

        A text names every rule that reads the same, whatever its layout.
        """
        wanted: set[int] = set()
        found: list[Diagnostic] = []
        for each in rules if isinstance(rules, Iterable) and not isinstance(rules, str) else [rules]:
            match each:
                case WrittenRule():
                    self._find_id(each.id, wanted, found)
                case str():
                    self._find_text(each, wanted, found)
                case int() if not isinstance(each, bool):
                    self._find_id(each, wanted, found)
                case _:
                    found.append(_no_rule(f"a rule cannot be named by {described(each)}"))
        if found:
            raise TidelogError(found)
        first, *others = (
            replace(piece, removed=piece.removed | now_removed)
            if (now_removed := wanted & piece.rules.keys())
            else piece
            for piece in self.pieces
        )
        return ProgramText((first, *(piece for piece in others if piece.kept.items)), self.next_id)

    def _find_id(self, number: int, wanted: set[int], found: list[Diagnostic]) -> None:
        if any(number in piece.rules for piece in self.pieces):
            wanted.add(number)
        else:
            found.append(_no_rule(f"there is no rule {described(number)}"))

    def _find_text(self, text: str, wanted: set[int], found: list[Diagnostic]) -> None:
        if text.strip().isidentifier():
            found.append(_no_rule(f"`{text.strip()}` names a relation and not one of its rules"))
            return
        try:
            items = parse(Source("rules to remove", text)).items
        except TidelogError as error:
            found += error.diagnostics
            return
        for item in items:
            equal = {
                number for piece in self.pieces for number, known in piece.rules.items() if known == item
            }
            if not equal:
                texts = [rule.text for rule in self.rules[:1000]]
                hint = did_you_mean(
                    syntax.print_node(item),
                    texts,
                    _LISTED,
                )
                found.append(
                    _no_rule(f"the program has no rule `{syntax.print_node(item)}`", item.span, hint)
                )
            wanted |= equal


def _rule_items(items: Iterable[tree.Item]) -> Iterator[RuleItem]:
    for item in items:
        if isinstance(item, RuleItem):
            yield item
        elif isinstance(item, tree.Component):
            yield from _rule_items(item.items)


def _without(items: Iterable[tree.Item], is_next_removed: Callable[[], bool]) -> Iterator[tree.Item]:
    """Yield the items but the rules that are removed, asked in the order of `_rule_items`."""
    for item in items:
        if isinstance(item, tree.Component):
            yield replace(item, items=tuple(_without(item.items, is_next_removed)))
        elif not isinstance(item, RuleItem) or not is_next_removed():
            yield item


def _no_rule(message: str, span: Span | None = None, hint: str | None = None) -> Diagnostic:
    hint = hint or _LISTED
    return Diagnostic(code="no-such-rule", message=message, span=span, hint=hint)
