"""Nothing that a hostile remote sends gets into the store, nor does it run anything: each case over the wire."""

from __future__ import annotations

import json

import pytest

from scopes.errors import Corrupt, ScopesError, TooNew
from scopes.store.git_program import QUARANTINE_PREFIX
from scopes.store.objects import BLOB
from scopes.sync import second_check
from scopes.sync.local_conversations import list_roots
from tests.support.forged_remotes import FILE, FOLDER, LINK, MODULE, PROGRAM, Forger
from tests.support.history import history
from tests.support.recalled import recalled
from tests.support.remotes import fetch_from, machine
from tests.support.store import files_of, git, state_of

ZERO = "0" * 40
# Trees and commits that git itself refuses.
REFUSED_BY_GIT = {
    "a .git": lambda f: f.message_tree((FOLDER, b".git", f.meta)),
    "a .GIT": lambda f: f.message_tree((FOLDER, b".GIT", f.meta)),
    "a .git with an invisible character": lambda f: f.message_tree((FOLDER, ".g\u200cit".encode(), f.meta)),
    "the short name of .git": lambda f: f.message_tree((FOLDER, b"git~1", f.meta)),
    "two dots": lambda f: f.message_tree((FOLDER, b"..", f.meta)),
    "one dot": lambda f: f.message_tree((FOLDER, b".", f.meta)),
    "a path as a name": lambda f: f.message_tree((FILE, b"a/b", f.write("blob", b"x"))),
    "an empty name": lambda f: f.message_tree((FILE, b"", f.write("blob", b"x"))),
    "a name twice": lambda f: f.tree(*[(FILE, b"message.json", f.write("blob", b"x"))] * 2),
    "names that are not sorted": lambda f: f.tree(*reversed(f.entries(f.tip))),
    "a mode with a zero before it": lambda f: f.tree((b"040000", b"state", f.meta)),
    "an unknown mode": lambda f: f.tree((b"100666", b"message.json", f.write("blob", b"x"))),
    "a null id": lambda f: f.message_tree((FILE, b"x", ZERO)),
    "a .gitmodules that is a link": lambda f: f.message_tree((LINK, b".gitmodules", f.write("blob", b"/etc/passwd"))),
}
BAD_COMMITS = {
    "a bad address": {"author": b"x <x> y> 1 +0000"},
    "no address": {"author": b"x 1 +0000"},
    "a date that overflows": {"author": b"x <x@y> 99999999999999999999999 +0000"},
    "a NUL in the message": {"body": b"a\0b\n"},
}
# What git lets pass.
NOT_OURS = {
    "a symbolic link": lambda f: f.message_tree((LINK, b"link", f.write("blob", b"/etc/passwd"))),
    "a symbolic link instead of a message": lambda f: f.tree((LINK, b"message.json", f.write("blob", b"/etc/passwd"))),
    "a submodule": lambda f: f.message_tree((MODULE, b"sub", f.tip)),
    "a program": lambda f: f.tree((PROGRAM, b"message.json", f.find(f"{f.tip}:message.json"))),
    "another file": lambda f: f.message_tree((FILE, b"evil.sh", f.write("blob", b"rm -rf /"))),
    "no message": lambda f: f.tree((FILE, b"other.json", f.write("blob", b"{}"))),
    "a message that is a directory": lambda f: f.tree((FOLDER, b"message.json", f.meta)),
    "a message that is not JSON": lambda f: f.message_tree(message=b"hello"),
    "a message without an id": lambda f: f.message_tree(message=b"{}\n"),
    "a message with another id": lambda f: f.message_tree(message=b'{"id":"' + b"a" * 26 + b'"}\n'),
    "a message nested too deeply": lambda f: f.message_tree(message=b'{"id":' + b"[" * 300 + b"]" * 300 + b"}"),
    "a message nested much too deeply": lambda f: f.message_tree(message=b"[" * 50_000 + b"]" * 50_000),
    "an unknown claim": lambda f: f.state_tree(b"evil", b"x="),
    "a claim at the top": lambda f: f.state_tree(b"decisions"),
    "a claim whose name is not one": lambda f: f.state_tree(b"decisions", b"no-equals-sign"),
    "a claim that is badly encoded": lambda f: f.state_tree(b"decisions", b"a%zz="),
    "a claim that is not JSON": lambda f: f.state_tree(b"decisions", b"x=", content=b"\xff"),
    "a claim that is a link": lambda f: f.message_tree(
        (FOLDER, b"state", f.tree((FOLDER, b"decisions", f.tree((LINK, b"x=", f.write("blob", b"/etc")))))),
    ),
}  # fmt: skip
BAD_METADATA = {
    "an unknown file": lambda f: f.meta_tree(b"evil"),
    "an unknown folder": lambda f: f.meta_tree(b"evil", b"x"),
    "a folder in a folder": lambda f: f.meta_tree(b"tags", b"x", b"y"),
    "a tag of nothing": lambda f: f.meta_tree(b"tags", b"x", content=b"refs/heads/main\n"),
    "a tag whose name is an option": lambda f: f.meta_tree(b"tags", b"-x", content=b"a" * 40),
    "a branch whose name is a path": lambda f: f.meta_tree(b"branches", b"%2E%2E%2Fx", content=b"{}\n"),
    "a branch that is not JSON": lambda f: f.meta_tree(b"branches", b"x", content=b"\xff"),
    "a branch that is a list": lambda f: f.meta_tree(b"branches", b"x", content=b"[]"),
    "a merge request that is none": lambda f: f.meta_tree(b"merge-requests", b"x", content=b"{}\n"),
    "a title of two lines": lambda f: f.meta_tree(b"title", content=b"a\nb\n"),
    "a title that is not UTF-8": lambda f: f.meta_tree(b"title", content=b"\xff\n"),
    "a title without end": lambda f: f.meta_tree(b"title", content=b"x" * 50_000),
    "a title that is a link": lambda f: f.tree((LINK, b"title", f.write("blob", b"/etc/passwd"))),
    "a clock that is none": lambda f: f.meta_tree(b"clocks", b"title", content=b"soon\n"),
    "the clock of an unknown file": lambda f: f.meta_tree(b"clocks", b"evil", content=b"1 0123456789ab\n"),
    "a title that is a directory": lambda f: f.meta_tree(b"title", b"x"),
}


