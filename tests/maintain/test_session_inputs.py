"""Input facts of a session in files of workers: changes are kept beside them."""

import tempfile

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.engine.spark.files import Annotated, Folder, file_name
from tidelog.engine.spark.ingest import CodeFiles
from tidelog.maintain.partners.session_inputs import SessionInput
from tidelog.maintain.partners.state_files import MOST_FILES, read_state, write_inputs

FACTS = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8)


def rows(facts):
    """Return facts as rows."""
    return np.array(sorted(facts), np.int64).reshape(len(facts), 2)


def shown(array):
    """Return rows as facts, none of them twice."""
    found = list(map(tuple, array.tolist()))
    assert len(found) == len(set(found))
    return set(found)


@settings(max_examples=40)
@given(first=FACTS, epochs=st.lists(st.tuples(FACTS, FACTS), max_size=4), is_filed=st.booleans())
def test_facts_in_files_change_like_facts_in_memory(first, epochs, is_filed):
    """After every change the facts, their number and what is asked of them are those of a set."""
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(path)
        inputs = SessionInput("e", 2, folder)
        if is_filed:
            parts = [rows(set(list(first)[::2])), rows(set(list(first)[1::2]))]
            files = [
                folder.write_rows(file_name("e", part, "in-x"), Annotated(each))
                for part, each in enumerate(parts)
            ]
            inputs.put_files(CodeFiles(tuple(files), len(first), is_wide=False))
        else:
            inputs.insert(rows(first))
        state, now = inputs.files(), set(first)

        for number, (insert, delete) in enumerate(epochs):
            inserted, deleted = insert - now, (delete - insert) & now
            inputs.change(rows(inserted), rows(deleted))
            state = inputs.shortened(
                [*state, write_inputs(folder, "e", str(number), rows(inserted), rows(deleted))]
            )
            now = (now | inserted) - deleted
            other = SessionInput("e", 2, folder)
            other.take_files(state, 0)

            for each in (inputs, inputs.copy(), other):
                assert (len(each), shown(each.rows())) == (len(now), now)
                every = rows({(x, y) for x in range(4) for y in range(4)})
                assert shown(every[each.contain(every)]) == now
            for written in (inputs.files(), state):
                assert shown(read_state(folder, written, 2).live_rows()) == now


def test_many_changes_become_one_file(tmp_path):
    """Facts that workers wrote stay where they are; the changes behind them are written together."""
    folder = Folder(str(tmp_path))
    base = folder.write_rows(file_name("e", 0, "in-x"), Annotated(rows({(1, 1), (2, 2)})))
    inputs = SessionInput("e", 2, folder)
    inputs.put_files(CodeFiles((base,), 2, is_wide=False))
    files = [base]

    for number in range(MOST_FILES + 1):
        deleted = {(1, 1)} if number == 3 else set()
        files = [*files, write_inputs(folder, "e", str(number), rows({(9, number)}), rows(deleted))]
    shortened = inputs.shortened(files)

    assert shortened[0] == base
    assert len(shortened) == 2
    assert shown(read_state(folder, shortened, 2).live_rows()) == {(2, 2)} | {
        (9, number) for number in range(MOST_FILES + 1)
    }
