"""An analysis as it is asked for: a program, how it is read, and the files that it looks at."""

import hashlib
from pathlib import Path

from tidelog.dataclass import dataclass
from tidelog.options import OpenOptions
from tidelog.syntax import parse
from tidelog.syntax.find_source import find_source
from tidelog.version import own_version


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """A program, how it is read, and the files that it looks at."""

    program: Path
    options: OpenOptions
    language: str = "python"
    below: str = ""
    functions: tuple[Path, ...] = ()

    @classmethod
    def of(cls, program: Path, options: OpenOptions, language: str, below: str = "") -> "AnalysisRequest":
        """Return a request that knows the files of the functions in its options."""
        functions = (options.functions or {}).values()
        codes = (getattr(function, "__code__", None) for function in functions)
        files = {Path(code.co_filename) for code in codes if code is not None}
        return cls(program, options, language, below, tuple(sorted(each for each in files if each.is_file())))

    def fingerprint(self) -> str:
        """Return what tells two analyses apart: texts of the program, fact files, functions, settings."""
        items = parse(
            find_source(self.program), include_path=self.options.include_folders, defines=self.options.defines
        ).items
        texts = {item.span.source.name: item.span.source.text for item in items}
        parts: list[object] = [own_version(), self.language, self.below, sorted(texts.values())]
        facts = self.options.facts
        if isinstance(facts, (str, Path)) and Path(facts).is_dir():
            parts += [(each.name, _digest(each)) for each in sorted(Path(facts).glob("*.facts"))]
        parts += [_digest(each) for each in self.functions]
        return hashlib.sha256(repr(parts).encode(errors="surrogatepass")).hexdigest()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
