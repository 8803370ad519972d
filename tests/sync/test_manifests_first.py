"""Manifests first: what a remote has is known without its messages, and a conversation comes when it is read."""

from __future__ import annotations

import os
import shlex
from types import SimpleNamespace

import pytest

from scopes.conversation.new_rename_delete import rename_title
from scopes.errors import Corrupt, Invalid, NotFound
from scopes.model.conversation import Manifest, ManifestBranch
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.sync import fetch_manifests as fetch_manifests_module
from scopes.sync import git_transport
from scopes.sync.addresses import parse_address
from scopes.sync.bundles import create_bundle
from scopes.sync.change_remotes import add_remote
from scopes.sync.clone import clone_manifests
from scopes.sync.fetch_manifests import fetch_manifests
from scopes.sync.local_conversations import Selection, list_roots
from scopes.sync.manifest_list import describe_all, read_manifest_list
from scopes.sync.names import RemoteName
from scopes.sync.remote_conversations import list_remote, search_titles
from scopes.sync.remotes import Remote, list_remotes, resolve_remote
from tests.cli.running import PRODUCT, scopes
from tests.support.every_byte import find_word
from tests.support.forged_remotes import FILE, Forger
from tests.support.git_servers import serve_http
from tests.support.history import history, say
from tests.support.planted import KINDS, leaked_parts
from tests.support.recalled import recalled
from tests.support.remotes import EVERYTHING, add, connection, fetch_from, machine, make_bare, push_to
from tests.support.store import files_of, git, make_store, open_store, state_of


@pytest.fixture
def index(tmp_path):
    """Where the lists of remotes are."""
    return str(tmp_path / "index")


@pytest.fixture
@recalled
def pushed(ours):
    """Two conversations on the remote, the second one with two branches and a title."""
    history(ours, "main: x y z")
    rename_title(ours, "conv-002", "Pay by card")
    push_to(ours)
    return ours


@pytest.fixture
@recalled
def other(pushed, bare, tmp_path):
    """Another machine, which has nothing yet."""
    return machine(tmp_path / "other", bare, "dave")


def ask(store, index, **options):
    """Fetch the manifests of everything."""
    return fetch_manifests(store, resolve_remote(store, None), EVERYTHING, connection(**options), index)


def listed(store, index, **options):
    """List what the only remote has."""
    return list_remote(store, [resolve_remote(store, None)], index, **options).conversations


def root_of(store, conversation):
    return next(root for root, name in list_roots(store).items() if name == conversation)


def test_titles_counts_and_times_are_known_and_the_store_stays_as_it_is(other, pushed, index):
    before, files = state_of(other), files_of(other.path)
    done = ask(other, index)
    assert (done.total, done.new, done.refused, done.exit_code) == (2, 2, {}, 0)
    rows = {row.title: row for row in listed(other, index)}
    assert (rows["Pay by card"].messages, rows["Pay by card"].branches) == (3, 1)
    assert (rows["a"].messages, rows["a"].branches, rows["a"].title_source) == (3, 2, "prompt")
    assert {row.root for row in rows.values()} == set(list_roots(pushed))
    assert [row.conversation for row in rows.values()] == [None, None]
    assert (state_of(other), files_of(other.path)) == (before, files)


def test_only_changed_manifests_are_fetched_again(other, pushed, index, monkeypatch):
    ask(other, index)
    assert ask(other, index).new == 0
    say(pushed, "conv-001/main", "news")
    push_to(pushed)
    wanted = []
    original = git_transport.GitTransport.fetching_alone
    monkeypatch.setattr(
        git_transport.GitTransport,
        "fetching_alone",
        lambda self, oids: [wanted.extend(oids), original(self, oids)][-1],
    )
    assert (ask(other, index).new, len(wanted)) == (1, 1)
    assert {row.messages for row in listed(other, index)} == {3, 4}


