"""Where shared libraries are, and which of them has a function."""

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import RLock
from typing import Final

from tidelog.dataclass import dataclass
from tidelog.engine.libraries.functor import Interface, LibraryFunctor
from tidelog.errors import Diagnostic, TidelogError
from tidelog.program.nodes import Program, UserFunctor
from tidelog.source import Span
from tidelog.values import Kind

# The library that Soufflé loads if none is named.
_USUAL: Final = "functors"
_ENDINGS: Final = (".dylib", ".so") if sys.platform == "darwin" else (".so",)
_SEARCHED: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
# What a library exports that was compiled with our header.
_MARK: Final = "tidelog_interface"
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Libraries:
    """Shared libraries by name, as after `-l`, or by path; they are loaded when a functor is looked for.

    `libfunctors.so` is found as `functors` in the folders, in the current one if there are none, in those of
    `LD_LIBRARY_PATH`, and wherever the system looks. `bits` is the width of numbers.
    """

    names: tuple[str, ...]
    folders: tuple[Path, ...] = ()
    bits: int | None = None

    def functors(
        self, program: Program, wanted: Sequence[tuple[str, Span | None]]
    ) -> dict[str, LibraryFunctor]:
        """Return the functors that the libraries have among those wanted, in the first that has each."""
        loaded = {_load(name, self.folders): RLock() for name in self.names}
        found: dict[str, LibraryFunctor] = {}
        mistakes: list[Diagnostic] = []
        for name, span in wanted:
            library = next((each for each in loaded if hasattr(each, name)), None)
            if library is None:
                mistakes.append(self._missing(name, span, list(loaded)))
                continue
            declared = program.functors[name]
            reasons = list(_refused(declared, program, library, span))
            mistakes += reasons
            if not reasons:
                interface = self._interface(declared, program, library)
                found[name] = LibraryFunctor(interface, library, loaded[library])
        if mistakes:
            raise TidelogError(mistakes)
        return found

    def _interface(self, declared: UserFunctor, program: Program, library: ctypes.CDLL) -> Interface:
        kinds = tuple(program.kind_of(each) for each in declared.parameters)
        result = program.kind_of(declared.result)
        # The header has 64 bits and no other width.
        bits = 64 if hasattr(library, _MARK) else self.bits
        return Interface(declared, kinds, result, bits)

    def _missing(self, name: str, span: Span | None, libraries: Sequence[ctypes.CDLL]) -> Diagnostic:
        files = [library._name for library in libraries]  # noqa: SLF001 - ctypes has no other name for it
        mangled = f"_Z{len(name)}{name}".encode()
        is_mangled = any(mangled in Path(file).read_bytes() for file in files if Path(file).is_file())
        hint = (
            f'it is compiled as C++; declare it extern "C" {{ ... {name}(...); }}'
            if is_mangled
            else f"compile a C function of that name into one of them, or give `{name}` in Python"
        )
        shown = ", ".join(map(str, files))
        return Diagnostic(
            code="missing-function",
            message=f"there is no function for the functor `{name}` in {shown}, and none in Python",
            span=span,
            hint=hint,
        )


def usual_libraries(folders: Sequence[Path]) -> tuple[str, ...]:
    """Return the libraries if none is named: `functors` where there is such a file."""
    return (_USUAL,) if any(_files(_USUAL, folders)) else ()


def _files(name: str, folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the files that a name can stand for, those that are there."""
    if os.sep in name or name.endswith(_ENDINGS):
        yield from (path for path in [Path(name)] if path.is_file())
        return
    searched = [Path(part) for key in _SEARCHED for part in os.environ.get(key, "").split(os.pathsep) if part]
    for folder in (*(folders or (Path(),)), *searched):
        for ending in _ENDINGS:
            path = folder / f"lib{name}{ending}"
            if path.is_file():
                yield path


def _load(name: str, folders: Sequence[Path]) -> ctypes.CDLL:
    from ctypes.util import find_library  # noqa: PLC0415 - loads what starts other programs

    path = next(_files(name, folders), None)
    plain = f"lib{name}{_ENDINGS[0]}"
    try:
        return ctypes.CDLL(str(path.resolve()) if path else find_library(name) or plain)
    except OSError as error:
        if path is None:
            shown = name if os.sep in name else plain
            where = ", ".join(map(str, folders or (Path(),)))
            message = f"there is no library {shown} in {where}"
            hint = "name its folder with -L DIR (library_path in Python), or give its path"
            diagnostic = Diagnostic(code="library-not-found", message=message, hint=hint)
        else:
            message = f"{path} cannot be loaded: {error}"
            hint = "compile it as a shared library for this machine: cc -shared -fPIC"
            diagnostic = Diagnostic(code="library-failed", message=message, hint=hint)
        raise TidelogError([diagnostic]) from None


def _refused(
    declared: UserFunctor, program: Program, library: ctypes.CDLL, span: Span | None
) -> Iterator[Diagnostic]:
    """Yield why a function of a library cannot be called as it is declared."""
    file = library._name  # noqa: SLF001 - as above
    name = declared.name
    if declared.is_stateful and not _has_interface(library):
        yield Diagnostic(
            code="library-interface",
            message=f"{file} was not compiled with Tidelog's header, so `{name}` cannot be stateful",
            span=span,
            hint="the objects that Soufflé passes exist only inside Soufflé; the same source compiles with"
            ' -I "$(tidelog include)"',
        )
    for type_name in dict.fromkeys((*declared.parameters, declared.result)):
        if program.kind_of(type_name) in (Kind.RECORD, Kind.ADT) and not declared.is_stateful:
            message = (
                f"`{name}` of {file} cannot have the type `{type_name}`, whose values C knows by code only"
            )
            hint = f"declare `{name}` as stateful, which gives it the table of records"
            yield Diagnostic(code="library-type", message=message, span=span, hint=hint)


def _has_interface(library: ctypes.CDLL) -> bool:
    """Say whether a library was compiled with this version's header."""
    try:
        return ctypes.c_int.in_dll(library, _MARK).value == _VERSION
    except ValueError:
        return False
