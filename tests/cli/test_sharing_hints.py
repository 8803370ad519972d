"""Hints about what others have changed are commands that can be run as they are: each is run here."""

from __future__ import annotations

import json
import shlex

import pytest

from tests.support.planted import KINDS


@pytest.fixture
def shared(cloned):
    """A conversation that two stores have."""
    return cloned


def commands(text):
    """Return the commands that a hint names, without the first word."""
    [hint] = [line for line in text.splitlines() if line.startswith("hint: ")]
    return [shlex.split(part.partition("scopes ")[2]) for part in hint.split("; ") if "scopes " in part]


def title_of(run, store="a"):
    return json.loads(run("show", "conv-001", "--json", store=store).stdout)["title"]


@pytest.mark.parametrize("title", ["Lint failures (Ann)", 'it\'s "mine"', "--all", "a; b"])
def test_a_replaced_title_comes_back(run, shared, title):
    run("rename", "conv-001", f"--title={title}")
    run("rename", "conv-001", "--title", "Lint failures (Bob)", store="b")
    run("push", "conv-001", store="b")
    fetched = run("fetch").stderr
    assert title_of(run) == "Lint failures (Bob)"
    [hint] = [line for line in fetched.splitlines() if line.startswith("hint: ")]
    run(*shlex.split(hint.partition(" scopes ")[2]))
    assert title_of(run) == title


def test_a_removed_tag_and_one_that_has_moved_come_back(run, shared):
    run("append", "conv-001", "--as", "carol", "more")
    run("push", "conv-001")
    run("fetch", store="b")
    run("tag", "conv-001", "v1", "main")
    run("tag", "conv-001", "v1", "main~1", store="b")
    run("push", "conv-001", store="b")
    before = run("tag", "conv-001").stdout
    [delete, again] = commands(run("fetch").stderr)
    assert run("tag", "conv-001").stdout != before
    run(*delete)
    run(*again)
    assert run("tag", "conv-001").stdout == before
    run("push", "conv-001")
    run("fetch", store="b")
    run("tag", "conv-001", "v1", "--delete", store="b")
    run("push", "conv-001", store="b")
    [again] = commands(run("fetch").stderr)
    run(*again)
    assert run("tag", "conv-001").stdout == before


@pytest.mark.parametrize("active", ["main", "try"])
def test_a_branch_that_was_deleted_there_is_deleted_here(run, shared, active):
    run("switch", "-c", "conv-001", "try")
    run("append", "conv-001/try", "--as", "carol", "an idea")
    run("push", "conv-001")
    run("fetch", store="b")
    run("switch", "conv-001", active, store="b")
    run("push", "--delete", "conv-001/try", "--yes")
    for words in commands(run("fetch", store="b").stderr):
        run(*words, store="b")
    assert "try" not in run("branch", "conv-001", store="b").stdout


def test_a_branch_that_was_deleted_here_is_got_again(run, shared):
    run("switch", "-c", "conv-001", "try")
    run("push", "conv-001")
    run("fetch", store="b")
    run("delete-branch", "conv-001", "try", store="b")
    run("append", "conv-001/try", "--as", "carol", "an idea")
    run("push", "conv-001")
    [get] = commands(run("fetch", store="b").stderr)
    run(*get, store="b")
    assert "an idea" in run("log", "conv-001/try", store="b").stdout


@pytest.mark.every_case("each reads its words on its own")
@pytest.mark.parametrize("verb", ["push", "fetch", "pull"])
def test_a_remote_behind_the_names_is_named_first_instead(run, shared, verb):
    refused = run(verb, "conv-001", "origin", code=4).stderr
    assert "error: origin is a remote, and no conversation" in refused
    [words] = commands(refused)
    assert words == [verb, "origin", "conv-001"]
    run(*words)


def test_what_a_pull_merges_from_an_earlier_fetch_is_not_new_there(run, shared):
    run("append", "conv-001", "--as", "carol", "ours")
    run("append", "conv-001", "--as", "dave", "theirs", store="b")
    run("push", store="b")
    run("fetch")
    pulled = run("pull")
    assert "nothing is new on origin since the last fetch" in pulled.stderr
    assert pulled.stdout.startswith("conv-001/main\tmerged\torigin/main\t")


@pytest.mark.slow
@pytest.mark.parametrize("which", [0, 2], ids=["get them", "remove them"])
def test_a_forced_push_after_a_rejected_one_names_both_ways(run, shared, which):
    run("append", "conv-001", "--as", "dave", "theirs", store="b")
    run("push", store="b")
    run("append", "conv-001", "--as", "carol", "ours")
    run("push", code=1)
    reason = run("push", "conv-001", "--force", code=1).stdout.strip().rpartition("\t")[2]
    assert "1 message by dave that no branch here ever had" in reason
    run(*shlex.split(reason.split("; ")[which].partition("scopes ")[2]))
    run("push", "conv-001")
    run("fetch", store="b")
    assert ("theirs" in run("log", "conv-001/origin/main", store="b").stdout) == (which == 0)