def test_halves_of_many_manifests_are_fetched_at_the_same_time(other, pushed, bare, index, monkeypatch):
    ask(other, index)
    at_once = list_remote(other, [resolve_remote(other, "origin")], str(index)).conversations
    os.unlink(os.path.join(str(index), "remote-origin.json"))
    started, original = [], git_transport.GitTransport.fetching_alone
    monkeypatch.setattr(fetch_manifests_module, "_MANY", 2)
    monkeypatch.setattr(
        git_transport.GitTransport,
        "fetching_alone",
        lambda self, oids: [started.append(list(oids)), original(self, oids)][-1],
    )
    done = ask(other, index)
    assert (done.total, done.new, done.refused) == (2, 2, {})
    assert [len(each) for each in started] == [1, 1]
    assert sorted(oid for each in started for oid in each) == sorted(
        git(bare, "for-each-ref", "--format=%(objectname)", "refs/scopes/v1/c").split()
    )
    assert list_remote(other, [resolve_remote(other, "origin")], str(index)).conversations == at_once


def test_what_a_remote_has_no_more_is_not_listed_any_more(other, pushed, bare, index):
    ask(other, index)
    gone = git(bare, "for-each-ref", "--format=%(refname)").split()[0]
    git(bare, "update-ref", "-d", gone)
    assert ask(other, index).total == 1
    assert gone.rpartition("/")[2] not in {row.root for row in listed(other, index)}


@pytest.mark.parametrize("knew_it", [False, True])
def test_what_was_purged_here_is_not_listed_and_its_title_does_not_come_back(pushed, index, tmp_path, knew_it):
    if knew_it:  # the list of another index than that of the purge
        ask(pushed, index)
    purge(pushed, PurgeRequest(("conv-002",)), Places(str(tmp_path / "other-index")))
    done = ask(pushed, index)
    (note,) = done.notes
    assert (done.total, done.exit_code, note.hint) == (1, 0, "delete it there, too: scopes push --purged")
    assert [row.title for row in listed(pushed, index)] == ["a"]
    assert find_word("Pay by card", index) == []
    push_to(pushed, purged=True)
    assert ask(pushed, index).notes == ()


def test_a_year_without_conversations_leaves_the_list_as_it_is(other, index):
    ask(other, index)
    with pytest.raises(NotFound, match="origin has no conversation of 1999"):
        fetch_manifests(other, resolve_remote(other, None), Selection(year="1999"), connection(), index)
    assert len(listed(other, index)) == 2


def test_conversations_that_are_here_have_their_id(pushed, index):
    ask(pushed, index)
    assert {row.conversation for row in listed(pushed, index)} == {"conv-001", "conv-002"}


def test_the_newest_come_first_up_to_a_limit(other, pushed, index):
    ask(other, index)
    every = listed(other, index)
    assert [row.activity for row in every] == sorted((row.activity for row in every), reverse=True)
    result = list_remote(other, [resolve_remote(other, None)], index, limit=1)
    assert (result.conversations, result.more) == (every[:1], 1)


def test_titles_are_searched_by_all_words_whatever_their_case(other, index):
    ask(other, index)
    assert [row.title for row in search_titles(other, "origin", ["CARD pay"], index).conversations] == ["Pay by card"]
    missed = search_titles(other, "origin", ["pay", "cash"], index)
    assert (missed.conversations, missed.exit_code) == ((), 1)


def test_a_conversation_without_a_title_is_called_by_its_first_prompt(other, index):
    ask(other, index)
    result = list_remote(other, [resolve_remote(other, None)], index)
    rows = [(row.title, row.title_source, row.conversation) for row in result.conversations]
    assert rows == [("Pay by card", "title", None), ("a", "prompt", None)]
    found = search_titles(other, "origin", ["a"], index)
    assert {row.title for row in found.conversations} == {"Pay by card", "a"}
    assert (result.notes, found.notes) == ((), ())


def test_a_manifest_of_an_earlier_version_has_no_prompt_and_a_note_says_so(pushed, bare, tmp_path, index, monkeypatch):
    """It is listed with the messages of its longest branch; once its conversation is here, the prompt is known."""
    monkeypatch.setattr("scopes.sync.outgoing.summarize", lambda repository, manifest, known: manifest)
    history(pushed, "main: first next", "fix@first: last")
    push_to(pushed)
    other = machine(tmp_path / "late", bare, "erin")
    ask(other, index)
    before = list_remote(other, [resolve_remote(other, None)], index)
    missed = search_titles(other, "origin", ["first"], index)
    assert [row.messages for row in before.conversations if row.title is None] == [2]
    assert [note.text for note in before.notes] == [
        "1 conversation has neither title nor first prompt, and is not here"
    ]
    assert [note.text for note in missed.notes] == [
        "1 conversation has neither title nor first prompt, and is not here: no word is found in it"
    ]
    fetch_from(other)
    after = list_remote(other, [resolve_remote(other, None)], index)
    assert ("first", "prompt") in {(row.title, row.title_source) for row in after.conversations}
    assert after.notes == ()


