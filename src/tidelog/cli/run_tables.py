"""The outputs of a run on stdout, as tables of one form or as a JSON object."""

import json
from collections.abc import Iterator

from tidelog.cli.tables import TableForm, table_lines
from tidelog.program.suggest import counted
from tidelog.views import RelationView, Snapshot


def output_lines(snapshot: Snapshot, form: TableForm) -> Iterator[str]:
    """Yield the facts of all `.output` relations; JSON is one object with a list for each relation.

    Tables have a title, but for a single one in CSV, which other programs read.
    """
    directives = [each for each in snapshot.program.directives if each.kind == "output"]
    names = list(dict.fromkeys(each.relation for each in directives))
    views = [RelationView(snapshot.program.relations[name], lambda: snapshot) for name in names]
    if form is TableForm.JSON:
        lists = ("\n".join(table_lines(each.columns, each, form)) for each in views)
        pairs = zip(names, lists, strict=True)
        yield "{" + ",\n".join(f"{json.dumps(name)}: {facts}" for name, facts in pairs) + "}"
        return
    for place, view in enumerate(views):
        if place:
            yield ""
        if form is not TableForm.CSV or len(views) > 1:
            title = f"{view.name}: {counted(len(view), 'fact')}"
            yield from (f"### {title}", "") if form is TableForm.MARKDOWN else (title,)
        yield from table_lines(view.columns, view, form)
