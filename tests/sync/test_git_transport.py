"""What git is told about a remote: the options, the environment, and the answers that are read."""

from __future__ import annotations

import os

import pytest

from scopes.errors import Corrupt, Inaccessible, NotFound
from scopes.store.git_program import open_quarantine
from scopes.sync.addresses import parse_address
from scopes.sync.git_transport import GitTransport, RefUpdate, parse_fetched, transport_environment
from scopes.sync.refspecs import Places
from tests.support.history import history
from tests.support.remotes import connection, push_to
from tests.support.store import git, git_bytes, make_store, write_chain

PROBE = "refs/scopes/v1/probe"


@pytest.fixture
def transport(repository, bare):
    """The transport to a bare directory."""
    with open_quarantine(repository.path, {}) as quarantine:
        yield connection().open(quarantine, parse_address(bare))


def test_of_the_variables_of_git_only_those_of_the_connection_are_kept():
    given = {
        "PATH": "/bin", "HOME": "/h", "GIT_SSH": "s", "GIT_SSH_COMMAND": "c", "GIT_SSH_VARIANT": "v", "GIT_ASKPASS": "a",
        "GIT_CONFIG_GLOBAL": "g", "GIT_CONFIG_SYSTEM": "y", "GIT_DIR": "d", "GIT_CONFIG_COUNT": "1",
        "GIT_ALLOW_PROTOCOL": "ext", "GIT_TRACE": "1", "GIT_NAMESPACE": "n", "GIT_PROXY_SSL_CERT": "p",
    }  # fmt: skip
    environment = transport_environment(given, parse_address("https://host/x"), terminal=False)
    kept = {name for name in environment if name.startswith("GIT_")} & given.keys()
    assert kept == {
        "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
        "GIT_ALLOW_PROTOCOL",
    }  # fmt: skip
    assert environment["GIT_ALLOW_PROTOCOL"] == "https:ssh:file"
    assert (environment["GIT_TERMINAL_PROMPT"], environment["LC_ALL"]) == ("0", "C")


def test_http_is_allowed_for_an_address_that_has_it_only():
    environment = transport_environment({}, parse_address("http://localhost/x"), terminal=True)
    assert environment["GIT_ALLOW_PROTOCOL"] == "https:ssh:file:http"
    assert "GIT_TERMINAL_PROMPT" not in environment


def test_refs_are_listed_by_a_pattern(ours, transport, bare):
    push_to(ours)
    ref, oid = git(bare, "for-each-ref", "--format=%(refname) %(objectname)").split()
    assert transport.list_refs("refs/scopes/v1/c/*") == {ref: oid}
    assert transport.list_refs("refs/heads/*") == {}


def test_a_push_moves_a_ref_from_its_old_value_only(repository, transport, bare):
    first, second, third = write_chain(repository, "a", "b", "c")
    assert transport.push([RefUpdate(PROBE, None, first)])[0].reason is None
    assert git(bare, "rev-parse", PROBE).strip() == first
    stale = transport.push([RefUpdate(PROBE, second, third)])[0]
    assert (stale.moved, stale.reason) == (True, "stale info")
    assert transport.push([RefUpdate(PROBE, first, second)])[0].reason is None
    assert git(bare, "rev-parse", PROBE).strip() == second


def test_a_ref_that_is_new_here_replaces_nothing_on_the_remote(repository, transport, bare):
    (here,), (there,) = write_chain(repository, "a"), write_chain(repository, "b")
    transport.push([RefUpdate(PROBE, None, there)])
    refused = transport.push([RefUpdate(PROBE, None, here)])[0]
    assert (refused.moved, refused.reason) == (True, "non-fast-forward")
    assert git(bare, "rev-parse", PROBE).strip() == there


def test_one_ref_of_several_can_be_stale(repository, transport):
    first, second, third = write_chain(repository, "a", "b", "c")
    transport.push([RefUpdate(PROBE, None, first)])
    statuses = transport.push([RefUpdate(PROBE, second, third), RefUpdate(f"{PROBE}-2", None, second)])
    assert [(status.reason, status.moved) for status in statuses] == [("stale info", True), (None, False)]


