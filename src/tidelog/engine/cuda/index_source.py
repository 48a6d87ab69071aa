"""What kernels ask of an index, as source, and the kernels that bring indexes up to date."""

from collections.abc import Iterator, Sequence

from tidelog.engine.cuda.relation_source import entry_of_row, is_outside, offset
from tidelog.engine.cuda.resources import DeviceIndex

_STEPS = ("count", "room", "copy", "place", "note")
# The kernels that add new rows to the indexes of relations that grow, and those that build all others.
LINK = tuple(f"link_{step}" for step in _STEPS)
BUILD = tuple(f"build_{step}" for step in _STEPS)


def index_source(index: DeviceIndex) -> Iterator[str]:
    """Yield the functions of an index, and the kernel that enlarges its table of keys."""
    number, relation = index.number, index.relation
    parameters = [f"i64 k{place}" for place in range(len(index.key))]
    yield _key(index, parameters)
    slot = "key" if index.is_dense else f"find_group(state.index_{number}, key)"
    yield (
        f"DEVICE Range range_{number}(u64 key, View view) {{\n"
        f"    return entries_of(state.index_{number}, {slot}, view, COUNTER(ITERATION));\n}}"
    )
    yield _some(index, parameters)
    columns = "".join(f"column_{relation.number}_{column}(entry), " for column in index.key)
    slot = "key" if index.is_dense else f"make_group(state.index_{number}, &COUNTER(USED({number})), key)"
    yield (
        f"DEVICE u64 slot_{number}(u64 entry) {{\n"
        f"    u64 key = 0;\n    key_{number}({columns}key);\n    return {slot};\n}}"
    )
    if not index.is_dense:
        move = f"move_group(state.old_index, slot, state.index_{number}, &COUNTER(USED({number})));"
        loop = f"for (u64 slot = thread; slot < state.old_index.slots; slot += threads) {move}"
        yield f"KERNEL(regroup_{number}) {{\n    {loop}\n}}"


def adding_source(kind: str, indexes: Sequence[DeviceIndex]) -> Iterator[str]:
    """Yield the kernels, named `link_…` or `build_…`, that add the new rows of relations to indexes."""
    for step in _STEPS:
        lines = _copies(indexes) if step == "copy" else [x for i in indexes for x in _step(kind, step, i)]
        yield _kernel(f"{kind}_{step}", ["if (COUNTER(STOP)) return;", *lines])
    resets = [
        f"for (u64 slot = thread; slot < state.index_{index.number}.slots; slot += threads)"
        f" state.index_{index.number}.groups[slot].wanted = 0;"
        for index in indexes
    ]
    yield _kernel(f"{kind}_reset", resets)


def _key(index: DeviceIndex, parameters: Sequence[str]) -> str:
    """Return the function that makes a key of its columns, unless one of them is not in the index's range."""
    lines = [f"DEVICE bool key_{index.number}({', '.join([*parameters, 'u64& key'])}) {{", "    key = 0;"]
    for place, number in enumerate(index.key):
        column = index.relation.layout.columns[number]
        if index.is_hashed:
            lines.append(f"    key = scatter(key ^ (u64)k{place}) >> 1;")
            continue
        lines.append(f"    if ({is_outside(column, f'k{place}')}) return false;")
        lines.append(f"    key = key << {column.bits} | {offset(column, f'k{place}')};")
    return "\n".join([*lines, "    return true;", "}"])


def _some(index: DeviceIndex, parameters: Sequence[str]) -> str:
    """Return the function that says whether a key has a fact."""
    number = index.number
    names = ", ".join(f"k{place}" for place in range(len(index.key)))
    columns = [f"column_{index.relation.number}_{column}" for column in index.key]
    same = " && ".join(f"{column}(entry) == k{place}" for place, column in enumerate(columns))
    lines = [
        f"DEVICE bool some_{number}({', '.join(parameters)}) {{",
        "    u64 key;",
        f"    if (!key_{number}({names}, key)) return false;",
        f"    Range range = range_{number}(key, FULL_VIEW);",
    ]
    if index.is_hashed:
        lines += [
            "    for (u64 place = range.begin; place < range.end; place++) {",
            f"        u64 entry = state.index_{number}.entries[place];",
            f"        if ({same}) return true;",
            "    }",
            "    return false;",
        ]
    else:
        lines.append("    return range.begin < range.end;")
    return "\n".join([*lines, "}"])


def _step(kind: str, step: str, index: DeviceIndex) -> Iterator[str]:
    """Yield what one kernel does for the new rows of an index's relation."""
    number, relation = index.number, index.relation
    stage = f"STAGE_OF({kind}_{step})"
    entry = entry_of_row(relation, "row")
    yield f"for (u64 row = COUNTER(FIRST({relation.number})) + thread, first = row - thread;"
    yield f"     row < COUNTER(LAST({relation.number})); row += threads) {{"
    match step:
        case "count":
            condition = f"count_row(state.index_{number}, slot_{number}({entry}), row - first)"
            yield f"    if (!{condition}) {{ stop({stage}, GROUPS({number})); return; }}"
        case "room":
            grows = "true" if relation.grows else "false"
            yield f"    Lack lack = make_room(state.index_{number}, {number}, row - first, {grows},"
            yield f"        &COUNTER(TOP({number})), state.moves, &COUNTER(MOVED));"
            yield f"    if (lack == ENTRIES_LACK) {{ stop({stage}, ENTRIES({number})); return; }}"
            yield f"    if (lack == MOVES_LACK) {{ stop({stage}, MOVES(0)); return; }}"
        case "place":
            yield f"    place_row_in(state.index_{number}, row - first, {entry});"
        case _:
            yield f"    note_rows(state.index_{number}, row - first, COUNTER(ITERATION));"
    yield "}"


def _copies(indexes: Sequence[DeviceIndex]) -> list[str]:
    copies = [
        f"    if (move[0] == {index.number}) copy_piece(state.index_{index.number}, move, number % LANES);"
        for index in indexes
    ]
    return [
        "for (u64 number = thread; number < COUNTER(MOVED) * LANES; number += threads) {",
        "    const u64* move = state.moves.pieces + number / LANES * 4;",
        *copies,
        "    (void)move;",
        "}",
    ]


def _kernel(name: str, lines: Sequence[str]) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f"KERNEL({name}) {{\n{body}\n}}"
