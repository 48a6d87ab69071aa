"""The options of `tidelog.open`, of the command line and of jobs: one list, documented and checked here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, fields, replace
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar, get_args

from tidelog.dataclass import dataclass
from tidelog.engine.epoch import MaintenanceSettings, Strategy
from tidelog.engine.libraries import Libraries
from tidelog.engine.protocol import Observer, Settings
from tidelog.engine.settings import make_settings
from tidelog.engine.strategy import choose_strategy
from tidelog.errors import Diagnostic, TidelogError
from tidelog.errors.arguments import Arguments, bad_argument, paths
from tidelog.program.suggest import did_you_mean
from tidelog.values import Value

if TYPE_CHECKING:
    from tidelog.explain.proofs.metric import Metric

EngineName = Literal["local", "reference", "spark", "cuda"]
Evaluate = Literal["all", "magic", "on-demand"]
Switch = Literal["work", "clock"]

# The parameters of `OpenOptions`, for functions that take them by name.
Named = ParamSpec("Named")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """How a session is opened; every option has a default, and an invalid one is a diagnostic.

    `facts`: a folder, read as the program's `.input` directives say, or a mapping from relations to facts:
    tuples, a pandas or polars frame, anything that supports Arrow, a mapping of columns, or the path of a
    CSV, TSV, Parquet or JSON file. Without facts the inputs are empty.
    `engine`: what runs the program: `"local"`, `"reference"`, `"spark"` or, on a GPU, `"cuda"`.
    `jobs`: the number of threads; all cores by default.
    `memory_limit`: an amount such as `"4G"` beyond which the evaluation stops.
    `iteration_limit`: the number of iterations that a stratum may take.
    `functions`: Python callables for `.functor` declarations, which take precedence over those registered
    with `@tidelog.functor` and `@tidelog.aggregate`.
    `libraries`: shared libraries with C functions for `.functor` declarations without a Python function:
    names such as `"functors"` for `libfunctors.so`, or paths.
    `library_path`: folders of such libraries; the current one by default.
    `library_bits`: how wide their numbers are, 32 or 64, if they were compiled without `tidelog.h`.
    `include_path`: folders that `#include` searches.
    `defines`: macros.
    `observer`: receives progress.
    `profile`: measure the evaluation by rule, iteration and operator, for `db.profile()`.
    `evaluate`: when facts are derived: `"all"` of them when the session is opened and in every epoch;
    `"on-demand"` when a question needs them; `"magic"` on demand only for relations declared `magic`.
    `strategy`: how epochs are applied.
    `max_update_share`: the share of a recompute's cost that an update may take to find what is affected.
    `switch`: what decides that an update takes too long: `"work"` counts derivations, stratum by stratum,
    under `auto`; `"clock"` abandons an epoch that takes longer than that share of the last evaluation.
    `store`: a folder that keeps the program and its state. If it already holds a store, the session continues
    from there: the program may be left out, and `facts` are not read again.
    `keep_epochs`: how many epochs `db.history`, `db.at` and `db.diff` know, in a store too; by default the
    last thousand, fewer if they change more than a million facts, and in a store those since its checkpoint.
    `read_only`: read the last epoch of a store while another process writes to it.
    `provenance`: `"height"` makes `why` return proofs of minimal height: iterations are counted across
    strata, and every epoch keeps it that way. Another metric, `"nodes"` or a `Metric`, is minimised when
    you ask for a proof.
    `spark`: the Spark session whose workers the engine `"spark"` uses; `facts` may be its
    DataFrames.
    `spark_options`: the fields of `tidelog.spark.SparkOptions`, for the same engine.

        options = tidelog.OpenOptions(jobs=1, memory_limit="4G")
        db = tidelog.open("pointsto.dl", options=options)
    """

    _: KW_ONLY
    facts: Path | str | Mapping[str, object] | None = None
    engine: EngineName = "local"
    jobs: int | None = None
    memory_limit: int | str | None = None
    iteration_limit: int | None = None
    functions: Mapping[str, Callable[..., Value]] | None = None
    libraries: Sequence[Path | str] = ()
    library_path: Sequence[Path | str] = ()
    library_bits: int | None = None
    include_path: Sequence[Path | str] = ()
    defines: Mapping[str, str] | None = None
    observer: Observer | None = None
    profile: bool = False
    evaluate: Evaluate = "all"
    strategy: str = "auto"
    max_update_share: float = 0.2
    switch: Switch = "work"
    store: Path | str | None = None
    keep_epochs: int | None = None
    read_only: bool = False
    provenance: "str | Metric | None" = None
    spark: object = None
    spark_options: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        """Raise `TidelogError` with every mistake."""
        with Arguments() as arguments:
            self._check_values(arguments)
            self._check_engine(arguments)
            arguments.refuse(
                if_any={"read_only": self.read_only is True and self.store is None},
                because="there is no store",
                hint="name it: store='folder'",
            )
            with arguments.noting():
                _ = self.settings
            with arguments.noting():
                _ = self.include_folders
            with arguments.noting():
                _ = self.shared_libraries
            with arguments.noting():
                self._check_provenance()
            if isinstance(self.engine, str):
                with arguments.noting():
                    _ = self.maintenance

    @property
    def settings(self) -> Settings:
        """Return what the engine is told about a run."""
        settings = make_settings(self.jobs, self.memory_limit, self.iteration_limit)
        return replace(settings, counts_iterations=self.strategy == Strategy.COUNTING.value)

    @property
    def maintenance(self) -> MaintenanceSettings:
        """Return how epochs are applied."""
        share, engine = self.max_update_share, self.engine
        return choose_strategy(MaintenanceSettings(), self.strategy, share, engine, self.switch)

    @property
    def include_folders(self) -> tuple[Path, ...]:
        """Return the folders for `#include`."""
        return paths("include_path", self.include_path)

    @property
    def shared_libraries(self) -> Libraries | None:
        """Return the libraries with functors, None if none is named."""
        names = tuple(map(str, paths("libraries", self.libraries)))
        folders = paths("library_path", self.library_path)
        return Libraries(names, folders, self.library_bits) if names else None

    @property
    def store_folder(self) -> Path | None:
        """Return the folder of the store."""
        return None if self.store is None else Path(self.store)

    def _check_values(self, arguments: Arguments) -> None:
        wanted = "a mapping from names to functions"
        arguments.mapping("functions", self.functions, wanted, of=callable, is_optional=True)
        wanted = "a mapping from names to texts"
        arguments.mapping("defines", self.defines, wanted, of=_is_text, is_optional=True)
        wanted = "32 or 64"
        arguments.expect(
            "library_bits", self.library_bits, wanted, is_right=self.library_bits in (None, 32, 64)
        )
        choices = get_args(Evaluate)
        wanted = f"one of {', '.join(choices)}"
        arguments.expect("evaluate", self.evaluate, wanted, is_right=self.evaluate in choices)
        arguments.path("store", self.store, is_optional=True)
        arguments.whole("keep_epochs", self.keep_epochs, least=1, is_optional=True)
        arguments.flag("read_only", self.read_only)
        arguments.flag("profile", self.profile)
        metric = self.provenance
        is_metric = metric is None or isinstance(metric, str) or hasattr(metric, "combine")
        arguments.expect("provenance", metric, "the name of a metric or a Metric", is_right=is_metric)
        needed = ("stratum_started", "iteration_finished", "stratum_finished")
        is_observer = self.observer is None or all(
            callable(getattr(self.observer, name, None)) for name in needed
        )
        arguments.expect(
            "observer", self.observer, f"an object with {', '.join(needed)}", is_right=is_observer
        )

    def _check_provenance(self) -> None:
        """Raise if the metric of proofs has the name of none."""
        if self.provenance is not None:
            from tidelog.explain.proofs.provenance import check_provenance  # noqa: PLC0415 - a run has none

            check_provenance(self.provenance)

    def _check_engine(self, arguments: Arguments) -> None:
        """Note what the engine has no use for."""
        if not isinstance(self.engine, str):
            arguments.diagnostics.append(bad_argument("engine", self.engine, "the name of an engine"))
            return
        names = get_args(EngineName)
        if self.engine not in names:
            arguments.diagnostics.append(
                Diagnostic(
                    code="unknown-engine",
                    message=f"there is no engine `{self.engine}`",
                    hint=did_you_mean(self.engine, names, f"choose one of {', '.join(names)}"),
                )
            )
        arguments.refuse(
            if_any={"evaluate": self.evaluate != "all" and self.provenance == "height"},
            because="heights are counted when everything is evaluated",
            hint="ask for the metric with the question: db.why(fact, metric='height')",
        )
        if self.engine in {"spark", "cuda"}:
            arguments.refuse(
                if_any={"evaluate": self.evaluate != "all"},
                because=f"the engine `{self.engine}` evaluates everything",
                hint="questions are followed by the engines `local` and `reference`",
            )
        if self.engine != "spark":
            arguments.refuse(
                if_any={
                    "spark": self.spark is not None,
                    "spark_options": self.spark_options is not None,
                },
                because="only the engine `spark` needs it",
            )
        arguments.refuse(
            if_any={"memory_limit": self.engine == "reference" and self.memory_limit is not None},
            because="the engine `reference` does not watch its memory",
        )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def combine_options(options: OpenOptions | None, named: Mapping[str, Any]) -> OpenOptions:
    """Return the options with those that are named in their place; a name that is none is a diagnostic."""
    known = [each.name for each in fields(OpenOptions)]
    unknown = [name for name in named if name not in known]
    if unknown:
        raise TidelogError(
            Diagnostic(
                code="unknown-option",
                message=f"there is no option `{name}`",
                hint=did_you_mean(name, known, f"the options are {', '.join(known)}"),
            )
            for name in unknown
        )
    if options is None:
        return OpenOptions(**named)
    if not isinstance(options, OpenOptions):
        raise TidelogError([bad_argument("options", options, "a tidelog.OpenOptions")])
    return replace(options, **named)


def show_options(function: Callable[..., T]) -> Callable[..., T]:
    """Return a function that takes options by name, with their names in its signature."""
    hidden = (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)
    own = [each for each in signature(function).parameters.values() if each.kind not in hidden]
    usual = OpenOptions()
    named = [
        Parameter(
            each.name,
            Parameter.KEYWORD_ONLY,
            default=getattr(usual, each.name),
            annotation=each.type,
        )
        for each in fields(OpenOptions)
    ]
    function.__signature__ = Signature([*own, *named])  # type: ignore[attr-defined]  # read by `inspect`
    return function
