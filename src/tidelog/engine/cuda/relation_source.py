"""What kernels ask of a relation, as source: its columns, whether a fact holds, and how one is inserted."""

from collections.abc import Iterator

from tidelog.engine.cuda.layout import PackedColumn
from tidelog.engine.cuda.resources import DeviceRelation

_WORD_BITS = 64


def relation_source(relation: DeviceRelation) -> Iterator[str]:
    """Yield the functions and kernels of a relation."""
    yield from (_column(relation, place) for place in range(relation.arity))
    if relation.is_checked:
        yield _holds(relation)
        yield _refill(relation)
    if relation.grows:
        yield _emit(relation)


def entry_of_row(relation: DeviceRelation, row: str) -> str:
    """Return the entry of a row: a packed fact is its own, others have the row's number."""
    return f"state.rows_{relation.number}[{row}]" if relation.layout.is_packed else row


def offset(column: PackedColumn, code: str) -> str:
    """Return a code as a column keeps it."""
    return f"((u64){code} - {column.base % (1 << _WORD_BITS)}ull)"


def is_outside(column: PackedColumn, code: str) -> str:
    """Return the condition that a column cannot hold a code."""
    return "false" if column.bits == _WORD_BITS else f"{offset(column, code)} >> {column.bits}"


def _column(relation: DeviceRelation, place: int) -> str:
    number, column = relation.number, relation.layout.columns[place]
    word = "entry"
    if not relation.layout.is_packed:
        word = f"state.rows_{number}[{column.word} * state.capacity_{number} + entry]"
    mask, base = (1 << column.bits) - 1, column.base % (1 << _WORD_BITS)
    value = f"({word} >> {column.shift % _WORD_BITS} & {mask}ull) + {base}ull"
    return f"DEVICE i64 column_{number}_{place}(u64 entry) {{ return (i64)({value}); }}"


def _holds(relation: DeviceRelation) -> str:
    layout = relation.layout
    table, rows = _table(relation)
    found = f"has_row<{layout.words}>({table}, {rows}, words)"
    lines = [
        f"DEVICE bool holds_{relation.number}({', '.join(_parameters(relation))}) {{",
        *(f"    if ({is_outside(c, f'c{place}')}) return false;" for place, c in enumerate(layout.columns)),
        *_packed(relation),
        f"    return {f'has_word({table}, words[0])' if layout.is_packed else found};",
        "}",
    ]
    return "\n".join(lines)


def _refill(relation: DeviceRelation) -> str:
    """Return the kernel that makes the table of a relation from its rows."""
    number, layout = relation.number, relation.layout
    table, rows = _table(relation)
    insert = f"place_row<{layout.words}>({table}, {rows}, row);"
    if layout.is_packed:
        insert = f"add_word({table}, state.rows_{number}[row], full);"
    lines = [
        f"KERNEL(refill_{number}) {{",
        "    bool full = false;",
        f"    for (u64 row = thread; row < COUNTER(COUNT({number})); row += threads) {insert}",
        "    (void)full;",
        "}",
    ]
    return "\n".join(lines)


def _emit(relation: DeviceRelation) -> str:
    """Return the function that inserts a fact."""
    number, layout = relation.number, relation.layout
    table, rows = _table(relation)
    count = f"&COUNTER(COUNT({number}))"
    insert = [f"    bool full = !add_row<{layout.words}>({table}, {rows}, {count}, words);"]
    if layout.is_packed:
        insert = [
            "    bool full = false;",
            f"    if (add_word({table}, words[0], full)) {{",
            f"        u64 row = add({count}, 1);",
            f"        if (row < state.capacity_{number}) state.rows_{number}[row] = words[0];",
            "        else full = true;",
            "    }",
        ]
    lines = [
        f"DEVICE void emit_{number}({', '.join(['u32 stage', *_parameters(relation)])}) {{",
        *_packed(relation),
        *insert,
        f"    if (full) stop(stage, FULL({number}));",
        "}",
    ]
    return "\n".join(lines)


def _table(relation: DeviceRelation) -> tuple[str, str]:
    """Return the parameters that stand for the table and the rows of a relation."""
    number = relation.number
    return f"state.table_{number}, state.mask_{number}", f"state.rows_{number}, state.capacity_{number}"


def _parameters(relation: DeviceRelation) -> list[str]:
    return [f"i64 c{place}" for place in range(relation.arity)]


def _packed(relation: DeviceRelation) -> list[str]:
    """Return the lines that pack columns c0, c1, … into words."""
    layout = relation.layout
    lines = [f"    u64 words[{layout.words}] = {{{', '.join('0' * layout.words)}}};"]
    for place, column in enumerate(layout.columns):
        shift = column.shift % _WORD_BITS
        lines.append(f"    words[{column.word}] |= {offset(column, f'c{place}')} << {shift};")
    return lines
