"""`tidelog run --show`: the forms that a program takes on its way to the engine."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import typer

from tidelog.cli.guard import show
from tidelog.cli.programs import read_program
from tidelog.errors import Severity, TidelogError
from tidelog.options import OpenOptions
from tidelog.plan.passes import keep_wanted
from tidelog.program import build_program, nodes
from tidelog.program.printing import print_program, print_rule
from tidelog.program.walk_nodes import walk
from tidelog.session.prepare import Request, read_text
from tidelog.syntax import print_tree
from tidelog.syntax.parser import parse_what_can_be

# Exit statuses have eight bits, and some of them mean something else.
_MOST_ERRORS: Final = 100


def show_program(path: Path, options: OpenOptions, forms: Sequence[str], pragmas: Mapping[str, str]) -> None:
    """Print forms of a program. `parse-errors` goes alone, and its status is their number, as in Soufflé."""
    source = read_program(path)
    if "parse-errors" in forms:
        _show_parse_errors(Request(source, options))
        return
    text = read_text(Request(source, options))
    if set(forms) <= {"initial-ast", "initial-datalog"}:
        sys.stdout.write(print_tree(text.tree))
        return
    program, _ = build_program(text.tree)
    program = replace(program, pragmas={**program.pragmas, **pragmas})
    for form in forms:
        if form in _FORMS:
            sys.stdout.write(_FORMS[form](program))
        else:
            sys.stdout.write(print_tree(text.tree))


def _show_parse_errors(request: Request) -> None:
    assert request.source is not None, "the command names a program"
    options = request.options
    try:
        read = parse_what_can_be(
            request.source, include_path=options.include_folders, defines=options.defines or {}
        )
        found = read.diagnostics
    except TidelogError as error:
        found = error.diagnostics
    errors = [each for each in found if each.severity is Severity.ERROR]
    show(errors)
    if errors:
        raise typer.Exit(min(len(errors), _MOST_ERRORS))


def _plan(program: nodes.Program) -> str:
    from tidelog.algebra.plan_report import report_plan  # noqa: PLC0415 - other forms need no plan
    from tidelog.plan.statistics import KnownSizes  # noqa: PLC0415 - as above

    return report_plan(program, KnownSizes({}))


def _edges(program: nodes.Program) -> dict[tuple[str, str], bool]:
    """Return which relations stand in rules of which others, and whether they must be complete before."""
    found: dict[tuple[str, str], bool] = {}
    for rule in program.rules:
        complete = {id(atom) for node in walk(rule.body) for atom in _needed_complete(node)}
        for node in walk(rule.body):
            if isinstance(node, nodes.Atom):
                edge = (node.relation, rule.head.relation)
                found[edge] = found.get(edge, False) or id(node) in complete
    return found


def _needed_complete(node: object) -> Iterator[nodes.Atom]:
    """Yield the atoms of a negation or an aggregate."""
    if isinstance(node, nodes.NegatedAtom):
        yield node.atom
    elif isinstance(node, nodes.Aggregate):
        yield from (each for each in walk(node.body) if isinstance(each, nodes.Atom))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', r"\"") + '"'


def _dot(title: str, places: Sequence[str], edges: Mapping[tuple[str, str], bool]) -> str:
    lines = [f"digraph {_quoted(title)} {{", *(f"    {_quoted(place)};" for place in places)]
    lines += [
        f"    {_quoted(source)} -> {_quoted(target)}{' [style=dashed]' if is_complete else ''};"
        for (source, target), is_complete in sorted(edges.items())
    ]
    return "\n".join([*lines, "}", ""])


def _precedence_graph(program: nodes.Program) -> str:
    return _dot("precedence", list(program.relations), _edges(program))


def _precedence_text(program: nodes.Program) -> str:
    edges = _edges(program)
    lines = []
    for name in program.relations:
        needs = [
            f"{source}{' (complete)' if is_complete else ''}"
            for (source, target), is_complete in sorted(edges.items())
            if target == name
        ]
        lines.append(f"{name}: {', '.join(needs) or 'nothing'}\n")
    return "".join(lines)


def _names_of_strata(program: nodes.Program) -> list[str]:
    return [", ".join(stratum.relations) for stratum in program.strata]


def _strata_graph(program: nodes.Program) -> str:
    home = {
        name: title
        for stratum, title in zip(program.strata, _names_of_strata(program), strict=True)
        for name in stratum.relations
    }
    edges: dict[tuple[str, str], bool] = {}
    for (source, target), is_complete in _edges(program).items():
        edge = (home[source], home[target])
        if edge[0] != edge[1]:
            edges[edge] = edges.get(edge, False) or is_complete
    return _dot("strata", _names_of_strata(program), edges)


def _strata_text(program: nodes.Program) -> str:
    titles = zip(program.strata, _names_of_strata(program), strict=True)
    return "".join(
        f"{number}: {title}{' (recursive)' if stratum.is_recursive else ''}\n"
        for number, (stratum, title) in enumerate(titles)
    )


def _types(program: nodes.Program) -> str:
    """Return every rule with the types of its variables."""
    lines: list[str] = []
    for rule in program.rules:
        types = {node.name: node.type for node in walk((rule,)) if isinstance(node, nodes.Variable)}
        if types:
            lines.append(f"{print_rule(rule)}\n")
            lines += [f"    {name}: {type_name}\n" for name, type_name in types.items()]
    return "".join(lines)


_FORMS: Final[Mapping[str, Callable[[nodes.Program], str]]] = {
    "initial-ram": _plan,
    "precedence-graph": _precedence_graph,
    "precedence-graph-text": _precedence_text,
    "scc-graph": _strata_graph,
    "scc-graph-text": _strata_text,
    "transformed-ast": lambda program: print_program(keep_wanted(program)),
    "transformed-datalog": lambda program: print_program(keep_wanted(program)),
    "transformed-ram": lambda program: _plan(keep_wanted(program)),
    "type-analysis": _types,
}
