"""Programs with other rules than before."""

from hypothesis import strategies as st

from support.strategies import RandomProgram


def without_some_rules(data: st.DataObject, program: RandomProgram) -> str:
    """Return the program's text with some rules and facts left out."""
    lines = program.text.splitlines()
    inlined = {line.split()[1].split("(")[0] for line in lines if line.endswith(" inline")}
    rules = [
        number
        for number, line in enumerate(lines)
        # A relation that is inlined must keep the rules that stand for it.
        if not line.startswith(".") and " <= " not in line and line.split("(")[0] not in inlined
    ]
    left_out = data.draw(st.sets(st.sampled_from(rules), max_size=4)) if rules else set()
    return "\n".join(line for number, line in enumerate(lines) if number not in left_out)
