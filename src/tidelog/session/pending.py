"""What the next epoch is to be: changes of facts, and perhaps other rules, all of it or nothing."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tidelog.engine.epoch import MaintainedEngine
from tidelog.engine.functions import bind_functions
from tidelog.engine.protocol import Codes
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import Arguments, bad_argument
from tidelog.explain.blame.answers import Repair
from tidelog.program.codec_beside import codec_beside
from tidelog.program.inputs import find_changeable, fixed_relation
from tidelog.program.lattice_tables import table_of
from tidelog.program.text import ProgramText, SomeRules
from tidelog.session.changes import Change, Changes, Gathering, NetChange
from tidelog.session.prepare import Prepared, prepare_text, with_inputs
from tidelog.source import Source
from tidelog.syntax.changes import WrittenTransaction
from tidelog.syntax.find_source import find_source
from tidelog.trees.edits import EditScript
from tidelog.values import Codec, Value
from tidelog.views.delta import RelationDeltas

# A text of rules as `tidelog.open` takes a program, or several.
SomeText = str | Path | Source | Iterable[str | Path | Source]
Functions = Mapping[str, Callable[..., Value]]
# What `apply` takes as its first argument.
AnyChanges = Changes | WrittenTransaction | EditScript | Repair


class PendingEpoch(Gathering):
    """Changes of facts and of rules in the order they were asked for.

    Facts may be of relations that the new rules declare. Nothing of the session changes before the
    whole is committed: the new program is checked here, beside the old one.
    """

    def __init__(self, prepared: Prepared, codec: Codec, changeable: frozenset[str]) -> None:
        super().__init__(prepared.program, codec, changeable)
        self._before = prepared
        self._after = prepared
        self._text = prepared.text
        self._new_functions: dict[str, Callable[..., Value]] = {}
        # Rules that could not be read at all.
        self._misread: list[Diagnostic] = []
        # What is wrong with the program; rules that follow may put it right.
        self._mistakes: list[Diagnostic] = []

    @property
    def has_rules(self) -> bool:
        """Say whether the program gets another text."""
        return self._text is not self._before.text

    @property
    def all_mistakes(self) -> tuple[Diagnostic, ...]:
        """Return what is wrong with the rules and with the facts so far."""
        rules = (*self._misread, *self._mistakes)
        # What the rules declare is not known while they are wrong.
        facts = [each for each in self.diagnostics if not rules or each.code != "undeclared-relation"]
        return (*rules, *facts)

    @property
    def base(self) -> ProgramText:
        """Return the text of the program that the changes started from."""
        return self._before.text

    def rules(
        self,
        *,
        remove: SomeRules | None = None,
        add: SomeText | None = None,
        functions: Functions | None = None,
    ) -> None:
        """Take rules to remove and rules to add; one that is in both is there afterwards."""
        try:
            with Arguments() as arguments:
                wanted = "a mapping from names to functions"
                arguments.mapping("functions", functions, wanted, of=callable, is_optional=True)
            text = self._text if remove is None else self._text.without(remove)
            for each in () if add is None else _texts(add):
                text = self._with(text, each)
        except TidelogError as error:
            self._misread += error.diagnostics
            return
        self._text = replace(text)
        self._new_functions.update(functions or {})
        self._mistakes = list(self._replaced_functions())
        try:
            self._after = self._prepare()
        except TidelogError as error:
            self._mistakes += error.diagnostics
            return
        self._mistakes += self._changed_tables()
        program = self._after.program
        self._aim(
            program, codec_beside(self._codec, program.types), find_changeable(program, self._after.inputs)
        )

    def changes(self, changes: AnyChanges) -> None:
        """Take changes of facts, whatever says them."""
        match changes:
            case Repair():
                changes.gather(self)
            case WrittenTransaction():
                self.transaction(changes)
            case EditScript():
                super().changes(script_changes(changes, self._program.relations))
            case _:
                super().changes(changes)

    def rules_of(self, changes: object) -> None:
        """Take the rules that a repair or a delta changes; other changes have none."""
        if isinstance(changes, Repair):
            changes.gather_rules(self)
        elif isinstance(changes, RelationDeltas) and changes.rules:
            self.rules(remove=self._text.newest(changes.rules.deleted), add=changes.rules.inserted)

    def _with(self, text: ProgramText, added: str | Path | Source) -> ProgramText:
        options, source = self._before.request.options, find_source(added)
        if source.text == added:
            source = Source(text.unused_name(), source.text)
        return text.with_source(source, options.include_folders, options.defines)

    def _prepare(self) -> Prepared:
        before = self._before
        # The functions that rules were evaluated with stay theirs, whatever was registered since.
        known = {**(before.request.options.functions or {}), **before.functions, **self._new_functions}
        return prepare_text(before.request.changed(functions=known), self._text, before.inputs)

    def _replaced_functions(self) -> Iterator[Diagnostic]:
        used = bind_functions(self._before.program, self._before.functions)
        for name, function in self._new_functions.items():
            if name in used and used[name] is not function:
                yield Diagnostic(
                    code="function-in-use",
                    message=f"rules use the functor `{name}` already, with another function",
                    hint="remove these rules in an earlier epoch, or give the new function another name",
                )

    def _changed_tables(self) -> Iterator[Diagnostic]:
        """Yield a diagnostic for each relation with values of a lattice's operators that would change."""
        before = self._before.functions
        for name, table in self._after.functions.items():
            relation = table_of(name)
            if relation is not None and before.get(name, table) != table:
                yield fixed_relation(relation)

    def net(self, engine: MaintainedEngine) -> NetChange:
        """Return the changes of facts that are left to do; raise all mistakes, those in rules too."""
        if self.all_mistakes:
            raise TidelogError(self.all_mistakes)
        return super().net(engine)

    def _is_input(
        self, engine: MaintainedEngine, name: str, columns: Sequence[Codes]
    ) -> npt.NDArray[np.bool_]:
        if name in self._before.program.relations:
            return super()._is_input(engine, name, columns)
        return np.zeros(len(columns[0]), np.bool_)

    def prepared(self, net: NetChange) -> Prepared:
        """Return the program of the epoch, which knows the relations that were given facts."""
        return with_inputs(self._after, tuple(net.changes))

    def check_program(self, prepared: Prepared) -> None:
        """Raise if the program changed since in a way that the changes do not fit any more."""
        if prepared.text is self.base:
            # Relations may have been given facts since; they stay inputs.
            self._after = with_inputs(self._after, prepared.inputs)
            return
        if self.has_rules:
            raise TidelogError([_overtaken()])
        self._check_changeable(find_changeable(prepared.program, prepared.inputs))


def script_changes(script: EditScript, relations: Container[str]) -> Mapping[str, Change]:
    """Return what an edit script inserts and deletes, of the relations that the program has.

    A program that declares only some of a tree's relations is told of those alone: no rule of it
    could read the others.
    """
    changes = script.columns(relations).items()
    return {name: Change(_by_place(change.insert), _by_place(change.delete)) for name, change in changes}


def _by_place(columns: Mapping[str, object] | None) -> object:
    """Return columns that are taken by position, whatever the program calls them."""
    return () if columns is None else {str(place): column for place, column in enumerate(columns.values())}


def _texts(texts: SomeText) -> Iterable[str | Path | Source]:
    if isinstance(texts, (str, Path, Source)):
        return [texts]
    if isinstance(texts, bytes) or not isinstance(texts, Iterable):
        raise TidelogError([bad_argument("add_rules", texts, "a text or a path, or several")])
    return texts


def _overtaken() -> Diagnostic:
    return Diagnostic(
        code="rules-changed",
        message="the rules of the program changed since the transaction began",
        hint="start a new one with db.transaction()",
    )