def test_who_has_purged_gets_what_came_above_it_by_the_commands_of_the_refusal(run, shared):
    run("append", "conv-001", "--as", "carol", "Xylophone-Quarantine-4711")
    run("push")
    run("pull", store="b")
    run("append", "conv-001", "--as", "dave", "theirs", store="b")
    run("push", store="b")
    purged = json.loads(run("log", "conv-001", "--json").stdout.splitlines()[0])["id"]
    run("purge", "conv-001", purged, "--yes")
    reason = run("push", "--purged", code=1).stdout.strip().rpartition("\t")[2]
    pull, push, _ = (shlex.split(part.partition("scopes ")[2]) for part in reason.split("; "))
    assert "purged 1 message in what came" in run(*pull).stderr
    run(*push)
    assert [line.split(" ", 1)[1] for line in run("log", "conv-001", "--oneline").stdout.splitlines()] == [
        "theirs", "[purged]", "hello",
    ]  # fmt: skip
    run("fetch", store="b")
    run("purge", "--accept", "--yes", store="b")
    assert run("log", "conv-001", "--oneline", store="b").stdout == run("log", "conv-001", "--oneline").stdout
    run("pull")
    run("push", store="b")


@pytest.mark.slow
def test_the_conflict_of_a_pull_is_listed_and_continued(run, shared):
    words = ("append", "conv-001", "--kind", "decision", "--topic", "db")
    run(*words, "SQLite")
    run(*words, "PostgreSQL", store="b")
    run("push", "conv-001", store="b")
    [see, go_on] = commands(run("pull", code=3).stderr)
    run(*see)
    run("conflicts", "resolve", "conv-001", "1", "--take", "target")
    run(*go_on)


def test_everything_that_a_remote_has_lost_is_sent_again(run, shared):
    run("push", "--delete", "conv-001", "--yes", store="b")
    [push] = commands(run("fetch").stderr)
    run(*push)
    assert "conv-001" in run("fetch", "--list", store="b").stdout


@pytest.fixture
def two(run, shared):
    """Two conversations that two stores have."""
    run("new", "Logout")
    run("append", "conv-002", "--as", "carol", "bye")
    run("push", "conv-002")
    run("fetch", store="b")
    return shared


def row_of(run, conversation, store):
    rows = json.loads(run("list", "--json", store=store).stdout)["conversations"]
    return next(row for row in rows if row["id"] == conversation)


@pytest.mark.parametrize("verb", ["fetch", "pull"])
@pytest.mark.slow
def test_a_conversation_that_somebody_has_deleted_there_is_named_once(run, two, verb):
    assert row_of(run, "conv-002", "b")["ahead"] == 0
    run("push", "--delete", "conv-002", "--yes")
    printed = run(verb, store="b").stderr
    assert "note: 1 conversation was deleted on origin: conv-002" in printed
    assert "ahead" not in row_of(run, "conv-002", "b")
    assert row_of(run, "conv-001", "b")["ahead"] == 0
    assert "deleted on" not in run(verb, store="b").stderr
    assert "deleted on" not in run(verb).stderr  # who did it knows


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.slow
def test_a_conversation_that_was_deleted_there_is_deleted_here_or_sent_again(run, two, which):
    run("push", "--delete", "conv-002", "--yes")
    run(*commands(run("fetch", store="b").stderr)[which], store="b")
    if which == 0:
        assert "conv-002" not in run("list", store="b").stdout
    else:
        assert row_of(run, "conv-002", "b")["ahead"] == 0
        run("fetch")
        assert row_of(run, "conv-002", "a")["ahead"] == 0


@pytest.mark.slow
def test_what_was_purged_there_is_no_deletion(run, two):
    run("purge", "conv-002", "--whole", "--yes")
    run("push", "--purged")
    printed = run("fetch", store="b").stderr
    assert "purged elsewhere" in printed
    assert "deleted on" not in printed


def branches(run, store="a"):
    return run("branch", "conv-001", store=store).stdout