def test_a_remote_that_was_never_asked_is_an_error_with_a_hint(other, index):
    for act in (lambda: listed(other, index), lambda: search_titles(other, "origin", ["x"], index)):
        with pytest.raises(NotFound, match="is not known") as caught:
            act()
        assert caught.value.hint == "ask: scopes fetch --list"


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"v":2}', b'{"v":1,"address":"X","seen":1,"conversations":[[1]]}']
)
def test_a_damaged_list_is_no_list(other, index, content):
    ask(other, index)
    remote = resolve_remote(other, None)
    with open(os.path.join(index, "remote-origin.json"), "wb") as file:
        file.write(content.replace(b"X", remote.address.text.encode()))
    assert read_manifest_list(index, remote) is None
    assert ask(other, index).new == 2


def test_the_list_of_another_address_is_not_used(other, index):
    ask(other, index)
    assert read_manifest_list(index, Remote("origin", parse_address("/elsewhere.git"))) is None


def test_a_clone_of_manifests_has_a_remote_and_no_conversation(pushed, bare, tmp_path, index):
    path = tmp_path / "clone"
    cloned = clone_manifests(
        str(path), parse_address(bare), EVERYTHING, connection(),
        open_store=lambda: open_store(path), name="team", directory=index,
    )  # fmt: skip
    store = open_store(path)
    assert (cloned.listed.total, list_roots(store)) == (2, {})
    assert [remote.name for remote in list_remotes(store)] == ["team"]


def test_an_empty_list_names_the_store_that_was_given(pushed, bare, tmp_path):
    place = tmp_path / "my talks"
    scopes("--store", str(place), "remote", "add", "origin", bare, table=PRODUCT)
    scopes("--store", str(place), "fetch", "--list", table=PRODUCT)
    hint = scopes("--store", str(place), "list", table=PRODUCT).stderr.splitlines()[1]
    words = shlex.split(hint.removeprefix("hint: list them: "))
    assert words == ["scopes", "--store", str(place), "fetch", "origin", "--list"]
    assert scopes(*words[1:], table=PRODUCT).stdout


def test_a_clone_of_manifests_that_fails_leaves_no_store(tmp_path, index):
    path = tmp_path / "clone"
    with pytest.raises(NotFound):
        clone_manifests(
            str(path), parse_address(str(tmp_path / "none.git")), EVERYTHING, connection(),
            open_store=lambda: open_store(path), name="origin", directory=index,
        )  # fmt: skip
    assert not path.exists()


