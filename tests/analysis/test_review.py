"""Reviews: what appears and vanishes between two commits, the hunks to blame, and the forms they have."""

import json
import random
import subprocess
from pathlib import Path

import pytest

from support.command_line import Command, make_command
from tidelog.analysis import review_store
from tidelog.analysis.follow import Follow
from tidelog.analysis.review import ReviewOptions, start_reviewer
from tidelog.analysis.saved_forest import load_forest, save_forest
from tidelog.trees import Forest
from tidelog.trees.git_history import GitHistory
from tidelog.trees.hunks import Hunk, parse_hunks

RULES = """\
/// A function that no file calls.
.decl unused(at: Node, name: symbol)
.output unused
unused(f, n) :- Link_FunctionDef_name(f, n), !called(n).
.decl called(name: symbol)
called(n) :- Link_Call_func(_, f), Link_Name_id(f, n).
"""
TOOLS = "def total(prices):\n    return sum(prices)\n\n\ndef show(name):\n    print(name)\n"
SHOP = 'print(total([1, 2]))\n\nshow("a")\n'


class Repository:
    """A git repository with a rule file beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.org")

    def git(self, *arguments: str) -> str:
        """Run git; return what it prints."""
        done = subprocess.run(
            ["git", "-C", str(self.folder), *arguments], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, files: dict[str, str | None], subject: str = "a change") -> str:
        """Write files, None deletes one, and commit; return the id."""
        for name, text in files.items():
            path = self.folder / name
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Return a repository whose first commit has nothing to find."""
    (tmp_path / "rules.dl").write_text(RULES)
    (tmp_path / "repo").mkdir()
    made = Repository(tmp_path / "repo")
    made.commit({"src/tools.py": TOOLS, "src/shop.py": SHOP}, "the shop")
    return made


