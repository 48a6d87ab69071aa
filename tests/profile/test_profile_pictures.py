"""Profiles as pictures, and the page of `tidelog run -r`."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import tidelog
from support.command_line import Command, make_command
from tidelog.engine.profile.record import IterationProfile, RuleProfile, StratumProfile, Tally
from tidelog.profile.pictures import PictureKind, draw_picture
from tidelog.profile.profile import Profile
from tidelog.profile.svg import Scale, fitting

PROGRAM = """.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.output path
edge(1, 2). edge(2, 3). edge(3, 4).
path(x, y) :- edge(x, y).
path(x, z) :- path(x, y), edge(y, z), 1 + 1 < 3.
"""
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """Return `tidelog` as a function, in a folder with a program."""
    (tmp_path / "prog.dl").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return make_command(monkeypatch, capfd)


def wasteful() -> Profile:
    """Return a profile with a rule that wastes bindings and one that does not."""
    rules = [
        RuleProfile(
            1, "p", "p(x) :- a(x, <y>).", "dir/prog.dl", 3, 1, total=Tally(3.0, 400_000_000, 3_000_000, 9)
        ),
        RuleProfile(2, "p", "p(x) :- b(x).", "dir/prog.dl", 4, 1, total=Tally(1.0, 5_000, 5_000, 5_000)),
    ]
    records = [IterationProfile(1, 1, 0.0, 3.0, 10_000), IterationProfile(2, 50, 3.0, 2.0, 7)]
    stratum = StratumProfile(0, ["p"], is_recursive=True, seconds=5.0, rules=rules, records=records)
    return Profile(program="dir/prog.dl", strata=[stratum])


def texts_of(picture: str, tag: str) -> list[str]:
    """Return the texts of all elements of a kind."""
    root = ET.fromstring(picture)  # noqa: S314 - we have drawn it
    return [element.text or "" for element in root.iter(f"{SVG}{tag}")]


def words_in(picture: str) -> list[str]:
    """Return the texts of a picture, which must be well-formed."""
    return texts_of(picture, "text")


@pytest.mark.parametrize("kind", list(PictureKind))
def test_pictures_name_their_axes_and_scales(kind: PictureKind):
    """Whoever sees a picture knows what is drawn and by which scale."""
    words = words_in(draw_picture(wasteful(), kind))

    assert any("seconds" in each and "(linear scale)" in each for each in words)
    assert any("prog.dl" in each for each in words)


@pytest.mark.parametrize("kind", list(PictureKind))
def test_pictures_need_neither_styles_nor_scripts(kind: PictureKind):
    """The policy of the explorer's page forbids both."""
    picture = draw_picture(wasteful(), kind)

    assert not re.search(r"<style|<script|style=| on\w+=|href", picture)


@pytest.mark.parametrize("kind", list(PictureKind))
def test_an_empty_profile_has_pictures_too(kind: PictureKind):
    """Nothing to show is no mistake."""
    assert words_in(draw_picture(Profile(), kind))


def test_the_flame_names_rules_that_waste_bindings():
    """The bindings and derivations of each rule are there, and wasteful rules by their line."""
    words = words_in(draw_picture(wasteful(), PictureKind.FLAME))

    assert "wasteful: prog.dl:3" in words
    assert "400M → 3M, 3 s" in words
    assert "prog.dl:3  p(x) :- a(x, <y>)." in words


def test_a_record_of_many_iterations_says_so():
    """What one points at tells which iterations it stands for."""
    picture = draw_picture(wasteful(), PictureKind.ITERATIONS)

    titles = texts_of(picture, "title")
    assert "iteration 1: 10,000 new facts in 3 s" in titles
    assert "iterations 2 to 51: 7 new facts in 2 s" in titles


def test_scales_have_round_numbers():
    """Ticks are a few round numbers, from the beginning to the end."""
    assert list(Scale(13.1, 0.0, 100.0).ticks()) == [0, 2, 4, 6, 8, 10, 12]
    assert list(Scale(2_000.0, 0.0, 1.0, is_log=True).ticks()) == [1, 10, 100, 1000]
    assert Scale(10.0, 100.0, 0.0).place(5.0) == 50.0


def test_words_are_cut_to_fit():
    """A box that is too narrow has no words at all."""
    assert fitting("path", 100.0) == "path"
    assert fitting("a long name of a rule", 60.0).endswith("…")
    assert fitting("a long name of a rule", 10.0) == ""


def test_the_command_draws(command: Command, tmp_path: Path):
    """`--picture` writes SVG to a file or to stdout, of one profile."""
    command("run", "prog.dl", "-p", "p.json")

    assert command("profile", "p.json", "--picture", "flame", "-o", "flame.svg")[0] == 0
    assert words_in((tmp_path / "flame.svg").read_text(encoding="utf-8"))
    assert command("profile", "p.json", "--picture", "facts")[1].startswith("<svg")
    status, _, err = command("profile", "p.json", "p.json", "--picture", "facts")
    assert (status, "OTHER" in err) == (1, True)


def test_the_debug_report_has_every_stage(command: Command, tmp_path: Path):
    """The page has the program after each pass, strata, plans, and with a profile what they took."""
    status, _, _ = command("run", "prog.dl", "-r", "report.html", "-D", ".")
    plain = (tmp_path / "report.html").read_text(encoding="utf-8")
    command("run", "prog.dl", "-r", "report.html", "-p", "p.json", "-D", ".")
    measured = (tmp_path / "report.html").read_text(encoding="utf-8")

    assert status == 0
    assert (tmp_path / "path.csv").exists()
    for stage in ("as written", "components expanded", "checked and stratified", "pass: fold_constants"):
        assert stage in plain
    assert "1 + 1 &lt; 3" in plain
    assert "1: path (recursive), 2 rules" in plain
    assert "scan delta path" in plain
    assert "measured" not in plain
    assert "<svg" not in plain
    assert "measured" in measured
    assert measured.count("<svg") == 3


def test_a_report_of_a_run_that_was_stopped_is_written(command: Command, tmp_path: Path):
    """What was planned is known even if the run did not end."""
    status, _, _ = command("run", "prog.dl", "-r", "report.html", "--iteration-limit", "1")

    assert status == 1
    assert "scan delta path" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_real_profile_is_drawn():
    """The boxes of operators lie within those of their rule."""
    with tidelog.open(PROGRAM, profile=True) as db:
        profile = db.profile()

    for kind in PictureKind:
        assert words_in(draw_picture(profile, kind))