@pytest.fixture
def forger(sent, bare):
    """A remote with a pushed conversation, ready to be changed."""
    return Forger(bare)


@pytest.fixture
@recalled
def victim(forger, bare, tmp_path):
    """A store that fetched the good conversation before."""
    store = machine(tmp_path / "victim", bare)
    fetch_from(store)
    return store


def refuse(victim, error=Corrupt, match=None):
    """Fetch and expect a refusal; nothing changes in the store, and nothing of the quarantine is left."""
    before, objects = state_of(victim), {name for name in files_of(victim.path) if name.startswith("objects/")}
    with pytest.raises(error, match=match) as caught:
        fetch_from(victim)
    assert state_of(victim) == before
    assert {name for name in files_of(victim.path) if name.startswith("objects/")} == objects
    assert not [name for name in files_of(victim.path) if name.startswith(QUARANTINE_PREFIX)]
    assert "\x1b" not in caught.value.message
    return caught.value


def test_the_forger_makes_what_is_accepted_if_nothing_is_wrong(forger, victim):
    body = git(forger.bare, "cat-file", "commit", forger.tip).partition("\n\n")[2].encode()
    forger.publish(forger.child(forger.message_tree(), body=body), meta=forger.meta_tree(b"title", content=b"Fine\n"))
    assert [row.status for row in fetch_from(victim).conversations] == ["updated"]


@pytest.mark.parametrize("case", REFUSED_BY_GIT)
def test_what_git_refuses_is_refused(forger, victim, case):
    forger.publish(forger.child(REFUSED_BY_GIT[case](forger)))
    refuse(victim, ScopesError, "fsck|not allowed|not acceptable|cannot fetch")


