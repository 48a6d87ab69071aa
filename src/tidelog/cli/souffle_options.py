"""The options of Soufflé that `tidelog run` takes beside its own: scripts written for it keep working.

What an option cannot do here is said in a note if the answers are the same without it. An option without
which a script would get something else is refused, with what takes its place. `docs/souffle.md` has them all.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum, auto
from pathlib import PurePath
from typing import Annotated, Any, Final

import typer

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic, Severity, TidelogError


class Treatment(Enum):
    """What becomes of an option: it is used, needless, noted as without effect, or refused."""

    USED = auto()
    NEEDLESS = auto()
    NOTED = auto()
    REFUSED = auto()


@dataclass(frozen=True, slots=True)
class SouffleOption:
    """An option by its names; `metavar` is empty for a switch.

    `words` say why it has no effect, or what takes its place.
    """

    names: tuple[str, ...]
    metavar: str = ""
    treatment: Treatment = Treatment.USED
    words: str = ""
    is_repeated: bool = False
    help: str = ""

    @property
    def key(self) -> str:
        """Return the name of the parameter."""
        return self.names[-1].lstrip("-").replace("-", "_")


SHOWN: Final = (
    "initial-ast",
    "initial-datalog",
    "initial-ram",
    "parse-errors",
    "precedence-graph",
    "precedence-graph-text",
    "scc-graph",
    "scc-graph-text",
    "transformed-ast",
    "transformed-datalog",
    "transformed-ram",
    "type-analysis",
)
_PROVENANCE: Final = ("none", "explain", "explore")
# Soufflé's warnings by name; those that Tidelog has have a code here.
WARNINGS: Final = {
    "deprecated-type-decl": None,
    "deprecated-qualifier": None,
    "dollar-sign": None,
    "no-rules-nor-facts": "no-source",
    "no-subsumptive-rule": None,
    "var-appears-once": "single-variable",
}
# Preprocessors that do what the one that is built in does.
_PREPROCESSORS: Final = ("cpp", "mcpp", "gcc", "clang", "cc")
_NO_EXECUTABLE: Final = (
    "no C++ is generated; leave the option out to run the program, or use it from Python: tidelog.open(...)"
)
_ORDERS: Final = "orders of joins follow the sizes of relations during the run"

OPTIONS: Final = (
    SouffleOption(("-a", "--auto-schedule"), "FILE", Treatment.NOTED, _ORDERS),
    SouffleOption(("-u", "--profile-use"), "FILE", Treatment.NOTED, _ORDERS),
    SouffleOption(("--emit-statistics",), "", Treatment.NOTED, _ORDERS),
    SouffleOption(("--index-stats",), "", Treatment.NOTED, "`tidelog plan` names the indexes"),
    SouffleOption(("-c", "--compile"), "", Treatment.NEEDLESS),
    SouffleOption(("-C", "--compile-many"), "", Treatment.NEEDLESS),
    SouffleOption(("-z", "--disable-transformers"), "NAMES", Treatment.NOTED, "the passes here are others"),
    SouffleOption(("-o", "--dl-program"), "FILE", Treatment.REFUSED, _NO_EXECUTABLE),
    SouffleOption(("-g", "--generate"), "FILE", Treatment.REFUSED, _NO_EXECUTABLE),
    SouffleOption(("-G", "--generate-many"), "DIR", Treatment.REFUSED, _NO_EXECUTABLE),
    SouffleOption(("-s", "--swig"), "LANG", Treatment.REFUSED, _NO_EXECUTABLE),
    SouffleOption(("-N", "--generate-namespace"), "NS", Treatment.NOTED, "no C++ is generated"),
    SouffleOption(
        ("--inline-exclude",), "NAMES", Treatment.NOTED, "the answers are the same with and without `inline`"
    ),
    SouffleOption(("--legacy",), "", Treatment.NOTED, "older forms of the language are always accepted"),
    SouffleOption(("--live-profile",), "", Treatment.NOTED, "a terminal shows how far a run is"),
    SouffleOption(("--profile-frequency",), "", Treatment.NOTED, "derivations are always counted"),
    SouffleOption(
        ("-m", "--magic-transform"), "NAMES", help="Derive only what is needed of these relations; * for all."
    ),
    SouffleOption(("--magic-transform-exclude",), "NAMES", help="Do not restrict these relations."),
    SouffleOption(("-P", "--pragma"), "NAME:VALUE", is_repeated=True, help="Add a .pragma; repeatable."),
    SouffleOption(("--no-preprocessor",)),
    SouffleOption(("--preprocessor",), "CMD"),
    SouffleOption(("--parse-errors",)),
    SouffleOption(
        ("--show",),
        "FORM",
        is_repeated=True,
        help=f"Only print a form of the program: {', '.join(SHOWN)}.",
    ),
    SouffleOption(
        ("-t", "--provenance"), "NAME", help="explain opens the shell after the run, to ask why facts hold."
    ),
    SouffleOption(("-v", "--verbose"), help="Report on stderr how long each stage and stratum took."),
    SouffleOption(("-W", "--warn"), "NAME", is_repeated=True),
    SouffleOption(("--wno",), "NAME", is_repeated=True, help="Hide warnings of this name; repeatable."),
)


@dataclass(frozen=True, slots=True)
class SouffleOptions:
    """What was asked for with Soufflé's options.

    `notes` are about options without effect; `hidden` are the codes of warnings that are not shown.
    """

    shown: tuple[str, ...] = ()
    pragmas: Mapping[str, str] = field(default_factory=dict)
    opens_shell: bool = False
    is_verbose: bool = False
    hides_all: bool = False
    hidden: frozenset[str] = frozenset()
    needs_plain_text: bool = False
    notes: tuple[Diagnostic, ...] = ()


def parameters() -> list[inspect.Parameter]:
    """Return the options as parameters of a command."""
    return [_parameter(option) for option in OPTIONS]


def _parameter(option: SouffleOption) -> inspect.Parameter:
    kind: Any = (list[str] if option.is_repeated else str) | None if option.metavar else bool
    declared = typer.Option(
        *option.names, metavar=option.metavar or None, help=option.help, hidden=not option.help
    )
    return inspect.Parameter(
        option.key,
        inspect.Parameter.KEYWORD_ONLY,
        default=None if option.metavar else False,
        annotation=Annotated[kind, declared],
    )


def read_souffle_options(values: Mapping[str, Any]) -> SouffleOptions:
    """Return what values of the options ask for; raise if one is refused or not valid."""
    asked = [option for option in OPTIONS if values[option.key]]
    mistakes = [*_refused(asked), *_unknown(values)]
    if mistakes:
        raise TidelogError(mistakes)
    shown = [*(values["show"] or ()), *(["parse-errors"] if values["parse_errors"] else [])]
    named = [name for each in (values["wno"] or ()) for name in each.split(",")]
    return SouffleOptions(
        tuple(dict.fromkeys(shown)),
        dict(_pragmas(values)),
        opens_shell=values["provenance"] in {"explain", "explore"},
        is_verbose=values["verbose"],
        hides_all="all" in named or "none" in (values["warn"] or ()),
        hidden=frozenset(WARNINGS.get(name) or name for name in named),
        needs_plain_text=values["no_preprocessor"],
        notes=tuple(_notes(asked)),
    )


def _refused(asked: Sequence[SouffleOption]) -> Iterator[Diagnostic]:
    for option in asked:
        if option.treatment is Treatment.REFUSED:
            message = f"`{'`, `'.join(option.names)}` is not available"
            yield Diagnostic(code="unsupported-option", message=message, hint=option.words)


def _notes(asked: Sequence[SouffleOption]) -> Iterator[Diagnostic]:
    for option in asked:
        if option.treatment is Treatment.NOTED:
            message = f"`{'`, `'.join(option.names)}` has no effect: {option.words}"
            yield Diagnostic(code="no-effect", message=message, severity=Severity.WARNING)


def _unknown(values: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """Yield the words that options do not take."""
    yield from _outside("--show", values["show"] or (), SHOWN)
    yield from _outside("-t", [values["provenance"]] if values["provenance"] else (), _PROVENANCE)
    command = values["preprocessor"]
    if command and PurePath(command.split()[0]).stem.split("-")[0] not in _PREPROCESSORS:
        yield Diagnostic(
            code="unsupported-option",
            message=f"`--preprocessor {command}` is not available: the preprocessor is built in",
            hint=f"run it first: {command} prog.dl > made.dl, then tidelog run made.dl",
        )
    for pragma in values["pragma"] or ():
        if not pragma.partition(":")[0]:
            message = f"`--pragma {pragma}` names nothing"
            yield Diagnostic(code="unsupported-option", message=message, hint="write NAME:VALUE")


def _outside(option: str, words: Sequence[str], known: Sequence[str]) -> Iterator[Diagnostic]:
    from tidelog.program.suggest import did_you_mean  # noqa: PLC0415 - starts quickly otherwise

    for word in words:
        if word not in known:
            hint = did_you_mean(word, known, f"choose one of {', '.join(known)}")
            message = f"`{option} {word}` is not available"
            yield Diagnostic(code="unsupported-option", message=message, hint=hint)


def _pragmas(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for pragma in values["pragma"] or ():
        name, _, value = pragma.partition(":")
        yield name, value
    for key in ("magic_transform", "magic_transform_exclude"):
        if values[key]:
            yield key.replace("_", "-"), values[key]
