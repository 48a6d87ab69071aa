"""Macros: definitions, and tokens with their uses replaced."""

from collections.abc import Iterable, Sequence
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.source import Source
from tidelog.syntax.scanner import Token, scan

# A few short definitions can double a text thirty times over; real programs stay far below this.
MAX_EXPANDED_TOKENS: Final = 500_000
# Uses inside the arguments of uses are expanded by recursion.
MAX_NESTED_USES: Final = 100

_DYNAMIC: Final = frozenset({"__FILE__", "__LINE__"})


@dataclass(frozen=True, slots=True)
class Macro:
    """`#define name body` or `#define name(a, b) body`; `parameters` is None without brackets."""

    name: str
    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]
    is_variadic: bool = False


class TooManyTokensError(Exception):
    """Expansion was given up; carries the use that was being expanded."""

    def __init__(self, token: Token) -> None:
        self.token = token
        super().__init__(token.text)


@dataclass(frozen=True, slots=True)
class _Item:
    """A token on its way, with the macros that must not be expanded in it again."""

    token: Token
    hidden: frozenset[str]


class Macros:
    """The macros known at one place of the text."""

    def __init__(self) -> None:
        self.table: dict[str, Macro] = {}
        self.diagnostics: list[Diagnostic] = []
        self._expanded = 0
        self._nesting = 0

    def is_defined(self, name: str) -> bool:
        """Return whether `#ifdef name` holds."""
        return name in self.table or name in _DYNAMIC

    def expand(self, tokens: Sequence[Token]) -> list[Token]:
        """Return the tokens with all macros replaced; made tokens have the place of the use.

        With `#define TWICE(x) x + x` the text `TWICE(1)` gives `1 + 1`, at `TWICE(1)`.
        """
        words = {token.text for token in tokens}
        if words.isdisjoint(self.table) and words.isdisjoint(_DYNAMIC):
            return list(tokens)
        return [item.token for item in self._expand([_Item(token, frozenset()) for token in tokens])]

    def _expand(self, items: Iterable[_Item]) -> list[_Item]:
        """Expand by replacing on the spot: what a macro gives is read again, itself hidden."""
        done: list[_Item] = []
        waiting = list(items)
        waiting.reverse()
        while waiting:
            item = waiting.pop()
            token = item.token
            if token.kind != "word" or token.text in item.hidden:
                done.append(item)
                continue
            if token.text in _DYNAMIC:
                done.append(_Item(_place(token), item.hidden))
                continue
            macro = self.table.get(token.text)
            if macro is None:
                done.append(item)
                continue
            arguments: list[list[_Item]] = []
            if macro.parameters is not None:
                if not waiting or waiting[-1].token.kind != "(":
                    done.append(item)
                    continue
                found = self._arguments(macro, waiting, token)
                if found is None:
                    # Nothing behind a bracket that does not close can be told apart.
                    return [*done, item, *reversed(waiting)]
                arguments = found
            made = self._substitute(macro, arguments, item)
            self._expanded += len(made) + 1
            if self._expanded > MAX_EXPANDED_TOKENS:
                raise TooManyTokensError(token)
            waiting.extend(reversed(made))
        return done

    def _expand_argument(self, argument: list[_Item], use: Token) -> list[_Item]:
        self._nesting += 1
        if self._nesting > MAX_NESTED_USES:
            raise TooManyTokensError(use)
        made = self._expand(argument)
        self._nesting -= 1
        return made

    def _arguments(self, macro: Macro, waiting: list[_Item], use: Token) -> list[list[_Item]] | None:
        """Take the arguments of a use off `waiting`; None if the bracket never closes."""
        assert macro.parameters is not None
        arguments: list[list[_Item]] = [[]]
        depth = 0
        position = len(waiting) - 1
        while position >= 0:
            item = waiting[position]
            kind = item.token.kind
            position -= 1
            depth += (kind == "(") - (kind == ")")
            if depth == 0:
                break
            rest_is_one = macro.is_variadic and len(arguments) == len(macro.parameters)
            if kind == "," and depth == 1 and not rest_is_one:
                arguments.append([])
            elif not (kind == "(" and depth == 1 and position == len(waiting) - 2):
                arguments[-1].append(item)
        else:
            self._complain(
                use, f"the use of the macro `{macro.name}` has no closing `)`", "close it with `)`"
            )
            return None
        del waiting[position + 1 :]
        if not macro.parameters and arguments == [[]]:
            return []
        if macro.is_variadic and len(arguments) == len(macro.parameters) - 1:
            arguments.append([])
        if len(arguments) != len(macro.parameters):
            wanted, found = len(macro.parameters), len(arguments)
            shape = f"{macro.name}({', '.join(macro.parameters)})"
            hint = f"use it as `{shape}`"
            self._complain(use, f"the macro `{macro.name}` takes {wanted} arguments, not {found}", hint)
            while len(arguments) < wanted:
                arguments.append([])
        return arguments

    def _substitute(self, macro: Macro, arguments: list[list[_Item]], use: _Item) -> list[_Item]:
        """Return the macro's body with its arguments put in, at the place of the use."""
        hidden = use.hidden | {macro.name}
        place = use.token
        names = macro.parameters or ()
        expanded: dict[int, list[_Item]] = {}
        made: list[_Item] = []
        body = macro.body
        position = 0
        is_pasting = False
        while position < len(body):
            token = body[position]
            position += 1
            if token.kind == "##" and made and position < len(body):
                is_pasting = True
                continue
            follower = body[position] if position < len(body) else None
            if token.kind == "#" and follower is not None and follower.text in names:
                position += 1
                part = [_Item(_stringify(arguments[names.index(follower.text)], place), hidden)]
            elif token.kind == "word" and token.text in names:
                index = names.index(token.text)
                is_raw = is_pasting or (follower is not None and follower.kind == "##")
                if is_raw:
                    part = list(arguments[index])
                else:
                    if index not in expanded:
                        expanded[index] = self._expand_argument(arguments[index], place)
                    part = expanded[index]
                part = [_Item(_moved(item.token, place), item.hidden | hidden) for item in part]
                if part:
                    first = part[0]
                    part[0] = _Item(first.token._replace(is_spaced=token.is_spaced), first.hidden)
            else:
                part = [_Item(_moved(token, place), hidden)]
            if is_pasting and made and part:
                made[-1:] = self._paste(made[-1].token, part[0].token, hidden)
                part = part[1:]
            is_pasting = False
            made.extend(part)
        if made:
            first = made[0]
            token = first.token._replace(is_spaced=place.is_spaced, is_fresh=place.is_fresh)
            made[0] = _Item(token, first.hidden)
        return made

    def _paste(self, left: Token, right: Token, hidden: frozenset[str]) -> list[_Item]:
        tokens = scan(Source("paste", left.text + right.text))[:-1]
        return [
            _Item(_moved(token, left)._replace(is_spaced=left.is_spaced and index == 0), hidden)
            for index, token in enumerate(tokens)
        ]

    def _complain(self, use: Token, message: str, hint: str | None) -> None:
        self.diagnostics.append(Diagnostic(code="bad-macro-use", message=message, span=use.span, hint=hint))


def _moved(token: Token, place: Token) -> Token:
    """Return the token at the place of a macro use."""
    return Token(token.kind, token.text, place.source, place.start, place.end, token.is_spaced, False)


def _place(token: Token) -> Token:
    """Return the value of `__FILE__` or `__LINE__` at its place."""
    if token.text == "__LINE__":
        return token._replace(kind="number", text=str(token.source.line_of(token.start)))
    return token._replace(kind="string", text=quote(token.source.name))


def _stringify(argument: Sequence[_Item], place: Token) -> Token:
    text = ""
    for item in argument:
        if text and item.token.is_spaced:
            text += " "
        text += item.token.text
    return _moved(Token("string", quote(text), place.source, 0, 0, False, False), place)


def quote(text: str) -> str:
    """Return the text as a string of the language, quotes and all."""
    escaped = "".join(_QUOTED.get(char, char) for char in text)
    return f'"{escaped}"'


_QUOTED: Final = {
    "\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t",
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\v": "\\v", "\0": "\\0",
}  # fmt: skip