HOSTILE = {
    "no manifest": lambda f: f.point(f.tip),
    "no commit": lambda f: f.point(f.write("blob", b"x")),
    "another file": lambda f: f.publish(more=[(FILE, b"evil", f.write("blob", b"x"))]),
    "not JSON": lambda f: f.publish(manifest=b"[" * 100_000),
    "another project": lambda f: f.publish(manifest={**f.manifest, "project": "0" * 12}),
    "a bad name": lambda f: f.publish(manifest={**f.manifest, "branches": {"name:-x": {}}}),
    "other parents": lambda f: f.publish(parents=[f.tip, f.tip]),
    "a newer version": lambda f: f.publish(manifest={**f.manifest, "v": 2}),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_manifest_that_is_not_acceptable_is_left_out_and_named(ours, bare, tmp_path, index, case):
    push_to(ours)
    forger = Forger(bare)
    HOSTILE[case](forger)
    history(ours, "main: good")
    push_to(ours, "conv-002")
    victim = machine(tmp_path / "victim", bare)
    done = ask(victim, index)
    assert (done.total, list(done.refused), done.exit_code) == (1, [forger.root], Corrupt.exit_code)
    assert forger.root[:12] in done.notes[0].text
    assert [row.root for row in listed(victim, index)] == [root_of(ours, "conv-002")]


def test_objects_that_git_refuses_are_refused_in_manifests_too(ours, bare, tmp_path, index, monkeypatch):
    (tmp_path / "gitconfig").write_text('[fetch "fsck"]\n\thasDotgit = ignore\n')
    push_to(ours)
    forger = Forger(bare)
    forger.publish(meta=forger.tree((b"40000", b".git", forger.meta)))
    victim = machine(tmp_path / "victim", bare)
    for config in ("", str(tmp_path / "gitconfig")):
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", config or os.devnull)
        with pytest.raises(Corrupt, match="not allowed"):
            ask(victim, index)
    assert not os.path.exists(index)


@pytest.mark.slow
def test_manifests_and_one_conversation_come_over_http(pushed, tmp_path, index):
    served = make_bare(tmp_path / "served" / "talks.git")
    git(served, "config", "http.receivepack", "true")
    with serve_http(tmp_path / "served") as server:
        add(pushed, f"{server.address}/talks.git", "web")
        push_to(pushed, remote="web")
        store = machine(tmp_path / "web", f"{server.address}/talks.git")
        assert ask(store, index).total == 2


@pytest.mark.slow
def test_manifests_come_over_ssh(pushed, ssh, tmp_path, index):
    address = ssh.address(make_bare(tmp_path / "ssh.git"))
    add(pushed, address, "host")
    push_to(pushed, remote="host")
    assert ask(machine(tmp_path / "far", address), index).total == 2


def test_manifests_that_are_kept_as_branches_are_listed_and_read(repository, bare, tmp_path, index):
    history(repository, "main: a b")
    remote = Remote("origin", parse_address(bare)._replace(as_branches=True))
    for store in (repository, other := open_store(make_store(tmp_path / "branches").path)):
        add_remote(store, remote.name, remote.address, connection(), probe=False)
    push_to(repository)
    assert git(bare, "for-each-ref", "--format=%(refname)").startswith("refs/heads/")
    assert ask(other, index).total == 1


def test_a_bundle_has_no_list_because_its_messages_come_with_it(pushed, tmp_path, index):
    path = str(tmp_path / "talks.bundle")
    create_bundle(pushed, path, EVERYTHING, connection())
    with pytest.raises(Invalid, match="is a bundle"):
        ask(machine(tmp_path / "bundled", path), index)


TOKEN = KINDS[1][1]


@pytest.mark.parametrize("offset", [0, 262, 270, 285, 300, 320])
@pytest.mark.cases(6)
def test_a_remote_title_is_searched_for_secrets_before_it_is_cut(offset):
    """The beginning of a token would be shown where the list cuts a title."""
    title = f"{'word ' * 80}"[:offset] + f" {TOKEN} end"
    (shown,) = shown_titles([title])
    assert leaked_parts("github-token", TOKEN, shown) == []
    assert shown == title.replace(TOKEN, "[redacted:github-token]")


def shown_titles(titles):
    """Return what a list shows for titles, and likewise for first prompts."""
    branches = {"main": ManifestBranch("main", "c" * 40, 1)}
    manifests = [Manifest(title, "p", "", "", branches, prompt=title) for title in titles]
    name = RemoteName("p", "2026-01", "a" * 40)
    listed = describe_all([(name, SimpleNamespace(manifest=each, oid="b" * 40, time=0)) for each in manifests])
    assert [each.prompt for each in listed] == [each.title for each in listed]
    return [each.title for each in listed]


@pytest.mark.parametrize("number", [0, 1, 199, 200, 401])
def test_a_secret_in_one_of_many_titles_is_replaced_in_that_one_alone(number):
    """Titles are searched together; a beginning of a secret at the end of one is not joined with the next one."""
    titles = [f"title {each}" for each in range(number)] + [None, f"use {TOKEN}", "after it", TOKEN[:20], "end"]
    shown = shown_titles(titles)
    assert [old == new for old, new in zip(titles, shown, strict=True)] == [True] * (number + 1) + [
        False, True, False, True,
    ]  # fmt: skip
    assert shown[number + 1] == "use [redacted:github-token]"
    assert TOKEN[:20] not in repr(shown)


def test_words_behind_the_place_where_a_title_is_cut_are_found(other, pushed, index):
    rename_title(pushed, "conv-002", f"{'word ' * 80}lighthouse")
    push_to(pushed)
    ask(other, index)
    (row,) = search_titles(other, "origin", ["lighthouse"], index).conversations
    assert row.title is not None
    assert len(row.title) == 300