@pytest.fixture
def tidelog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return the command line, called beside the repository."""
    monkeypatch.chdir(tmp_path)
    return make_command(monkeypatch, capsys)


def test_a_review_tells_what_is_new_and_which_hunk_did_it(repository: Repository, tidelog: Command):
    """The call that was deleted in another file is to blame, and none of the other hunks."""
    repository.commit(
        {"src/tools.py": f"# Tools.\n{TOOLS}", "src/shop.py": SHOP.replace('show("a")', "x = 1")},
        "shop: less",
    )

    status, out, _ = tidelog("review", "rules.dl", "HEAD~1..HEAD", "--git", "repo")

    assert status == 3
    assert out.splitlines()[0].endswith("shop: less: 1 new, 0 fixed")
    assert '+ src/tools.py:6:1: unused(`def show(name):…`, "show")' in out
    assert "changed in src/shop.py:3" in out
    assert "[rules.dl:4]" in out
    assert "src/tools.py:6 | def show(name):" in out


def test_what_vanishes_has_its_hunk_and_the_proof_of_before(repository: Repository, tidelog: Command):
    """A call that is inserted fixes a finding: its proof is about the base, and nothing is left to do."""
    repository.commit({"src/shop.py": "print(total([1, 2]))\n"})
    repository.commit({"src/shop.py": f"# Again.\n{SHOP}", "src/tools.py": f"# One.\n# Two.\n{TOOLS}"})

    status, out, _ = tidelog("review", "rules.dl", "--git", "repo")

    assert status == 0
    assert "0 new, 1 fixed" in out
    assert "- src/tools.py:5:1: unused(" in out
    assert "changed in src/shop.py:3-4" in out
    assert "src/tools.py:5 | def show(name):" in out


def test_what_only_moves_is_neither_new_nor_fixed(repository: Repository, tidelog: Command):
    """A file that is renamed, and a function that moves within its file, keep their findings."""
    repository.commit({"src/shop.py": "total([1])\n"})
    head, _, tail = TOOLS.partition("\n\n\n")
    repository.commit({"src/tools.py": None, "src/kit.py": f"{tail}\n\n{head}\n"})

    status, out, _ = tidelog("review", "rules.dl", "--git", "repo")

    assert (status, out.strip().rsplit(": ", 1)[1]) == (0, "0 new, 0 fixed")


def test_json_and_markdown(repository: Repository, tidelog: Command, tmp_path: Path):
    """JSON has places, hunks and proofs; Markdown is a comment with the details folded."""
    repository.commit({"src/shop.py": "print(total([1, 2]))\n"}, "shop: `less`")

    _, text, _ = tidelog("review", "rules.dl", "--git", "repo", "--format", "json")
    tidelog("review", "rules.dl", "--git", "repo", "--format", "markdown", "-o", "comment.md")
    review = json.loads(text)
    comment = (tmp_path / "comment.md").read_text()

    (new,) = review["new"]
    assert (new["relation"], new["file"], new["line"]) == ("unused", "src/tools.py", 5)
    assert [hunk["file"] for hunk in new["hunks"]] == ["src/shop.py"]
    assert new["hunks"][0]["old"] == [2, 2]
    assert "unused(" in new["why"]
    assert comment.startswith("### Tidelog: 1 new finding, 0 fixed\n")
    assert "<details><summary>why</summary>" in comment
    assert '  -show("a")' in comment
    assert '`` unused(`def show(name):…`, "show") ``' in comment


def test_sarif_keeps_to_the_main_rules_of_its_schema(repository: Repository, tidelog: Command):
    """Results name known rules and states, regions count from 1, and addresses are relative."""
    repository.commit(
        {"src/shop.py": SHOP.replace("total([1, 2])", "1"), "src/odd name.py": "def f(): ...\n"}
    )

    _, text, _ = tidelog("review", "rules.dl", "--git", "repo", "--format", "sarif")
    log = json.loads(text)

    assert (log["version"], set(log)) == ("2.1.0", {"$schema", "version", "runs"})
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert run["columnKind"] == "unicodeCodePoints"
    assert len(run["results"]) == 2
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["baselineState"] in {"new", "unchanged", "updated", "absent"}
        assert result["level"] in {"none", "note", "warning", "error"}
        assert result["message"]["text"]
        locations = [each["physicalLocation"] for each in (*result["locations"], *result["relatedLocations"])]
        assert locations
        for location in locations:
            assert " " not in location["artifactLocation"]["uri"]
            assert not location["artifactLocation"]["uri"].startswith("/")
            region = location["region"]
            assert 1 <= region["startLine"] <= region["endLine"]
            assert region.get("startColumn", 1) >= 1


def test_files_that_cannot_be_read_fail_the_review(repository: Repository, tidelog: Command):
    """A file of the head with a syntax error is reported, and the status says so."""
    repository.commit({"src/shop.py": "print(total([1, 2])\n"})

    status, _, err = tidelog("review", "rules.dl", "--git", "repo")

    assert status == 3
    assert "error[source-syntax]" in err
    assert tidelog("review", "rules.dl", "--git", "repo", "--exit-zero")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("rules.dl", "nowhere..HEAD"), "git-failed"),
        (("gone.dl", "HEAD"), "unreadable-program"),
        (("rules.dl", "--git", "gone"), "git-failed"),
    ],
)
@pytest.mark.usefixtures("repository")
def test_mistakes_are_diagnostics(tidelog: Command, arguments: tuple[str, ...], code: str):
    """What a review needs and does not find has a code; the status is that of a mistake."""
    where = () if "--git" in arguments else ("--git", "repo")

    status, out, err = tidelog("review", *arguments, *where)

    assert (status, out) == (1, "")
    assert f"error[{code}]" in err


def test_a_range_with_three_dots_begins_where_branches_part(repository: Repository, tidelog: Command):
    """What happened on the other branch since is not part of the review."""
    repository.git("checkout", "-q", "-b", "topic")
    repository.commit({"src/more.py": "def more(): ...\n"})
    repository.git("checkout", "-q", "main")
    repository.commit({"src/shop.py": "total([1])\n"})

    _, both, _ = tidelog("review", "rules.dl", "main..topic", "--git", "repo")
    _, own, _ = tidelog("review", "rules.dl", "main...topic", "--git", "repo")

    assert "1 new, 1 fixed" in both
    assert "1 new, 0 fixed" in own


def test_each_commit_against_its_parent(repository: Repository, tidelog: Command):
    """`--each` has one review for each commit of the range, oldest first."""
    base = repository.git("rev-parse", "HEAD")
    repository.commit({"src/shop.py": "total([1])\n"}, "one")
    repository.commit({"src/other.py": "show(1)\n"}, "two")

    _, out, _ = tidelog("review", "rules.dl", f"{base}..HEAD", "--each", "--git", "repo", "--why", "0")

    titles = [line.split(" ", 2)[2] for line in out.splitlines() if line.startswith("#")]
    assert titles == ["one: 1 new, 0 fixed", "two: 0 new, 1 fixed"]


# --- with a store ------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_slow", [False, True])
def test_a_store_gives_the_same_reviews(
    repository: Repository,
    tidelog: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_slow: bool,
):
    """Whatever commits were reviewed before, forwards or backwards, a review with a store is that without.

    Where following the commits since the last checkpoint again is slow, there is a new checkpoint.
    """
    if is_slow:
        monkeypatch.setattr(review_store, "_MOST_SECONDS", -1.0)
    chance = random.Random(7)  # noqa: S311 - not for secrets
    commits = [repository.git("rev-parse", "HEAD")]
    for number in range(6):
        calls = "".join(f"{chance.choice(['total', 'show', 'f1', 'f2'])}({number})\n" for _ in range(2))
        files = {"src/shop.py": calls, f"src/f{number}.py": f"def f{chance.randrange(4)}(): ...\n"}
        commits.append(repository.commit(files, str(number)))

    for _ in range(8):
        base, head = chance.choice(commits), chance.choice(commits)
        revisions = f"{base}..{head}"
        kept = tidelog(
            "review", "rules.dl", revisions, "--git", "repo", "--store", "kept", "--format", "json"
        )
        fresh = tidelog("review", "rules.dl", revisions, "--git", "repo", "--format", "json")
        assert _essence(kept[1]) == _essence(fresh[1])
        assert kept[0] == fresh[0]
    steps = json.loads((tmp_path / "kept/review.json").read_text())["steps"]
    assert bool(steps) != is_slow


def _essence(text: str) -> object:
    """Return a review without ids of nodes, which depend on the way to a commit."""
    review = json.loads(text)
    return {
        key: sorted((each["text"], each["file"], each["line"]) for each in review[key])
        for key in ("new", "fixed")
    }


def test_a_store_that_does_not_fit_is_made_again(repository: Repository, tidelog: Command, tmp_path: Path):
    """After another program, or with a torn file, the review is right all the same."""
    repository.commit({"src/shop.py": "total([1])\n"})
    arguments = ("review", "rules.dl", "--git", "repo", "--store", "kept", "--why", "0")
    expected = tidelog(*arguments)[1]

    for spoil in (
        lambda: (tmp_path / "rules.dl").write_text(RULES + "// more\n"),
        lambda: (tmp_path / "kept/trees.image").write_bytes(b"torn"),
        lambda: (tmp_path / "kept/review.json").write_text("{"),
        (tmp_path / "kept/review.json").unlink,
    ):
        spoil()
        assert tidelog(*arguments)[1] == expected


@pytest.mark.usefixtures("repository")
def test_a_folder_with_other_things_is_left_alone(tidelog: Command, tmp_path: Path):
    """Nothing is deleted that a review did not make."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/letter.txt").write_text("dear")

    status, _, err = tidelog("review", "rules.dl", "HEAD..HEAD", "--git", "repo", "--store", "kept")

    assert status == 1
    assert "error[store-exists]" in err
    assert (tmp_path / "kept/letter.txt").read_text() == "dear"


