"""What a line of the shell may be."""

from typing import Final

from tidelog.cli.shell_output import mistake
from tidelog.program.suggest import did_you_mean

# A section, then each line as it is typed with what it does.
_SECTIONS: Final[tuple[tuple[str, tuple[tuple[str, str], ...]], ...]] = (
    (
        "Changes",
        (
            ("+edge(1, 2).", "insert a fact with the next commit"),
            ("-edge(1, 2).", "delete a fact with the next commit"),
            ("commit.", "apply the changes and show what they change"),
            ("rollback.", "discard the changes since the last commit"),
            ("insert edge(1, 2)", "insert a fact now; or several, separated by commas"),
            ("delete edge(1, 2)", "delete a fact now"),
            ("strategy", "show how the last epoch was applied, and why"),
        ),
    ),
    (
        "Facts",
        (
            ("path(1, x)", "ask a query; also `?- path(1, x).` and `query path(1, x)`"),
            ("facts path [20]", "show the first facts of a relation; also `show`"),
            ("relations", "list the relations and their sizes; also `facts` alone"),
        ),
    ),
    (
        "Rules",
        (
            ("path(x, y) :- edge(x, y).", "add a rule; declarations such as `.decl` too"),
            ("rules [path]", "list the rules with their numbers, all or those of a relation"),
            ("remove 3", "remove rule 3"),
        ),
    ),
    (
        "Proofs",
        (
            ("why path(1, 3)", "show a proof; also `explain`"),
            ("whynot path(3, 1)", "show what each rule lacks; also `why_not`, `why-not`, `explainnegation`"),
            ("depth 4", "how deep proofs are shown, a number or `all`; also `setdepth`"),
            ("subproof [2]", "list the facts at which the last proof was cut off, or show the proof of one"),
            ("format horizontal", "how proofs are printed: text, horizontal, json, dot, mermaid or html"),
            ("output FILE", "write proofs to a file; `output` alone prints them here again"),
            ("guide path(3, 1)", "ask why not by steps: `choose 2`, `let x = 1`, `values x`, `follow 1`"),
        ),
    ),
    (
        "Old epochs",
        (
            ("at 3 path(1, x)", "ask about epoch 3; also `at 3 facts path`, `at 3 why ...` and `whynot`"),
            ("diff 3 9 [path]", "show what changed from epoch 3 to epoch 9, in all relations or in one"),
        ),
    ),
    (
        "Blame",
        (
            ("blame path(1, 3)", "name the changes that caused a fact, or with `!` made it vanish"),
            ("repair path(1, 3)", "name the fewest changes to take back; also for several facts"),
            ("... at 4", "ask about epoch 4 instead of the last; also `between 2 and 4`"),
            ("reject 1", "look for another repair that keeps change 1"),
            ("accept", "apply the repair"),
            ("guard path(1, 3)", "report when an epoch inserts this; also `guard always ...`, `unguard 1`"),
        ),
    ),
    (
        "The shell",
        (
            (".mode csv", "print tables as `table`, `csv`, `json` or `markdown`"),
            (".timer on", "show how long each line took; `.timer off`"),
            (".read FILE", "run the lines of a file as if you had typed them"),
            (":help", "show this; `help why` shows one command"),
            (":quit", "leave; Ctrl-D too"),
        ),
    ),
)  # fmt: skip

_WIDTH: Final = 26
_SAME: Final = {
    "explain": "why", "explainnegation": "whynot", "why_not": "whynot", "why-not": "whynot",
    "setdepth": "depth", "show": "facts", "choose": "guide", "let": "guide", "values": "guide",
    "follow": "guide", "query": "path(1, x)", "unguard": "guard",
}  # fmt: skip


def _line(typed: str, words: str) -> str:
    return f"{typed:<{_WIDTH}}{words}" if len(typed) < _WIDTH else f"{typed}\n{'':<{_WIDTH}}{words}"


HELP: Final = "\n\n".join(
    "\n".join([f"{title}", *(f"  {_line(typed, words)}" for typed, words in lines)])
    for title, lines in _SECTIONS
)


def help_for(command: str) -> str:
    """Return what the help says of one command, or all of it; a command that there is not is a mistake."""
    name = command.strip().strip(":.")
    if not name:
        return HELP
    wanted = _SAME.get(name, name)
    found = [
        _line(typed, words)
        for _, lines in _SECTIONS
        for typed, words in lines
        if typed == wanted or _word(typed) == wanted
    ]
    if not found:
        known = sorted({_word(typed) for _, lines in _SECTIONS for typed, _ in lines} - {""})
        hint = did_you_mean(name, (*known, *_SAME), f"there are {', '.join(known)}")
        raise mistake("unknown-command", f"there is no command `{name}`", hint)
    return "\n".join(found)


def _word(typed: str) -> str:
    """Return the command that a line of the help begins with; none for facts and rules."""
    first = typed.split(maxsplit=1)[0].strip(":.")
    return first if first.isalpha() else ""
