"""What a user may choose about a run on Spark."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from tidelog.dataclass import dataclass
from tidelog.engine.spark.greeting import Safety, Tls
from tidelog.errors import Diagnostic, TidelogError, raise_if_any
from tidelog.program.suggest import did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SparkOptions:
    """How strata are spread over workers.

    `partners` is the number of tasks that work together (all slots by default). A stratum that reads
    at most `driver_facts` facts runs in the driver, where it is finished before Spark has started a task.
    A relation of at most `replicated_facts` facts may be copied to all partners; larger ones are divided. A
    session lets one worker keep a stratum that decides about facts together and reads no more than these.
    Of a relation's difference in an epoch, at most `delta_facts` facts come to the driver unasked.
    `storage` is a folder that driver and workers share; a temporary one is used if all run on one
    machine. `exchange` is how partners send facts: "sockets", "shuffle", or "auto", which takes sockets
    where Spark allows barrier stages. `rendezvous` is where partners find each other: the "driver", or
    Spark's "barrier", which takes a second. `resident` keeps partners and their memory between epochs.
    `encrypt` is whether their connections are encrypted, by default where they may leave the machine;
    `ports` is the first and the last port to listen on. A partner that is silent for `silence_seconds`
    counts as lost.
    """

    spark: "SparkSession"
    partners: int | None = None
    driver_facts: int = 100_000
    replicated_facts: int = 2_000_000
    delta_facts: int = 100_000
    storage: str | None = None
    exchange: str = "auto"
    rendezvous: str = "driver"
    resident: bool = False
    checkpoint_seconds: float = 30.0
    attempts: int = 3
    tls: Tls | None = None
    encrypt: bool | None = None
    ports: tuple[int, int] | None = None
    silence_seconds: float = 120.0

    @property
    def safety(self) -> Safety:
        """Return how connections between partners are protected."""
        return Safety(self.tls, self.encrypt, self.ports, self.silence_seconds)

    def check(self) -> None:
        """Raise diagnostics for values that make no sense."""
        raise_if_any(self._mistakes())

    def _mistakes(self) -> Iterator[Diagnostic]:
        choices = (
            ("exchange", self.exchange, ("auto", "sockets", "shuffle")),
            ("rendezvous", self.rendezvous, ("driver", "barrier")),
        )
        for name, value, allowed in choices:
            if value not in allowed:
                message = f"`{value}` is not a valid `{name}`"
                yield Diagnostic(
                    code="spark-bad-option", message=message, hint=f"one of {', '.join(allowed)}"
                )
        for name, number in (("partners", self.partners), ("attempts", self.attempts)):
            if number is not None and number < 1:
                yield Diagnostic(code="spark-bad-option", message=f"{number} is not a valid number of {name}")
        if self.ports is not None and not 0 < self.ports[0] <= self.ports[1] < 1 << 16:
            message = f"{self.ports[0]} to {self.ports[1]} is not a range of ports"
            yield Diagnostic(code="spark-bad-option", message=message, hint="write ports=(40000, 40999)")
        if not self.silence_seconds > 0:
            message = f"{self.silence_seconds} is not a number of seconds that a partner may be silent"
            yield Diagnostic(code="spark-bad-option", message=message, hint="write silence_seconds=120")


def read_options(pairs: Sequence[str]) -> dict[str, object]:
    """Return the options that texts such as `partners=4`, `resident=true` and `ports=40000-40999` set."""
    kinds = {each.name: str(each.type) for each in fields(SparkOptions)}
    named = {name: kind for name, kind in kinds.items() if name not in {"spark", "tls"}}
    chosen: dict[str, object] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or name not in named:
            message = f"`{pair}` sets no Spark option" if equals else f"`{pair}` is not NAME=VALUE"
            hint = did_you_mean(name, named, f"the options are {', '.join(named)}")
            raise TidelogError([Diagnostic(code="spark-bad-option", message=message, hint=hint)])
        try:
            chosen[name] = _value(text, named[name])
        except ValueError as error:
            message = f"{text!r} is not a valid `{name}`"
            hint = f"write {name}={_example(named[name])}"
            raise TidelogError([Diagnostic(code="spark-bad-option", message=message, hint=hint)]) from error
    return chosen


def _value(text: str, kind: str) -> object:
    if "tuple" in kind:
        first, _, last = text.partition("-")
        return int(first), int(last)
    if "bool" in kind:
        if text not in {"true", "false"}:
            raise ValueError(text)
        return text == "true"
    if "float" in kind:
        return float(text)
    return int(text) if "int" in kind else text


def _example(kind: str) -> str:
    examples = {"tuple": "40000-40999", "bool": "true", "float": "30", "int": "4"}
    return next((example for word, example in examples.items() if word in kind), "TEXT")
