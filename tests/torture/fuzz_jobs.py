"""Job files of pipelines, whole and damaged: read, checked and bound to their program; Spark stays asleep."""

import random
from typing import Final

from tidelog.errors import TidelogError
from tidelog.pipeline.bind import bind_job
from tidelog.pipeline.job_read import parse_job
from torture.corpus import jobs
from torture.fuzzing import FuzzKind
from torture.mutation import NUMBERS, STRANGE, mutate
from torture.scratch import own_folder
from torture.shown import show
from torture.shrinking import Parts

PROGRAM: Final = """
.decl member(user: symbol, group: symbol)
.input member
.decl grant(group: symbol, resource: symbol, level: number)
.input grant
.decl can(user: symbol, resource: symbol)
.output can
can(u, r) :- member(u, g), grant(g, r, n), n > 0.
"""
_JOB: Final = '[job]\nprogram = "access.dl"\nstate = "state"\n'
_TABLES: Final = (
    '[trigger]\nkind = "interval"\nevery = "10 minutes"\n',
    '[spark]\nmaster = "local[2]"\nconf = { "spark.ui.enabled" = "false" }\nengine = { partners = 2 }\n',
    '[[source]]\nrelation = "member"\nformat = "parquet"\npath = "member"\n',
    (
        '[[source]]\nrelation = "grant"\nformat = "csv"\npath = "grant"\nchanges = "op"\n'
        'columns = { level = "rights" }\n'
    ),
    (
        '[[source]]\nname = "k"\nrelation = "grant"\nformat = "kafka"\n'
        'options = { "subscribe" = "t" }\nfields = ["a", "b"]\n'
    ),
    (
        '[[source]]\nrelation = "member"\nformat = "jdbc"\ntable = "m"\nbookmark = "id"\n'
        'order = "id"\nchanges = "insert"\n'
    ),
    '[[output]]\nrelation = "can"\npath = "published/can"\nfeed = "published/can_feed"\nevery = 3\n',
    '[[output]]\nrelation = "can"\ntable = "t"\nformat = "delta"\nfeed_table = "f"\n',
    'engine = "spark"\nbad_rows = "fail"\nfunctions = ["f.py"]\ninclude = ["lib"]\ndefines = { A = "1" }\n',
)
_WORDS: Final = (
    *("[", "]", "[[", "]]", "{", "}", "=", ",", ".", '"', "'", '"""', "'''", "#", "\n", "\\", "true"),
    *("false", "nan"),
    *("-inf", "1979-05-27T07:32:00Z", "1979-05-27", "07:32:00", "0xff", "1_000", "[]", "{}", '""'),
    *('"\\u0000"', "1.5"),
    *("job", "program", "state", "engine", "source", "output", "relation", "format", "path", "columns"),
    "changes",
    *("trigger", "kind", "every", "spark", "conf", '"parquet"', '"csv"', '"op"', '"interval"', '"once"'),
    '"member"',
    *('"grant"', '"can"', '"/"', '"../x"', '"s3://b/x"', '"file:///x"', "[[source]]", "[job]", "[job.x]"),
    "a.b.c = 1\n",
)


def make(chance: random.Random) -> Parts:
    """Return the text of a job."""
    if chance.random() < 0.2:
        text = chance.choice(jobs())
    else:
        tables = chance.sample(_TABLES, chance.choice((0, 1, 2, 3, 4)))
        text = _JOB + "\n".join(tables)
    if chance.random() < 0.02:
        deep = chance.choice((50, 2000, 50_000))
        text += chance.choice(
            ("x = " + "[" * deep, "[" + "a." * deep + "b]\n", "x = " + "{a=" * deep, "x = " + "9" * deep)
        )
    words = (*_WORDS, chance.choice(NUMBERS), chance.choice(STRANGE))
    return (mutate(chance, text, words, chance.choice((0, 1, 1, 1, 2, 3, 6))),)


def attempt(text: str) -> None:
    """Read a job, and bind it to its program."""
    folder = own_folder()
    program = folder / "access.dl"
    if not program.exists():
        program.write_text(PROGRAM, encoding="utf-8")
    try:
        job = parse_job(text, folder=folder)
        bound = bind_job(job)
        str(TidelogError(bound.warnings))
    except TidelogError as error:
        show(error)


KIND: Final = FuzzKind("fuzz-jobs", make, attempt)