def test_a_saved_forest_is_the_same(tmp_path: Path):
    """Trees, ids, spans and the steps after it are those of the forest that was saved."""
    texts = {
        "a.py": "x = 1.5\ny = 'é😀' + b'z'\n",
        "b.py": "def f(a=None): return -0.0, 10**30\n",
        "c.py": "",
    }
    forest = Forest.of("python").update({"a.py": "x = 1\n"}).forest.update(dict(texts)).forest

    save_forest(tmp_path / "forest", forest)
    loaded = load_forest(tmp_path / "forest")

    assert loaded is not None
    assert dict(loaded.files) == dict(forest.files)
    for path, tree in forest.files.items():
        assert tree.ids.tolist() == loaded.files[path].ids.tolist()
        assert [tree.span(each.id) for each in tree] == [loaded.span(each.id) for each in tree]
    edit = {"a.py": "x = 2\n", "b.py": None}
    assert str(forest.update(edit).script) == str(loaded.update(edit).script)


# --- against full runs -----------------------------------------------------------------------------------


def test_reviews_agree_with_two_full_runs(repository: Repository, tmp_path: Path):
    """Over random commits, what is new less what is fixed is what two analyses from nothing differ by."""
    chance = random.Random(11)  # noqa: S311 - not for secrets
    for number in range(12):
        lines = [chance.choice(["total(1)", "show(2)", "def f(): ...", "f()", "x = 1"]) for _ in range(4)]
        repository.commit({f"src/m{chance.randrange(3)}.py": "\n".join(lines) + "\n"}, str(number))

    with GitHistory(repository.folder, (".py",)) as history:
        commits = history.commits("HEAD")[1:]
        reviewer = start_reviewer(tmp_path / "rules.dl", history, commits[0].parent)
        for commit in commits:
            review = reviewer.review(commit.id, ReviewOptions(why_depth=1))
            before, after = (
                sorted(map(str, _full(tmp_path / "rules.dl", history.files(revision))))
                for revision in (str(commit.parent), commit.id)
            )
            assert sorted(map(str, reviewer.follow.findings())) == after
            new, fixed = ([str(each.finding) for each in found] for found in (review.new, review.fixed))
            assert set(new) <= set(after)
            assert set(fixed) <= set(before)
            assert len(after) - len(before) == len(new) - len(fixed)


def _full(program: Path, texts: dict[str, str]) -> list[object]:
    return list(Follow(program, Forest.of("python").update(dict(texts)).forest).findings())


# --- hunks -------------------------------------------------------------------------------------------------


def test_hunks_are_read_from_a_diff():
    """Ranges, names with spaces, deleted files, and lines that look like headers."""
    diff = (
        "diff --git a b.py a b.py\n--- a b.py\t\n+++ a b.py\t\n"
        "@@ -1 +1,2 @@ def f():\n---- old\n+++ new\n+more\n"
        "diff --git gone.py gone.py\ndeleted file mode 100644\n--- gone.py\n+++ /dev/null\n"
        "@@ -1,2 +0,0 @@\n-x\n-y\n"
    )

    assert parse_hunks(diff) == (
        Hunk("a b.py", range(1, 2), range(1, 3), "---- old\n+++ new\n+more"),
        Hunk("gone.py", range(1, 3), range(0), "-x\n-y"),
    )