@pytest.mark.parametrize("case", BAD_COMMITS)
def test_a_commit_that_git_refuses_is_refused(forger, victim, case):
    forger.publish(forger.child(**BAD_COMMITS[case]))
    refuse(victim, ScopesError)


@pytest.mark.parametrize("case", ["a .git", "a name twice", "names that are not sorted"])
def test_the_users_configuration_cannot_switch_the_check_off(forger, victim, case, tmp_path, monkeypatch):
    kinds = ("hasDotgit", "duplicateEntries", "treeNotSorted", "fullPathname", "hasDot", "hasDotdot")
    lines = "".join(f"\t{kind} = ignore\n" for kind in kinds)
    (tmp_path / "gitconfig").write_text(
        f'[fetch "fsck"]\n{lines}[transfer]\n\tfsckObjects = false\n[fsck]\n{lines}[fetch]\n\tfsckObjects = false\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    forger.publish(forger.child(REFUSED_BY_GIT[case](forger)))
    refuse(victim, Corrupt, "sent an object that is not allowed")


@pytest.mark.parametrize("case", NOT_OURS)
def test_a_message_that_is_not_as_scopes_writes_it_is_refused(forger, victim, case):
    forger.publish(forger.child(NOT_OURS[case](forger)))
    refuse(victim)


@pytest.mark.parametrize("case", BAD_METADATA)
def test_metadata_that_is_not_as_scopes_writes_it_is_refused(forger, victim, case):
    forger.publish(meta=BAD_METADATA[case](forger))
    refuse(victim)


def test_a_ref_to_a_blob_or_to_a_tag_is_refused(forger, victim):
    forger.point(forger.write("blob", b"x"))
    refuse(victim, Corrupt, "not a commit")
    tag = f"object {forger.manifest_oid}\ntype commit\ntag x\ntagger {'x <x@y> 1 +0000'}\n\nx\n"
    forger.point(forger.write("tag", tag.encode()))
    refuse(victim, Corrupt, "is a tag")


def test_a_ref_to_a_message_is_refused(forger, victim):
    forger.point(forger.tip)
    refuse(victim, Corrupt, "not the manifest")


def test_a_manifest_whose_parents_are_not_its_tips_is_refused(forger, victim):
    for parents in ([forger.manifest_oid], [forger.tip], [forger.manifest_oid, forger.manifest_oid, forger.tip]):
        forger.publish(parents=parents)
        refuse(victim, Corrupt, "parents|not the manifest")


def test_a_manifest_with_another_file_is_refused(forger, victim):
    forger.publish(more=[(FILE, b"evil", forger.write("blob", b"x"))])
    refuse(victim, Corrupt, "not the manifest")


def test_a_tip_that_does_not_reach_the_root_is_refused(forger, victim):
    body = b"x\n\nScopes-Message: " + b"a" * 26 + b"\nScopes-Kind: plain\n"
    forger.publish(forger.commit(forger.message_tree(), [], body))
    refuse(victim, Corrupt, "does not reach the root")


def test_a_tip_that_reaches_another_root_as_well_is_refused(forger, victim):
    other = forger.commit(forger.message_tree(), [], b"x\n\nScopes-Kind: root\n")
    forger.publish(forger.child(parents=[forger.tip, other]))
    refuse(victim, Corrupt, "does not reach the root")


def test_a_conversation_under_the_name_of_another_one_is_refused(forger, victim):
    forger.point(forger.manifest_oid, forger.ref.replace(forger.root, forger.tip))
    git(forger.bare, "update-ref", "-d", forger.ref)
    refuse(victim, Corrupt, "root")


def test_a_conversation_in_another_project_or_month_is_refused(forger, bare, victim):
    git(bare, "update-ref", "-d", forger.ref)
    project, month, root = forger.ref.split("/")[4:]
    for name in (f"{'0' * 12}/{month}/{root}", f"{project}/199912/{root}"):
        forger.point(forger.manifest_oid, f"refs/scopes/v1/c/{name}")
    forger.publish(ref=f"refs/scopes/v1/c/{'0' * 12}/{month}/{root}")
    git(bare, "update-ref", "-d", f"refs/scopes/v1/c/{project}/199912/{root}")
    refuse(victim, Corrupt, "does not belong to the ref")


def test_a_manifest_of_a_newer_version_says_so(forger, victim):
    forger.publish(manifest={**forger.manifest, "v": 2})
    refuse(victim, TooNew, "newer version")


@pytest.mark.parametrize(
    "change",
    [
        {"branches": {}}, {"branches": []}, {"branches": {"name:main": {}}}, {"project": "../../x"}, {"title": 7},
        {"branches": {"main": {"name": "main", "tip": "TIP", "count": 1}}},
        {"branches": {"name:-x": {"name": "main", "tip": "TIP", "count": 1}}},
        {"branches": {"name:main": {"name": "../x", "tip": "TIP", "count": 1}}},
        {"branches": {"name:main": {"name": "a\u202eb", "tip": "TIP", "count": 1}}},
        {"branches": {"name:main": {"name": "main", "tip": "HEAD", "count": 1}}},
        {"branches": {"name:main": {"name": "main", "tip": "TIP", "count": -1}}},
        {"branches": {"name:main": {"name": "main", "tip": "TIP", "count": True}}},
        {"created": "x" * 65}, {"newest": None}, {"v": "1"},
    ],
    ids=str,
)  # fmt: skip
def test_a_manifest_with_wrong_fields_is_refused(forger, victim, change):
    document = json.loads(json.dumps({**forger.manifest, **change}).replace("TIP", forger.tip))
    forger.publish(manifest=document)
    refuse(victim)


def test_a_manifest_that_is_not_json_is_refused(forger, victim):
    forger.publish(manifest=b"[" * 100_000)
    refuse(victim)


def test_the_entry_of_a_branch_that_names_a_foreign_root_is_refused(forger, victim):
    history(victim, "main: own")
    root = _root_of(victim, "conv-002")
    forger.publish(meta=forger.meta_tree(b"branches", b"main", content=json.dumps({"v": 1, "fork": root}).encode()))
    refuse(victim, Corrupt, "root of another conversation")


def test_a_blob_that_is_too_large_is_refused_before_it_is_read(forger, victim, monkeypatch):
    """A blob of 64 MiB takes seconds; `test_hostile_servers.py` sends a larger one."""
    assert second_check._KINDS[BLOB] == 64 << 20
    monkeypatch.setitem(second_check._KINDS, BLOB, 1 << 20)
    forger.publish(forger.child(forger.message_tree(message=bytes((1 << 20) + 1))))
    refuse(victim, Corrupt, "too large")


def test_a_commit_and_its_message_that_disagree_are_refused(forger, victim):
    body = git(forger.bare, "cat-file", "commit", forger.tip).partition("\n\n")[2]
    for change in (
        {"body": body.replace("Scopes-Kind: plain", "Scopes-Kind: decision").encode()},
        {"author": b"mallory <mallory@agents.scopes> 1767225600 +0000"},
        {"body": b"no trailers\n"},
    ):
        forger.publish(forger.child(**change))
        refuse(victim, Corrupt, "disagree")


def test_a_message_that_says_to_be_a_root_is_refused(forger, victim):
    forger.publish(forger.child(body=b"x\n\nScopes-Kind: root\n"))
    refuse(victim, Corrupt, "not a message")


def test_a_manifest_as_a_message_is_refused(forger, victim):
    forger.publish(forger.child(body=b"x\n\nScopes-Kind: manifest\n"))
    refuse(victim, Corrupt, "not a message")


def _root_of(repository, conversation):
    return next(root for root, name in list_roots(repository).items() if name == conversation)


def test_a_remote_that_was_rewritten_is_taken_as_it_is(forger, victim):
    tips = [forger.manifest["branches"][key]["tip"] for key in sorted(forger.manifest["branches"])]
    forger.publish(meta=forger.meta_tree(b"title", content=b"Again\n"), parents=tips)
    assert [row.status for row in fetch_from(victim).conversations] == ["updated"]
