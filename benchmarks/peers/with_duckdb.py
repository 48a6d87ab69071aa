"""DuckDB: a recursive common table expression, where one relation is derived by linear rules."""

from collections.abc import Callable
from pathlib import Path

from benchmarks.peers.rules import PlainProgram, PlainRule, is_variable


def can_run(program: PlainProgram) -> bool:
    """Return whether one relation is derived, with at most one recursive atom in a rule."""
    derived = program.derived
    return len(derived) == 1 and not any(
        atom.is_negated or sum(other.relation == derived[0] for other in rule.body) > 1
        for rule in program.rules
        for atom in rule.body
    )


def run(program: PlainProgram, facts: Path, jobs: int) -> Callable[[], dict[str, int]]:
    """Evaluate, and return how to count."""
    import duckdb  # noqa: PLC0415 - only where it is measured

    connection = duckdb.connect()
    connection.execute(f"SET threads = {jobs}")
    for relation, filename in program.inputs.items():
        connection.execute(_load(program, relation, facts / filename))
    (derived,) = program.derived
    counted = connection.execute(_query(program, derived)).fetchall()
    return lambda: {derived: int(counted[0][0])}


def _load(program: PlainProgram, relation: str, path: Path) -> str:
    kinds = {"number": "BIGINT", "symbol": "VARCHAR"}
    columns = ", ".join(f"'c{i}': '{kinds[kind]}'" for i, kind in enumerate(program.columns[relation]))
    # Names are quoted because a relation may be called as a word of SQL is.
    return f"""
        CREATE TABLE "{relation}" AS
        SELECT * FROM read_csv('{path}', delim = '\t', header = false, quote = '', columns = {{{columns}}})
    """  # noqa: S608 - the program is ours


def _query(program: PlainProgram, derived: str) -> str:
    columns = ", ".join(f"c{i}" for i in range(len(program.columns[derived])))
    starts = [_select(rule) for rule in program.rules if not _is_recursive(rule, derived)]
    steps = [_select(rule) for rule in program.rules if _is_recursive(rule, derived)]
    return f"""
        WITH RECURSIVE "{derived}"({columns}) AS (
            ({" UNION ALL ".join(starts)}) UNION ({" UNION ALL ".join(steps)})
        ) SELECT count(*) FROM "{derived}"
    """  # noqa: S608 - the program is ours


def _is_recursive(rule: PlainRule, derived: str) -> bool:
    return any(atom.relation == derived for atom in rule.body)


def _select(rule: PlainRule) -> str:
    bound: dict[str, str] = {}
    where: list[str] = []
    for place, atom in enumerate(rule.body):
        for column, term in enumerate(atom.terms):
            here = f"a{place}.c{column}"
            if is_variable(term):
                first = bound.setdefault(term, here)
                if first != here:
                    where.append(f"{first} = {here}")
            elif term != "_":
                where.append(f"{here} = {_constant(term)}")
    where.extend(f"{bound[left]} <> {bound.get(right) or _constant(right)}" for left, right in rule.unequal)
    head = ", ".join(bound.get(term) or _constant(term) for term in rule.head.terms)
    tables = ", ".join(f'"{atom.relation}" AS a{place}' for place, atom in enumerate(rule.body))
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    return f"SELECT {head} FROM {tables}{condition}"  # noqa: S608 - the program is ours


def _constant(term: str) -> str:
    return "'" + term[1:-1].replace("'", "''") + "'" if term.startswith('"') else term
