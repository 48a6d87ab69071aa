"""The preprocessor: includes, macros and conditions, on tokens."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.errors import Diagnostic
from tidelog.source import Source, Span
from tidelog.syntax.conditions import ConditionError, evaluate_condition
from tidelog.syntax.literals import LiteralError, string_literal
from tidelog.syntax.macros import Macro, Macros, TooManyTokensError
from tidelog.syntax.scanner import Token, scan

_CONDITIONALS: Final = frozenset({"if", "ifdef", "ifndef", "elif", "else", "endif"})
_LINES: Final = (*sorted(_CONDITIONALS), "define", "error", "include", "line", "pragma", "undef", "warning")
_INCLUDE_HINT: Final = 'write `.include "file.dl"`'
_MAX_INCLUDES: Final = 50
# Files that include others twice double a text again and again: so many files, and characters in them.
_MAX_FILES: Final = 10_000
_MAX_INCLUDED: Final = 50_000_000
# What Soufflé tells programs about the width of its numbers.
_KNOWN: Final = {"RAM_DOMAIN_SIZE": "64"}


ReadFile = Callable[[Path], str]


def read_included(path: Path) -> str:
    """Return the text of an included file."""
    return path.read_text(encoding="utf-8")


def preprocess(
    source: Source,
    *,
    include_path: Sequence[Path] = (),
    defines: Mapping[str, str] | None = None,
    read: ReadFile = read_included,
) -> tuple[list[Token], list[Diagnostic]]:
    """Return the tokens that are left for the parser, the last of kind `end`, and the mistakes.

    Every token keeps the source it was written in; a token made by a macro stands where the
    macro is used. `read` returns the text of an included file: an editor has some that are not saved.
    """
    worker = _Preprocessor(include_path, read)
    for name, text in {**_KNOWN, **(defines or {})}.items():
        body = tuple(scan(Source("command line", text or "1"))[:-1])
        worker.macros.table[name] = Macro(name, None, body)
    try:
        worker.file(source, Path(source.name))
    except TooManyTokensError as error:
        worker.complain(
            Diagnostic(
                code="bad-macro-use",
                message=f"the macro `{error.token.text}` expands to too much text",
                span=error.token.span,
                hint="macros that use each other several times multiply",
            )
        )
    size = len(source.text)
    worker.output.append(Token("end", "", source, size, size, True, True))
    return worker.output, [*worker.diagnostics, *worker.macros.diagnostics]


@dataclass(slots=True)
class _Condition:
    """An `#if` that is open: whether its lines count, and whether some branch was taken."""

    line: Token
    is_active: bool
    was_taken: bool
    is_outer_active: bool
    had_else: bool = False


class _Preprocessor:
    def __init__(self, include_path: Sequence[Path], read: ReadFile) -> None:
        self.include_path = include_path
        self._read = read
        self.macros = Macros()
        self.output: list[Token] = []
        self.diagnostics: list[Diagnostic] = []
        self._open_files: list[Path] = []
        self._once: set[Path] = set()
        self._files = 0
        self._included = 0
        self._is_full = False
        self._conditions: list[_Condition] = []

    def complain(self, diagnostic: Diagnostic) -> None:
        """Note a mistake and go on."""
        self.diagnostics.append(diagnostic)

    def file(self, source: Source, path: Path) -> None:
        """Append the tokens of a source, its `end` left out."""
        outer, self._conditions = self._conditions, []
        self._open_files.append(_identity(path))
        tokens = scan(source)
        position = 0
        while tokens[position].kind != "end":
            end = position + 1
            if tokens[position].kind == "#" and tokens[position].is_fresh:
                while not tokens[end].is_fresh:
                    end += 1
                self._line(tokens[position:end])
            else:
                while tokens[end].kind != "end" and not (tokens[end].kind == "#" and tokens[end].is_fresh):
                    end += 1
                if self._is_active():
                    self._text(tokens[position:end])
            position = end
        for condition in self._conditions:
            self._bad_line(
                condition.line, f"`#{condition.line.text}` has no `#endif`", "add `#endif` in this file"
            )
        self._open_files.pop()
        self._conditions = outer

    def _is_active(self) -> bool:
        return not self._conditions or self._conditions[-1].is_active

    def _text(self, tokens: list[Token]) -> None:
        """Append ordinary tokens; `.include` and `.once` are the same requests in Soufflé's own words."""
        position = begin = 0
        while position < len(tokens):
            token = tokens[position]
            position += 1
            if token.kind != "directive" or token.text not in (".include", ".once"):
                continue
            self.output.extend(self.macros.expand(tokens[begin : position - 1]))
            if token.text == ".once":
                if self._seen_before():
                    return
            elif position < len(tokens) and tokens[position].kind == "string":
                self._include(tokens[position], tokens[position].text, token.source)
                position += 1
            else:
                self._bad_line(token, "`.include` needs a file name in double quotes", _INCLUDE_HINT)
            begin = position
        self.output.extend(self.macros.expand(tokens[begin:]))

    # --- lines ---

    def _line(self, tokens: list[Token]) -> None:
        """Obey one preprocessor line, its `#` first."""
        if len(tokens) == 1:
            return
        word, rest = tokens[1], tokens[2:]
        if word.text in _CONDITIONALS:
            self._conditional(word, rest)
        # A line such as `# 12 "file.dl"` was left by another preprocessor and says only where text came from.
        elif self._is_active() and word.kind != "number":
            self._active_line(word, rest)

    def _active_line(self, word: Token, rest: list[Token]) -> None:
        match word.text:
            case "define":
                self._define(word, rest)
            case "undef":
                for token in rest[:1]:
                    self.macros.table.pop(token.text, None)
            case "include":
                self._include_line(word, rest)
            case "error":
                message = _rest_of_line(word, rest) or "#error"
                self.complain(Diagnostic(code="user-error", message=message, span=word.span))
            case "pragma":
                self._pragma(rest)
            case "line" | "warning":
                pass
            case _:
                self._unknown_line(word)

    def _pragma(self, rest: list[Token]) -> None:
        if rest and rest[0].text == "once":
            self._once.add(self._open_files[-1])

    def _unknown_line(self, word: Token) -> None:
        close = get_close_matches(word.text, _LINES, n=1)
        hint = f"did you mean `#{close[0]}`?" if close else "a comment begins with `//`"
        self._bad_line(word, f"`#{word.text}` is not a preprocessor line", hint)

    def _conditional(self, word: Token, rest: list[Token]) -> None:
        match word.text:
            case "if" | "ifdef" | "ifndef":
                outer = self._is_active()
                holds = outer and self._holds(word, rest)
                self._conditions.append(_Condition(word, holds, holds, outer))
            case "endif":
                if self._conditions:
                    self._conditions.pop()
                else:
                    self._bad_line(word, "`#endif` without `#if`", "remove the line")
            case _:
                if not self._conditions:
                    self._bad_line(word, f"`#{word.text}` without `#if`", "begin with `#if` or `#ifdef`")
                    return
                condition = self._conditions[-1]
                if condition.had_else:
                    self._bad_line(word, f"`#{word.text}` after `#else`", "put it before `#else`")
                condition.had_else = condition.had_else or word.text == "else"
                is_open = condition.is_outer_active and not condition.was_taken
                condition.is_active = is_open and (word.text == "else" or self._holds(word, rest))
                condition.was_taken = condition.was_taken or condition.is_active

    def _holds(self, word: Token, rest: list[Token]) -> bool:
        if word.text in ("ifdef", "ifndef"):
            if not rest or rest[0].kind != "word":
                self._bad_line(word, f"`#{word.text}` needs the name of a macro")
                return False
            return self.macros.is_defined(rest[0].text) == (word.text == "ifdef")
        try:
            return evaluate_condition(self.macros.expand(self._without_defined(rest)), word)
        except ConditionError as error:
            self._bad_line(error.token, error.message, "a condition is an integer expression over macros")
            return False

    def _without_defined(self, tokens: list[Token]) -> list[Token]:
        """Return the tokens with `defined X` and `defined(X)` replaced by 1 or 0."""
        left: list[Token] = []
        position = 0
        while position < len(tokens):
            token = tokens[position]
            position += 1
            if token.text == "defined" and position < len(tokens):
                has_bracket = tokens[position].kind == "(" and position + 2 < len(tokens)
                name = tokens[position + has_bracket]
                position += 3 if has_bracket else 1
                token = token._replace(kind="number", text=str(int(self.macros.is_defined(name.text))))
            left.append(token)
        return left

    def _define(self, word: Token, rest: list[Token]) -> None:
        if not rest or rest[0].kind != "word":
            self._bad_line(word, "`#define` needs a name", "a macro is written `#define NAME text`")
            return
        name, body = rest[0], rest[1:]
        parameters: list[str] | None = None
        is_variadic = False
        # Only a bracket right behind the name begins parameters; otherwise it belongs to the text.
        if body and body[0].kind == "(" and not body[0].is_spaced:
            close = next((index for index, token in enumerate(body) if token.kind == ")"), None)
            if close is None:
                self._bad_line(name, f"the parameters of `{name.text}` have no closing `)`")
                return
            inside = [token.text for token in body[1:close] if token.kind != ","]
            if inside[-3:] == [".", ".", "."]:
                inside[-3:] = ["__VA_ARGS__"]
                is_variadic = True
            parameters = inside
            body = body[close + 1 :]
        macro = Macro(name.text, None if parameters is None else tuple(parameters), tuple(body), is_variadic)
        self.macros.table[name.text] = macro

    # --- includes ---

    def _include_line(self, word: Token, rest: list[Token]) -> None:
        if rest and rest[0].kind == "word":
            rest = self.macros.expand(rest)
        if rest and rest[0].kind == "string":
            self._include(rest[0], rest[0].text, word.source)
            return
        if rest and rest[0].kind == "<" and rest[-1].kind == ">":
            first, last = rest[0], rest[-1]
            text = first.source.text[first.start : last.end]
            self._include(first._replace(end=last.end), text, None)
            return
        self._bad_line(word, "`#include` needs a file name", 'write `#include "file.dl"`')

    def _include(self, token: Token, written: str, beside: Source | None) -> None:
        """Append a file's tokens; `beside` is the source whose folder is searched first."""
        span = token.span
        name = written[1:-1]
        if written.startswith('"'):
            try:
                name = string_literal(token).value
            except LiteralError as error:
                self.complain(error.diagnostic)
                return
        folders = [*([Path(beside.name).parent] if beside is not None else []), *self.include_path]
        path = next((folder / name for folder in folders if _is_file(folder / name)), None)
        if path is None:
            self._missing(name, folders, span)
            return
        identity = _identity(path)
        if identity in self._once or self._is_full:
            return
        if identity in self._open_files or len(self._open_files) > _MAX_INCLUDES:
            chain = " -> ".join(open_file.name for open_file in [*self._open_files, identity])
            self.complain(
                Diagnostic(
                    code="cyclic-include",
                    message=f"`{name}` includes itself: {chain}",
                    span=span,
                    hint="guard the file with `#ifndef NAME`, `#define NAME`, `#endif`",
                )
            )
            return
        try:
            text = self._read(path)
        except (OSError, UnicodeDecodeError) as error:
            self.complain(
                Diagnostic(code="missing-include", message=f"`{name}` cannot be read: {error}", span=span)
            )
            return
        self._files += 1
        self._included += len(text)
        if self._files > _MAX_FILES or self._included > _MAX_INCLUDED:
            self._too_much(name, span)
            return
        self.file(Source(str(path), text), path)

    def _too_much(self, name: str, span: Span) -> None:
        """Report, once, that files are included too often."""
        if not self._is_full:
            self._is_full = True
            self.complain(
                Diagnostic(
                    code="program-too-large",
                    message=f"more than {_MAX_FILES} files are included, or {_MAX_INCLUDED} characters",
                    span=span,
                    hint=f"`{name}` is included too often: guard it with `#pragma once`",
                )
            )

    def _missing(self, name: str, folders: list[Path], span: Span) -> None:
        near: list[str] = []
        for folder in folders:
            if _is_folder(folder):
                near.extend(entry.name for entry in folder.iterdir() if entry.is_file())
        close = get_close_matches(Path(name).name, near, n=1)
        searched = ", ".join(f"`{folder}`" for folder in folders) or "no folder"
        hint = f"did you mean `{close[0]}`?" if close else f"searched {searched}; `-I DIR` adds a folder"
        self.complain(
            Diagnostic(code="missing-include", message=f"there is no file `{name}`", span=span, hint=hint)
        )

    def _seen_before(self) -> bool:
        """Note that the open file counts once; return whether it was read before."""
        identity = self._open_files[-1]
        if identity in self._once:
            return True
        self._once.add(identity)
        return False

    def _bad_line(self, token: Token, message: str, hint: str | None = None) -> None:
        self.complain(Diagnostic(code="bad-preprocessor-line", message=message, span=token.span, hint=hint))


def _identity(path: Path) -> Path:
    """Return one path for a file, however it is named."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _rest_of_line(word: Token, rest: list[Token]) -> str:
    if not rest:
        return ""
    return word.source.text[rest[0].start : rest[-1].end].strip()