def test_a_ref_is_deleted_if_it_still_has_its_value(repository, transport, bare):
    first, second = write_chain(repository, "a", "b")
    transport.push([RefUpdate(PROBE, None, first)])
    transport.delete(PROBE, second)
    assert git(bare, "for-each-ref") != ""
    transport.delete(PROBE, first)
    assert git(bare, "for-each-ref") == ""


def test_what_was_fetched_is_below_a_place_of_its_own(ours, transport, bare):
    push_to(ours)
    fetched = transport.fetch(["refs/scopes/v1/c/*:refs/new/*"])
    assert [*fetched.values()] == [git(bare, "for-each-ref", "--format=%(objectname)").strip()]
    assert all(ref.startswith("refs/new/") for ref in fetched)


def test_a_fetch_names_refs_by_their_places_and_a_single_one_needs_no_ref_here(ours, transport, bare):
    push_to(ours)
    [ref] = git(bare, "for-each-ref", "--format=%(refname)").split()
    tip = git(bare, "rev-parse", ref).strip()
    with open_quarantine(ours.path, {}) as quarantine:
        opened = connection().open(quarantine, parse_address(bare))
        assert opened.fetch([f"{ref}:refs/new/one"]) == {"refs/new/one": tip}
        assert git(quarantine.path, "for-each-ref") == ""


def test_a_ref_that_the_quarantine_knows_with_its_value_is_not_written_again(ours, bare):
    push_to(ours)
    [ref] = git(bare, "for-each-ref", "--format=%(refname)").split()
    tip = git(bare, "rev-parse", ref).strip()
    with open_quarantine(ours.path, {"refs/in/origin/x": tip}) as quarantine:
        here = ref.replace("refs/scopes/v1/c/", "refs/new/")
        quarantine.set_known({here: tip, "refs/new/gone": tip})
        opened = connection().open(quarantine, parse_address(bare))
        assert opened.fetch(["refs/scopes/v1/c/*:refs/new/*"]) == {here: tip}  # what the remote has, and nothing else
        assert not os.path.exists(os.path.join(quarantine.path, here))
        known = git(quarantine.path, "for-each-ref", "--format=%(refname)").split()
    assert known == sorted([here, "refs/new/gone"])


def test_two_refs_of_a_remote_never_have_one_place(ours, transport, bare):
    push_to(ours)
    tip = git(bare, "for-each-ref", "--format=%(objectname)").strip()
    for ref in ("refs/scopes/v1/c/purged/x", "refs/scopes/v1/purged/x"):
        git(bare, "update-ref", ref, tip)
    with pytest.raises((Corrupt, Inaccessible)):
        transport.fetch(["refs/scopes/v1/c/*:refs/new/*", "refs/scopes/v1/purged/*:refs/new/purged/*"])


_OID = "1" * 40
_ASKED = Places(["refs/scopes/v1/c/*:refs/new/*", "refs/heads/x:refs/new/x"])


def test_what_git_says_about_fetched_refs_is_read():
    lines = f"{_OID}\t\tbranch 'x' of ../it's of a\n{_OID}\tnot-for-merge\t'refs/scopes/v1/c/a/b' of c\n"
    assert parse_fetched(lines.encode(), _ASKED, str) == {"refs/new/x": _OID, "refs/new/a/b": _OID}


@pytest.mark.parametrize(
    "line",
    [
        "", "nothing", f"{_OID}\t\t'refs/scopes/v1/c/a\tb' of x", f"{_OID}\t\t'refs/other' of x",
        f"{_OID}\t\tbranch 'y' of x", f"{_OID}\t\ttag 'x' of x", f"{_OID[1:]}\t\tbranch 'x' of x",
        f"{_OID}\t\tbranch 'x' of x\n{_OID}\t\tbranch 'x' of x",
    ],
)  # fmt: skip
def test_a_line_about_a_ref_that_was_not_asked_for_or_twice_is_damage(line):
    with pytest.raises(Corrupt, match="a list of refs that is damaged"):
        parse_fetched(f"{line}\n".encode(), _ASKED, str)


