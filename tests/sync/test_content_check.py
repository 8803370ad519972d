"""Single files that came from a remote: paths that scopes knows, and contents that belong there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.errors import Corrupt, ScopesError
from scopes.importers.import_sample import import_sample
from scopes.model import canonical_json
from scopes.model.canonical_json import leaf
from scopes.model.conflicts import Conflict, encode_conflict
from scopes.store.objects import find_entry, read_blob, read_commit, walk_blobs
from scopes.sync.content_check import STATE_NAMES, check_depth, check_metadata_file, check_state_file, fork_of
from tests.support.history import history, say
from tests.support.remotes import clone_to, make_bare, push_to
from tests.support.store import open_store

OID = "a" * 40
REQUEST = {
    "v": 1, "id": "k7", "number": 1, "source": "fix", "target": "main", "title": "t", "requester": "carol",
    "source_tip": OID, "opened": "2026-01-01T00:00:00Z",
}  # fmt: skip
GOOD = {
    "title": b"Login\n", "archived": b"\n", "directory": b"/home/carol\n", "tags/v1": f"{OID}\n".encode(),
    "branches/main": b'{"v":1}\n', "branches/a%2Fb": b'{"v":1,"fork":"x"}\n', "dismissed-decisions/x.1": b"{}\n",
    "merge-requests/k7": canonical_json.dump(REQUEST), "clocks/title": b"7 0123456789ab\n",
    "clocks/branches/main": b"7 0123456789ab\n",
}  # fmt: skip
BAD = {
    "title/x": b"x", "evil": b"x", "tags": b"x", "tags/a/b": f"{OID}\n".encode(), "tags/..": f"{OID}\n".encode(),
    "tags/%2E%2E": f"{OID}\n".encode(), "branches/-x": b"{}", "branches/HEAD": b"{}", "branches/x": b"7",
    "branches/%": b"{}", "merge-requests/other": canonical_json.dump(REQUEST), "merge-requests/k7": b"{}",
    "dismissed-decisions/x": b"\xff", "clocks/evil": b"7 0123456789ab\n", "clocks/title": b"-1 0123456789ab\n",
    "clocks/clocks/title": b"7 0123456789ab\n", "x" * 5000: b"", "title": b"a\0b\n", "archived": b"a\nb\n",
}  # fmt: skip


@pytest.mark.parametrize("path", GOOD)
def test_metadata_of_scopes_are_accepted(path):
    check_metadata_file(path, GOOD[path])


@pytest.mark.parametrize("path", BAD, ids=lambda path: path[:30])
def test_other_metadata_are_refused(path):
    with pytest.raises(ScopesError):
        check_metadata_file(path, BAD[path])


@pytest.mark.parametrize("name", sorted(STATE_NAMES - {"conflicts"}))
def test_a_claim_of_every_kind_is_accepted(name):
    check_state_file(leaf(name, "a topic/with a slash", "carol"), b'{"decision":"x"}\n')


@pytest.mark.parametrize(
    "path",
    ["decisions", "decisions=", "evil/x=", "decisions/x", "decisions/../x=", "decisions//x=", "decisions/a b=", "decisions/DB=", "methods/%20x/agent=", ".git/x=",
     "files/" + "a/" * 300 + "x=", "files/" + "a" * 5000 + "="],
    ids=lambda path: path[:30],
)  # fmt: skip
def test_a_path_that_is_no_claim_is_refused(path):
    with pytest.raises(ScopesError):
        check_state_file(path, b"{}\n")


CONFLICT = Conflict(id="0123456789abcdef", type="decision", key="decisions/database", base=(), source=(), target=())


def test_the_record_of_a_conflict_is_accepted_as_scopes_writes_it():
    check_state_file(leaf("conflicts", CONFLICT.id), encode_conflict(CONFLICT))


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("conflicts/0123456789abcdef=", b"{}\n"),
        ("conflicts/another=", encode_conflict(CONFLICT)),
        ("conflicts/0123456789abcdef=", encode_conflict(CONFLICT).replace(b'"open"', b'"open" ')),
        *(
            ("conflicts/0123456789abcdef=", encode_conflict(replace(CONFLICT, key=key)))
            for key in ("", "decisions", "decisions/../../../x", "DROP/x", "decisions/Foo", "decisions/\x1b")
        ),
    ],
)
def test_the_record_of_a_conflict_that_would_write_elsewhere_is_refused(path, data):
    """A resolution writes to the key in the record: fetched keys with `..` made trees that every clone refused."""
    with pytest.raises(ScopesError):
        check_state_file(path, data)


@pytest.mark.parametrize("data", [b"", b"x", b"\xff", b"NaN", b'{"a":' * 300 + b"1" + b"}" * 300], ids=lambda d: d[:9])
def test_a_claim_that_is_not_json_is_refused(data):
    with pytest.raises(Corrupt):
        check_state_file("decisions/x=", data)


@pytest.mark.parametrize(("levels", "accepted"), [(200, True), (210, True), (211, False), (5000, False)])
def test_a_document_has_hardly_more_levels_than_a_foreign_value(levels, accepted):
    data = b"[" * levels + b"]" * levels
    if accepted:
        check_depth(data)
    else:
        with pytest.raises(Corrupt):
            check_depth(data)


def test_many_brackets_side_by_side_are_not_deep():
    check_depth(b"[" + b",".join([b"[[]]"] * 5000) + b"]")
    check_depth(canonical_json.dump({"text": "[" * 5000}))


def test_where_a_branch_began_is_read_from_its_entry():
    assert fork_of(canonical_json.dump({"v": 1, "fork": OID})) == OID
    assert fork_of(b'{"fork":"main"}') is None


def test_every_claim_of_the_sample_is_accepted(repository):
    import_sample(repository)
    say(repository, "conv-001", "x", kind="decision", decision={"topic": "a/b c", "decision": "d"})
    commit = read_commit(repository, repository.find_ref("refs/heads/conv-001/main"))
    state = find_entry(repository, commit.tree, "state")
    paths = [path for path, _ in walk_blobs(repository, state.oid)]
    for path, oid in walk_blobs(repository, state.oid):
        check_state_file(path, read_blob(repository, oid))
    assert {"participants", "decisions"} <= {path.partition("/")[0] for path in paths}


def test_the_sample_goes_over_the_wire(repository, tmp_path):
    from tests.support.remotes import add

    import_sample(repository)
    history(repository, "main: a")
    bare = make_bare(tmp_path / "bare.git")
    add(repository, bare)
    assert {row.status for row in push_to(repository).conversations} == {"new"}
    clone_to(tmp_path / "other", bare)
    there = open_store(tmp_path / "other").list_refs("refs/heads/")
    assert set(there.values()) == set(repository.list_refs("refs/heads/").values())
