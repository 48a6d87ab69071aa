"""Partners agree on the codes of records and algebraic values that each of them has a share of."""

import json
import tempfile

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.threaded_spark import run_in_threads
from support.value_types import TYPES, VALUES, same
from tidelog.engine.spark.files import Folder
from tidelog.engine.spark.job import BarrierJob
from tidelog.engine.spark.nested_codes import CODE, TYPE, NestedShares
from tidelog.engine.spark.texts import TEXT
from tidelog.engine.spark.value_files import files_of_values, read_here, take_all_values
from tidelog.values import Branch, Codec

NESTED = ("Pair", "List", "Unit", "Tree")
SHARES = st.lists(
    st.sampled_from(NESTED).flatmap(lambda name: st.tuples(st.just(name), VALUES[name])), max_size=8
)


def give(codec: Codec, folder: Folder, shares, number: int):
    """Let partners in threads give codes to values, and return these by type and text."""
    files = []
    for partner, share in enumerate(shares):
        own = Codec(TYPES)
        texts = [own.format(own.encode(value, name), name) for name, value in share]
        table = pa.table({TYPE: [name for name, _ in share], TEXT: pa.array(texts, pa.string())})
        file = f"share-{number}-{partner}.parquet"
        folder.write_table(
            file, table.cast(pa.schema([(TYPE, pa.string()), (TEXT, pa.string())])), compression="lz4"
        )
        files.append((file,))
    payload = NestedShares(folder.uri, dict(TYPES), tuple(files), files_of_values(codec, folder))
    job = BarrierJob("tidelog.engine.spark.nested_codes", "give_codes", payload, len(shares))
    replies = [json.loads(each.text) for each in run_in_threads(None, job)]
    take_all_values(codec, folder, replies)
    found = {}
    for reply in replies:
        if reply["file"] is not None:
            rows = folder.read_table(reply["file"], [TYPE, TEXT, CODE]).to_pylist()
            found |= {(row[TYPE], row[TEXT]): row[CODE] for row in rows}
    return found


@settings(max_examples=80)
@example([], [[[("Tree", Branch("Empty"))]]])
@given(known=SHARES, rounds=st.lists(st.lists(SHARES, min_size=1, max_size=4), min_size=1, max_size=2))
def test_partners_agree_on_nested_values(known, rounds):
    """However values are shared, each has one code, equal rows have one, and codes stand for the values."""
    codec = Codec(TYPES)
    before = [(name, value, codec.encode(value, name)) for name, value in known]
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(path)
        for number, shares in enumerate(rounds):
            found = give(codec, folder, shares, number)

            for share in shares:
                for name, value in share:
                    text = codec.format(codec.encode(value, name), name)
                    assert codec.encode(value, name) == found[name, text]
                    assert same([codec.decode(found[name, text], name)], [value])
        read_here(codec)
        assert [codec.encode(value, name) for name, value, _ in before] == [code for *_, code in before]
        # Nothing has two codes: reading all files would fail.
        widths, _ = codec.records.rows_from(1)
        assert len(widths) == len(codec.records) - 1
        assert len(set(codec.symbols.decode(np.arange(len(codec.symbols))))) == len(codec.symbols)


def test_a_long_list_is_one_value(tmp_path):
    """Levels are as many as members; what two partners have of one list has one code."""
    codec, tails = Codec(TYPES), []
    value = None
    for n in range(300):
        value = (float(n), value)
        tails.append(value)

    found = give(
        codec, Folder(str(tmp_path)), [[("List", tails[-1])], [("List", tails[150]), ("List", None)]], 0
    )

    assert len(found) == 3
    assert len(codec.records) == 301
    for (name, text), code in found.items():
        assert codec.format(code, name) == text
