"""`cat --original`: the bytes that a message was imported from."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.conversation.cat import OriginalRecords, _read_spans, read_original
from scopes.errors import NotFound
from scopes.model import canonical
from scopes.store.objects import COMMIT, Identity, format_commit
from scopes.store.trees import update_tree
from tests.conversation.stores import git
from tests.support.history import history

SOURCE = b'{"a": 1}\n{"state": 0}\n  {"a":\t2}\r\n{"b": 3}'


def keep_source(repository, key, message, spans):
    """Store a source some of whose stretches became a message."""
    page = b"".join(canonical.dump({"message": message, "offset": o, "length": n}) for o, n in spans)
    files = {
        "chunks/000000": SOURCE[:25],
        "chunks/000001": SOURCE[25:],
        "segments/000000.jsonl": canonical.dump({"state": "x", "offset": 9, "length": 13}) + page,
    }
    tree = update_tree(repository, None, files)
    data = format_commit(tree=tree, parents=(), author=Identity("s", "s@s"), time=1, subject="s")
    git(repository, "update-ref", f"refs/scopes/sources/{key}", repository.write(COMMIT, data))


def test_an_original_is_the_stretches_of_the_first_source_that_has_the_message(repository):
    drawn = history(repository, "main: a b")
    keep_source(repository, "k1", drawn.ids["b"], [(0, 9)])
    keep_source(repository, "k2", drawn.ids["a"], [(22, 12), (34, 8), (0, 9)])
    keep_source(repository, "k3", drawn.ids["a"], [(0, 9)])
    found = read_original(repository, "conv-001/main~1", conversation="conv-001")
    assert found.records == (b'{"a": 1}\n', b'  {"a":\t2}\r\n', b'{"b": 3}')
    assert b"".join(found.pieces) == b'{"a": 1}\n  {"a":\t2}\r\n{"b": 3}\n'
    assert read_original(repository, drawn.ids["b"]).records == (b'{"a": 1}\n',)


def test_a_message_that_was_not_imported_has_no_original(repository):
    drawn = history(repository, "main: a")
    with pytest.raises(NotFound, match="was not imported") as refusal:
        read_original(repository, drawn.ids["a"])
    assert refusal.value.hint == "see how it is stored: scopes conv cat --raw"


def test_records_end_in_a_newline_each():
    assert b"".join(OriginalRecords(records=(b"{}\n", b"[]")).pieces) == b"{}\n[]\n"


@given(st.binary(max_size=60), st.lists(st.integers(1, 7), max_size=10), st.data())
def test_what_is_cut_out_of_chunks_is_what_stands_there(source, sizes, data):
    cuts = sorted({0, len(source), *(min(sum(sizes[:n]), len(source)) for n in range(len(sizes)))})
    chunks = [source[start:end] for start, end in pairwise(cuts)]
    ends = sorted(data.draw(st.lists(st.integers(0, len(source)), max_size=8)))
    spans = [(start, end - start) for start, end in zip(ends[::2], ends[1::2], strict=False)]
    assert list(_read_spans(chunks, spans)) == [source[offset : offset + length] for offset, length in spans]
