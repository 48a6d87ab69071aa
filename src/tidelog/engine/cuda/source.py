"""The kernels of a stratum, as source: the program itself is what is compiled."""

from collections.abc import Iterable, Iterator
from importlib.resources import files

from tidelog.dataclass import dataclass
from tidelog.engine.cuda.index_source import BUILD, LINK, adding_source, index_source
from tidelog.engine.cuda.relation_source import relation_source
from tidelog.engine.cuda.resources import COUNTER_KINDS, Resources
from tidelog.engine.cuda.rule_source import RuleSource
from tidelog.plan.operators import RulePlan, StratumPlan
from tidelog.values.codec import Codec

# The fields of an index and of the moves in runtime.h, each of 64 bits.
INDEX_FIELDS = ("groups", "keys", "slots", "entries", "room", "slot_of_row", "turn_of_row")
MOVES_FIELDS = ("pieces", "room")


@dataclass(frozen=True, slots=True)
class Stage:
    """A kernel of an iteration, by name.

    If it stops for more memory, what it belongs to is done again: from kernel `again` on, with the queues of
    `pushed` empty.
    """

    name: str
    again: str
    pushed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StratumSource:
    """The source of a stratum's kernels, the fields of its state, and the order in which kernels run."""

    text: str
    fields: tuple[str, ...]
    once: tuple[Stage, ...]
    repeated: tuple[Stage, ...]


def write_source(plan: StratumPlan, resources: Resources, codec: Codec) -> StratumSource:
    """Return the kernels of the plans of a stratum."""
    rules: list[RuleSource] = []
    once = [_rule(f"once_{number}", each, resources, codec, rules) for number, each in enumerate(plan.once)]
    repeated = [
        _rule(f"rule_{number}", each, resources, codec, rules) for number, each in enumerate(plan.repeated)
    ]
    stages = (*BUILD, "advance", *LINK, *(stage.name for part in (*once, *repeated) for stage in part))
    indexes = list(resources.indexes.values())
    parts = [
        files("tidelog.engine.cuda").joinpath("runtime.h").read_text("utf-8"),
        *_declarations(resources, stages),
        *(text for relation in resources.relations.values() for text in relation_source(relation)),
        *(text for index in indexes for text in index_source(index)),
        *adding_source("build", [index for index in indexes if not index.relation.grows]),
        _advance(resources),
        *adding_source("link", [index for index in indexes if index.relation.grows]),
        *(text for rule in rules for text in rule.functions),
    ]
    return StratumSource(
        "\n\n".join(parts) + "\n",
        tuple(name for _, name in _fields(resources)),
        tuple(stage for part in once for stage in part),
        tuple(stage for part in repeated for stage in part),
    )


def _rule(
    name: str, plan: RulePlan, resources: Resources, codec: Codec, written: list[RuleSource]
) -> tuple[Stage, ...]:
    rule = RuleSource(name, resources, codec)
    rule.write(plan)
    written.append(rule)
    return tuple(Stage(kernel, name, tuple(rule.pushed)) for kernel in rule.kernels)


def _fields(resources: Resources) -> Iterator[tuple[str, str]]:
    """Yield the types and names of the state's fields, of 64 bits each; `a.b` is field b of struct a."""
    yield "u64*", "counters"
    for number in range(len(resources.relations)):
        yield "u64*", f"rows_{number}"
        yield "u64", f"capacity_{number}"
        yield "u64*", f"table_{number}"
        yield "u64", f"mask_{number}"
    for number in range(len(resources.indexes)):
        yield from (("Index", f"index_{number}.{field}") for field in INDEX_FIELDS)
    for number in range(len(resources.queues)):
        yield "u64*", f"queue_{number}"
        yield "u64", f"queue_room_{number}"
    yield from (("Moves", f"moves.{field}") for field in MOVES_FIELDS)
    # What an index had before its table was enlarged.
    yield from (("Index", f"old_index.{field}") for field in INDEX_FIELDS)


def _declarations(resources: Resources, stages: Iterable[str]) -> Iterator[str]:
    """Yield the state, and names for its counters and for the kernels."""
    fields = dict.fromkeys(f"    {kind} {name.partition('.')[0]};" for kind, name in _fields(resources))
    yield "\n".join(["struct State {", *fields, "};", 'extern "C" { STATE State state; }'])
    macros = [
        f"#define {kind.upper()}(number) ({resources.counter(kind)} + (number))" for kind in COUNTER_KINDS
    ]
    yield "\n".join(["#define COUNTER(place) state.counters[place]", *macros])
    names = [f"#define {name}_stage {number}" for number, name in enumerate(stages)]
    yield "\n".join([*names, "#define STAGE_OF(name) name##_stage"])
    stop = [
        "// Stop this kernel and those behind it: there is no room for what it has found.",
        "DEVICE void stop(u32 stage, u64 reason) {",
        "    write(&COUNTER(STAGE), stage);",
        "    write(&COUNTER(reason), 1);",
        "    write(&COUNTER(STOP), 1);",
        "}",
    ]
    yield "\n".join(stop)


def _advance(resources: Resources) -> str:
    """Return the kernel that makes what was found the delta; without a delta the stratum is finished."""
    lines = ["if (COUNTER(STOP) || thread) return;", "bool has_delta = false;"]
    for relation in resources.relations.values():
        number = relation.number
        if relation.grows:
            lines.append(f"COUNTER(FIRST({number})) = COUNTER(LAST({number}));")
            lines.append(f"COUNTER(LAST({number})) = COUNTER(COUNT({number}));")
            lines.append(f"has_delta |= COUNTER(FIRST({number})) < COUNTER(LAST({number}));")
    lines += [
        "COUNTER(ITERATION)++;",
        "COUNTER(MOVED) = 0;",
        f"for (i64 number = 0; number < {resources.pushes}; number++) COUNTER(PUSHED(number)) = 0;",
        "if (!has_delta && COUNTER(ITERATION) > 1) COUNTER(FINISHED) = COUNTER(STOP) = 1;",
    ]
    body = "\n".join(f"    {line}" for line in lines)
    return f"KERNEL(advance) {{\n{body}\n}}"