@pytest.mark.parametrize("active", ["main", "mine"])
@pytest.mark.slow
def test_a_branch_that_two_have_renamed_gets_its_name_again(run, shared, active):
    run("switch", "-c", "conv-001", "try")
    run("push", "conv-001")
    run("fetch", store="b")
    run("rename", "conv-001/try", "mine")
    run("switch", "conv-001", active)
    run("rename", "conv-001/try", "theirs", store="b")
    run("push", "conv-001", store="b")
    before = branches(run)
    printed = run("fetch").stderr
    what = "active branch" if active == "mine" else "branch"
    assert f"conv-001: somebody else has renamed the {what} that you named mine: it is theirs now" in printed
    [again] = commands(printed)
    run(*again)
    assert branches(run) == before


@pytest.mark.slow
def test_the_active_branch_is_named_whoever_named_it_before(run, shared):
    run("switch", "-c", "conv-001", "try")
    run("switch", "-c", "conv-001", "other")
    run("push", "conv-001")
    run("fetch", store="b")
    run("switch", "conv-001", "try", store="b")
    run("rename", "conv-001/try", "new")
    run("rename", "conv-001/other", "newer")
    run("push", "conv-001")
    printed = run("fetch", store="b").stderr
    assert "somebody else has renamed the active branch try: it is new now" in printed
    assert "newer" not in printed


@pytest.mark.slow
def test_a_push_that_sends_something_new_names_what_others_have_deleted(run, two):
    run("push", "--delete", "conv-002", "--yes")
    run("new", "More", store="b")
    run("append", "conv-003", "--as", "dave", "more", store="b")
    assert "1 conversation was deleted on origin: conv-002" in run("push", "conv-003", store="b").stderr
    assert "deleted on" not in run("fetch", store="b").stderr


def test_an_undo_says_that_it_passes_over_a_push_once(run, shared):
    run("append", "conv-001", "some")
    run("append", "conv-001", "more")
    run("push", "conv-001")
    undone = run("undo")
    assert "append to conv-001/main" in undone.stdout
    assert "not undone: push 1 conversation to origin" in undone.stderr
    assert commands(undone.stderr) == [["push", "conv-001", "--force"]]
    assert "not undone" not in run("undo").stderr


def test_an_undo_after_a_push_that_others_share_names_what_moves_it_back_there(run, shared):
    run("append", "conv-001", "more")
    run("push", "conv-001")
    undone = run("undo").stderr
    assert "--delete" not in undone
    [back] = commands(undone)
    assert back == ["push", "conv-001", "--force"]
    run(*back)
    run("fetch", store="b")
    assert "more" not in run("log", "conv-001/origin/main", store="b").stdout


def test_an_undo_after_a_deletion_on_the_remote_says_that_it_is_not_undone(run, shared):
    run("append", "conv-001", "more")
    run("push", "--delete", "conv-001", "--yes")
    undone = run("undo").stderr
    assert "not undone: delete 1 name from origin" in undone


def test_an_undo_of_what_came_after_a_push_says_nothing_of_it(run, shared):
    run("append", "conv-001", "more")
    assert "not undone" not in run("undo").stderr


def test_an_undo_after_a_push_that_learned_what_was_purged_takes_back_ones_own_command(run, two):
    run("purge", "conv-002", "--whole", "--yes")
    run("push", "--purged")
    run("new", "Of b", store="b")
    run("append", "conv-003", "--as", "dave", "mine", store="b")
    run("push", "conv-003", store="b")
    assert "what others have purged" in run("operations", "-a", store="b").stdout
    assert "append to conv-003/main" in run("undo", "--as", "dave", store="b").stdout


def test_the_error_of_who_has_another_name_now_says_whose_work_the_last_is(run, shared):
    run("config", "scopes.author", "Carl")
    refused = run("undo", code=4).stderr
    assert "there is nothing to undo for Carl" in refused
    assert "the last is by carol (append to conv-001/main by carol" in refused
    [_, again] = commands(refused)
    run(*again)


def test_a_bundle_as_a_remote_is_called_read_only(run, shared):
    run("push", "talks.bundle", "conv-001")
    added = run("remote", "add", "usb", "talks.bundle").stderr
    assert "talks.bundle is a bundle, which is only read" in added
    assert "as-branches" not in added
    run("fetch", "usb")


@pytest.mark.slow
def test_a_later_bundle_with_less_is_no_deletion(run, two):
    run("push", "talks.bundle", "conv-001", "conv-002")
    run("remote", "add", "usb", "talks.bundle", store="b")
    run("fetch", "usb", store="b")
    run("push", "talks.bundle", "conv-001", "--force")
    assert "deleted on" not in run("fetch", "usb", store="b").stderr


@pytest.mark.parametrize("words", [("new",), ("rename", "conv-001", "--title")])
def test_a_title_with_a_secret_is_noted(run, shared, words):
    key = dict(KINDS)["gitlab-token"]
    assert "possible secret in the title: " in run(*words, f"key {key}").stderr
    assert "secret" not in run(*words, "no key").stderr
