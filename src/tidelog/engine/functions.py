"""Functions for the functors a program declares: in Python, or in shared libraries."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeVar, overload

from tidelog.engine.lattice_tables import with_tables
from tidelog.engine.libraries import Libraries
from tidelog.engine.protocol import UserFunctions
from tidelog.engine.user_aggregates import is_object
from tidelog.errors import Diagnostic, raise_if_any
from tidelog.errors.arguments import Arguments
from tidelog.program import nodes
from tidelog.program.lattice_tables import table_functors, table_of
from tidelog.program.nodes import Program
from tidelog.program.suggest import counted, did_you_mean
from tidelog.program.walk_nodes import walk
from tidelog.source import Span
from tidelog.values import Value

Function = TypeVar("Function", bound=Callable[..., Value])

# The one registry of the process: a decorator has nowhere else to put what it is given. Only
# `functor` writes to it and only `bind_functions` reads it; `open(functions=...)` goes before it.
_REGISTERED: Final[dict[str, Callable[..., Value]]] = {}


@overload
def functor(function: Function, /) -> Function: ...
@overload
def functor(*, name: str) -> Callable[[Function], Function]: ...
def functor(
    function: Function | None = None, /, *, name: str | None = None
) -> Function | Callable[[Function], Function]:
    """Register a Python function for `.functor` declarations of the same name; return it unchanged.

        @tidelog.functor
        def twice(x: int) -> int:
            return 2 * x

    goes with `.functor twice(x: number): number` and `@twice(x)` in a program opened later. A later
    registration under the same name replaces the earlier one.
    """

    def register(registered: Function) -> Function:
        _check_registered(registered, name)
        _REGISTERED[name or registered.__name__] = registered
        return registered

    return register if function is None else register(function)


Class = TypeVar("Class", bound=type)


@overload
def aggregate(cls: Class, /) -> Class: ...
@overload
def aggregate(*, name: str) -> Callable[[Class], Class]: ...
def aggregate(cls: Class | None = None, /, *, name: str | None = None) -> Class | Callable[[Class], Class]:
    """Register a class for `.functor` declarations of the same name; return it unchanged.

        @tidelog.aggregate
        class product:
            def __init__(self): self.value = 1
            def add(self, value): self.value *= value
            def result(self): return self.value

    goes with `.functor product(x: number): number` and `@@product x : { ... }`. `remove(value)` undoes
    `add(value)`; `merge(other)` returns a new object for the values of both, those of `other` after
    its own. With either method, a change in a group costs little.
    """

    def register(registered: Class) -> Class:
        _check_registered(registered, name)
        _REGISTERED[name or registered.__name__] = registered
        return registered

    return register if cls is None else register(cls)


def _check_registered(registered: object, name: object) -> None:
    with Arguments() as arguments:
        arguments.function("function", registered)
        is_right = isinstance(name, str) or (name is None and hasattr(registered, "__name__"))
        arguments.expect("name", name, "a text", is_right=is_right)


def bind_functions(
    program: Program,
    functions: Mapping[str, Callable[..., Value]] | None,
    libraries: Libraries | None = None,
) -> UserFunctions:
    """Return the function of every functor the program uses.

    Names in `functions` go before registered ones, and these before functions of libraries. A functor
    without a function, and a function that cannot take the declared number of arguments, are mistakes.
    """
    tables = table_functors(program.lattices)
    known = {**_REGISTERED, **(functions or {})}
    known = {name: each for name, each in known.items() if name not in tables}
    used = dict(_uses(program))
    if libraries is not None:
        classes = frozenset(_classes(program))
        missing = [(name, span) for name, span in used.items() if name not in known and name not in classes]
        known |= libraries.functors(program, missing) if missing else {}
    raise_if_any(_mistakes(program, used, known))
    return with_tables(program, {name: known[name] for name in used})


def _uses(program: Program) -> Iterator[tuple[str, Span | None]]:
    for lattice in program.lattices.values():
        for join in (lattice.lub, lattice.glb, lattice.widen, lattice.narrow):
            if join is not None and join not in nodes.INTRINSIC_JOINS and table_of(join) is None:
                yield join, None
    for node in walk((program,)):
        match node:
            case nodes.UserApplication():
                yield node.name, node.span
            case nodes.Aggregate() if node.functor.startswith("@"):
                yield node.functor.removeprefix("@"), node.span
            case _:
                continue


def _classes(program: Program) -> Iterator[str]:
    """Yield the names of aggregates that are classes."""
    for node in walk((program,)):
        if isinstance(node, nodes.Aggregate) and is_object(node):
            yield node.functor.removeprefix("@")


def _class_mistakes(name: str, known: Callable[..., Value], span: Span | None) -> Iterator[Diagnostic]:
    lacking = [method for method in ("add", "result") if not hasattr(known, method)]
    if lacking or not _takes(known, 0):
        what = f"has no `{lacking[0]}`" if lacking else "cannot be created without operands"
        yield Diagnostic(
            code="bad-aggregate",
            message=f"the object for the aggregate `{name}` {what}",
            span=span,
            hint="give a class with the methods `add(value)` and `result()`, see @tidelog.aggregate",
        )


def _mistakes(
    program: Program, used: Mapping[str, Span | None], known: Mapping[str, Callable[..., Value]]
) -> Iterator[Diagnostic]:
    classes = frozenset(_classes(program))
    for name, span in used.items():
        if name not in known:
            yield Diagnostic(
                code="missing-function",
                message=f"no Python function is given for the functor `{name}`",
                span=span,
                hint=did_you_mean(
                    name,
                    known,
                    f"pass functions={{{name!r}: ...}}, or decorate one with @tidelog.functor;"
                    " on the command line name its file: --functions FILE, or -l NAME for one in C",
                ),
            )
            continue
        if name in classes:
            yield from _class_mistakes(name, known[name], span)
            continue
        count = len(program.functors[name].parameters) if name in program.functors else 2
        if not _takes(known[name], count):
            yield Diagnostic(
                code="wrong-function-arity",
                message=f"the function of `{name}` does not take {counted(count, 'argument')}",
                span=span,
                hint=f"`{name}` is declared with {counted(count, 'parameter')}",
            )


def _takes(function: Callable[..., Value], count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except ValueError:
        return True  # some built-in functions do not tell their signature
    except TypeError:
        return False
    return True