def test_a_fetch_from_an_empty_remote_is_empty(transport):
    assert transport.fetch(["refs/scopes/v1/c/*:refs/new/*"]) == {}


def test_a_ref_that_the_remote_lacks_is_not_found(transport):
    with pytest.raises(NotFound):
        transport.fetch(["refs/scopes/v1/c/x:refs/new/x"])


def test_a_refspec_is_not_an_option(transport, tmp_path):
    with pytest.raises((Inaccessible, NotFound)):
        transport.fetch([f"--upload-pack=touch {tmp_path}/x"])
    assert not (tmp_path / "x").exists()


def test_progress_of_a_fetch_is_reported(ours, bare, tmp_path):
    push_to(ours)
    seen = []
    with open_quarantine(make_store(tmp_path / "other").path, {}) as quarantine:
        reporting = connection(on_progress=lambda *each: seen.append(each[0]))
        reporting.open(quarantine, parse_address(bare)).fetch(["refs/scopes/v1/c/*:refs/new/*"])
    assert {"counting objects", "receiving objects"} <= set(seen)


def test_without_git_the_hint_says_to_install_it(repository, bare, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with open_quarantine(repository.path, {}) as quarantine, pytest.raises(Inaccessible, match="not installed"):
        GitTransport(quarantine, parse_address(bare), {})


def test_only_what_the_remote_lacks_is_sent(ours, repository, bare, transport):
    push_to(ours)
    before = git_bytes(bare, "cat-file", "--batch-all-objects", "--batch-check").count(b"\n")
    tip = git(repository, "rev-parse", "refs/heads/conv-001/main").strip()
    assert transport.push([RefUpdate(PROBE, None, tip)])[0].reason is None
    assert git_bytes(bare, "cat-file", "--batch-all-objects", "--batch-check").count(b"\n") == before


def test_a_push_compares_with_no_refs_of_other_conversations(ours, monkeypatch):
    """Over HTTP git compares each ref that it sends with all refs of the directory that it runs in."""
    history(ours, "main: x")
    push_to(ours, "conv-002")
    seen = []
    push = GitTransport.push
    monkeypatch.setattr(
        GitTransport,
        "push",
        lambda self, updates: seen.append(git(self._quarantine.path, "for-each-ref")) or push(self, updates),
    )
    assert [row.status for row in push_to(ours).conversations] == ["new"]
    assert seen == [""]


@pytest.mark.parametrize(
    ("config", "changes"),
    [
        ("", False), ("[user]\n\tname = carol\n[transfer]\n\tfsckObjects = false\n", False),
        ('[fetch "fsck"]\n\thasDotgit = ignore\n', True), ('[fetch "fsck"]\n\tskipList = /tmp/x\n', True),
        ("[fsck]\n\tskipList = /tmp/x\n", True), ("[include]\n\tpath = other\n", True), ("[user\n", True),
    ],
)  # fmt: skip
def test_settings_that_let_more_objects_pass_are_found(repository, bare, tmp_path, monkeypatch, config, changes):
    (tmp_path / "gitconfig").write_text(config)
    (tmp_path / "other").write_text('[fetch "fsck"]\n\tbadEmail = warn\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    with open_quarantine(repository.path, {}) as quarantine:
        assert connection().open(quarantine, parse_address(bare)).changes_checks() is changes


def test_a_commit_comes_alone(ours, bare, transport):
    push_to(ours)
    [oid] = transport.list_refs("refs/scopes/v1/c/*").values()
    with open_quarantine(make_store(f"{bare}-store").path, {}) as quarantine:
        connection().open(quarantine, parse_address(bare)).fetch_alone([oid])
        listed = git(quarantine.path, "rev-list", "--objects", oid).split("\n")
        assert git(quarantine.path, "for-each-ref") == ""
    assert [line.partition(" ")[2] for line in listed if line.endswith("manifest.json")] == ["manifest.json"]
    assert sum(len(line) == 40 for line in listed) == 1
