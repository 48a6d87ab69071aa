"""`tidelog tree`: declarations of a language's relations, facts of a tree, edits between two."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidelog.cli.guard import guarded
from tidelog.cli.parameters import Format, OutputFormat
from tidelog.cli.programs import read_program
from tidelog.errors import Diagnostic, TidelogError
from tidelog.syntax.find_source import read_source

if TYPE_CHECKING:
    from tidelog.trees import Edit, EditScript, Tree

tree_app = typer.Typer(
    help="Turn source text and JSON into relations.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

_LANGUAGES = {
    ".c": "c",
    ".go": "go",
    ".h": "c",
    ".java": "java",
    ".js": "javascript",
    ".json": "json",
    ".py": "python",
}

Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        "-l",
        metavar="NAME",
        help="python, json, or a tree-sitter grammar; by default inferred from the file name.",
    ),
]
SchemaFile = Annotated[
    Path | None, typer.Option("--schema", metavar="FILE", help="A JSON Schema with the types of a JSON file.")
]


@tree_app.command()
@guarded
def declare(
    what: Annotated[str, typer.Argument(help="A language, or a file in it.", metavar="LANGUAGE|FILE")],
    *,
    program: Annotated[
        Path | None, typer.Option("--program", metavar="FILE", help="Declare only what this program names.")
    ] = None,
    language: Language = None,
    schema: SchemaFile = None,
) -> None:
    """Print the declarations of the relations, for a file that programs include."""
    text = None if program is None else read_program(program).text
    if Path(what).suffix in _LANGUAGES or language is not None:
        sys.stdout.write(_read(Path(what), language, schema).declarations(text))
        return
    if schema is not None:
        raise typer.BadParameter("--schema goes with a JSON file")
    from tidelog.trees import Forest  # noqa: PLC0415 - starts quickly otherwise

    sys.stdout.write(Forest.of(what).declarations(text))


@tree_app.command()
@guarded
def diff(  # noqa: PLR0913 - one parameter per option of the command line
    old: Annotated[Path, typer.Argument(help="A file.", metavar="OLD")],
    new: Annotated[Path, typer.Argument(help="The same file after some edits.", metavar="NEW")],
    *,
    language: Language = None,
    schema: SchemaFile = None,
    changes: Annotated[
        bool, typer.Option("--changes", help="Print the facts that change, as a change script.")
    ] = False,
    output_format: Format = OutputFormat.TEXT,
) -> None:
    """Print the edits that lead from one file to the other."""
    before = _read(old, language, schema)
    script = before.diff(_read(new, language, schema, like=before))
    if output_format is OutputFormat.JSON:
        import json  # noqa: PLC0415 - starts quickly otherwise

        found = _changed_facts(script) if changes else [_plain_edit(edit) for edit in script]
        sys.stdout.write(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    elif changes:
        sys.stdout.writelines(f"{line}\n" for line in _change_lines(script))
    else:
        sys.stdout.writelines(f"{edit}\n" for edit in script)


@tree_app.command()
@guarded
def facts(
    file: Annotated[Path, typer.Argument(help="A file.", metavar="FILE")],
    output: Annotated[
        Path, typer.Option("-D", "--output-dir", metavar="DIR", help="Where the .facts files are written.")
    ] = Path(),
    *,
    language: Language = None,
    schema: SchemaFile = None,
) -> None:
    """Write the facts of a tree, one file per relation, for `tidelog run -F`."""
    import tidelog  # noqa: PLC0415 - starts quickly otherwise

    tree = _read(file, language, schema)
    # Relations without facts need a file too.
    outputs = "".join(f'.output {name}(filename="{name}.facts")\n' for name in _declared(tree))
    with tidelog.open(tree.declarations() + outputs, facts=tree.facts()) as db:
        output.mkdir(parents=True, exist_ok=True)
        db.write(output)


def _declared(tree: "Tree") -> list[str]:
    words = [line.split("(")[0] for line in tree.declarations().splitlines() if line.startswith(".decl ")]
    return [word.removeprefix(".decl ") for word in words]


def _read(path: Path, language: str | None, schema: Path | None, like: "Tree | None" = None) -> "Tree":
    from tidelog.trees import Tree  # noqa: PLC0415 - starts quickly otherwise

    source = read_source(path)
    name = language or _LANGUAGES.get(path.suffix)
    if name is None:
        message = f"it is not known which language `{path}` is written in"
        raise TidelogError([Diagnostic(code="source-language", message=message, hint="give --language")])
    if schema is not None and name != "json":
        raise typer.BadParameter("--schema goes with a JSON file")
    if name != "json":
        return Tree.from_source(source.text, name, source.name)
    if like is not None:
        return Tree.from_json(_json(path), like=like)
    types = None if schema is None else _json(schema)
    if types is not None and not isinstance(types, dict):
        message = f"{schema} is not a JSON Schema: it is not an object"
        raise TidelogError([Diagnostic(code="source-syntax", message=message)])
    return Tree.from_json(_json(path), types)


def _json(path: Path) -> object:
    import json  # noqa: PLC0415 - starts quickly otherwise

    source = read_source(path)
    try:
        return json.loads(source.text)
    except ValueError as error:
        message = f"{path} is not JSON: {error}"
        raise TidelogError([Diagnostic(code="source-syntax", message=message)]) from None


def _plain_edit(edit: "Edit") -> dict[str, object]:
    """Return an edit for JSON: what it does, and its fields; nodes are written `Add#1`."""
    fields = ((name, getattr(edit, name)) for name in type(edit).__match_args__)
    return {"edit": type(edit).__name__.lower(), **{name: _plain_field(value) for name, value in fields}}


def _plain_field(value: object) -> object:
    if isinstance(value, tuple):
        return {name: _plain_field(part) for name, part in value}
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _changed_facts(script: "EditScript") -> dict[str, dict[str, object]]:
    """Return the facts that change, by relation."""
    changes = script.changes().items()
    return {name: {"insert": change.insert, "delete": change.delete} for name, change in changes}


def _change_lines(script: "EditScript") -> list[str]:
    """Return a change script; deletions go first."""
    from tidelog.views.fact_text import write_fact  # noqa: PLC0415 - starts quickly otherwise

    changes = script.changes().items()
    deleted = [f"-{write_fact(name, row)}." for name, change in changes for row in change.delete]
    return deleted + [f"+{write_fact(name, row)}." for name, change in changes for row in change.insert]
