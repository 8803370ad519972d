"""Which conversations are pushed, fetched or cloned: named ones, or all that meet every condition."""

from __future__ import annotations

import os

import pytest

from scopes.conversation.new_rename_delete import new
from scopes.errors import Ambiguous, Corrupt, Invalid, NotFound
from scopes.store.objects import COMMIT, TREE, Identity, format_commit, read_commit
from scopes.store.projects import read_project
from scopes.sync.local_conversations import (
    Selection,
    choose_local,
    list_roots,
    make_selection,
    name_of_conversation,
    newest_time,
)
from scopes.sync.names import month_of, parse_remote_ref, project_digest, tracking_ref
from scopes.sync.nothing_found import describe_years
from scopes.sync.push import push
from scopes.sync.remotes import resolve_remote
from tests.support.history import history
from tests.support.remotes import clone_to, connection, fetch_from, machine, push_to
from tests.support.store import make_branch, move


def make(**chosen):
    """Make a selection from what the command line gives."""
    given = {"everything": False, "project": None, "since": None, "year": None, **chosen}
    return make_selection(given.pop("names", ()), **given)


def test_nothing_is_chosen_by_default():
    assert make().is_empty
    assert not make(everything=True).is_empty
    assert not make(names=("conv-001",)).is_empty
    assert not make(since="1 day ago").is_empty


@pytest.mark.parametrize("year", ["26", "20266", "202x", "", "-2026"])
def test_a_year_has_four_digits(year):
    with pytest.raises(Invalid, match="is not a year"):
        make(year=year)


@pytest.mark.parametrize("more", [{"everything": True}, {"since": "yesterday"}, {"year": "2026"}])
def test_names_exclude_conditions(more):
    with pytest.raises(Invalid, match="cannot be named together"):
        make(names=("conv-001",), **more)


def test_a_time_that_is_none_is_refused():
    with pytest.raises(Invalid, match="not a valid time"):
        make(since="soon")


def test_named_conversations_come_in_their_order_and_once(repository):
    for _ in range(3):
        new(repository)
    assert choose_local(repository, make(names=("conv-003", "conv-001", "conv-003"))) == ["conv-003", "conv-001"]
    with pytest.raises(NotFound):
        choose_local(repository, make(names=("conv-009",)))


def test_conditions_are_all_to_be_met(repository, tmp_path):
    shop = tmp_path / "shop"
    shop.mkdir()
    new(repository, directory=str(shop))
    new(repository, directory=str(tmp_path))
    new(repository)
    project = read_project(str(shop), "/")
    assert choose_local(repository, make(everything=True)) == ["conv-001", "conv-002", "conv-003"]
    assert choose_local(repository, make(project=project)) == ["conv-001"]
    assert choose_local(repository, make(project=project, year="2026")) == ["conv-001"]
    assert choose_local(repository, make(project=project, year="2025")) == []
    assert choose_local(repository, make(since="2025-12-31")) == ["conv-001", "conv-002", "conv-003"]
    assert choose_local(repository, make(since="2030-01-01")) == []


def test_conversations_are_found_by_their_roots_also_without_metadata(repository):
    drawn = history(repository, "main: a")
    move(repository, ("refs/scopes/meta/conv-001", repository.find_ref("refs/scopes/meta/conv-001"), None))
    assert list_roots(repository) == {drawn.root: "conv-001"}


def test_a_history_without_a_root_has_no_name_on_a_remote(repository):
    make_branch(repository, "a")
    with pytest.raises(Corrupt, match="no root"):
        name_of_conversation(repository, "conv-001")


def test_the_newest_time_is_that_of_the_newest_tip(repository):
    drawn = history(repository, "main: a b", "fix@a: c")
    tips = [drawn.oids["b"], drawn.oids["c"]]
    assert newest_time(repository, tips) == max(read_commit(repository, tip).time for tip in tips)


@pytest.mark.parametrize(
    ("seconds", "month"), [(0, "197001"), (1_767_225_599, "202512"), (1_767_225_600, "202601"), (2**32 - 1, "210602")]
)
def test_the_month_is_that_of_the_root_in_utc(repository, seconds, month):
    tree = repository.write(TREE, b"")
    commit = format_commit(tree=tree, parents=(), author=Identity("a", "a@b"), time=seconds, subject="s")
    assert month_of(read_commit(repository, repository.write(COMMIT, commit))) == month


@pytest.mark.parametrize(
    "ref",
    ["refs/heads/main", "refs/scopes/v1/c/", "refs/scopes/v1/c/0123456789ab/202601/" + "A" * 40,
     "refs/scopes/v1/c/0123456789ab/2026/" + "a" * 40, "refs/scopes/v1/c/0123456789ab/202601/" + "a" * 40 + "/x"],
)  # fmt: skip
def test_another_ref_is_no_conversation(ref):
    with pytest.raises(Corrupt, match="not a conversation"):
        parse_remote_ref(ref)


def test_projects_differ_by_what_the_root_says_alone():
    assert len({project_digest(each) for each in (None, "", "/a", "/b")}) == 3
    assert tracking_ref("origin", "a" * 40) == f"refs/scopes/remotes/origin/{'a' * 40}"


def test_a_fetch_can_be_limited_to_a_year(ours, bare, tmp_path):
    push_to(ours)
    other = machine(tmp_path / "other", bare)
    with pytest.raises(NotFound, match="origin has no conversation of 2025") as caught:
        fetch(other, make(year="2025"))
    assert caught.value.hint == "years: 2026 (1)"
    assert len(fetch(other, make(year="2026")).conversations) == 1


@pytest.mark.parametrize("chosen", [{"year": "2026"}, {"project": read_project("shop", "/")}])
def test_conditions_on_a_remote_without_conversations_are_an_error(ours, chosen):
    with pytest.raises(NotFound, match="origin has no conversation") as caught:
        fetch(ours, make(**chosen))
    assert "scopes push CONV" in caught.value.hint


def test_a_push_of_a_year_or_a_project_without_conversations_names_what_is_here(ours, tmp_path):
    new(ours, directory=str(tmp_path / "shop"))
    for chosen, text, hint in [
        ({"year": "1999"}, "this store has no conversation of 1999", "years: 2026 (2)"),
        ({"project": read_project("site", "/")}, "no conversation of the project site", "projects: shop"),
        (
            {"project": read_project("site", "/"), "year": "1999"},
            "of the project site and of 1999",
            "projects: shop; years: 2026 (2)",
        ),
    ]:
        with pytest.raises(NotFound, match=text) as caught:
            push(ours, resolve_remote(ours, None), make(**chosen), connection())
        assert caught.value.hint == hint


def test_a_push_of_nothing_since_a_time_is_no_error(ours):
    assert push(ours, resolve_remote(ours, None), make(since="2999-01-01"), connection()).exit_code == 0


def test_few_years_are_named_and_how_many_more_there_are():
    years = ["2026", "2026", "2024", *map(str, range(2010, 2016))]
    assert describe_years(years) == "2026 (2), 2024 (1), 2015 (1), 2014 (1), 2013 (1) and 3 more"


def fetch(store, selection):
    """Fetch what was selected."""
    from scopes.sync.fetch import fetch as run

    return run(store, resolve_remote(store, None), selection, connection())


def test_a_prefix_of_several_roots_is_ambiguous(ours, bare, tmp_path, monkeypatch):
    from scopes.sync import remote_selection

    history(ours, "main: x")
    push_to(ours)
    other = machine(tmp_path / "other", bare)
    listed = remote_selection.list_all
    monkeypatch.setattr(
        remote_selection,
        "list_all",
        lambda transport: [n._replace(root="ab" * 9 + n.root[18:]) for n in listed(transport)],
    )
    with pytest.raises(Ambiguous, match="2 conversations"):
        fetch_from(other, "ababababa")


def test_two_conversations_are_cloned_of_three(ours, bare, tmp_path):
    for _ in range(2):
        history(ours, "main: x")
    push_to(ours)
    roots = sorted(list_roots(ours), key=list_roots(ours).get)
    cloned = clone_to(tmp_path / "some", bare, [roots[0][:12], roots[2]])
    assert {row.root for row in cloned.fetched.conversations} == {roots[0], roots[2]}


def test_a_push_of_many_conversations_goes_in_batches(ours, monkeypatch):
    from scopes.sync import push_batches as module

    monkeypatch.setattr(module, "FIRST_BATCH", 2)
    for _ in range(4):
        history(ours, "main: x")
    pushed = push(ours, resolve_remote(ours, None), Selection(everything=True), connection())
    assert [row.status for row in pushed.conversations] == ["new"] * 5
    log = os.listdir(os.path.join(ours.path, "logs", "refs", "scopes", "remotes", "origin"))
    assert len(log) == 5


def test_what_was_confirmed_before_a_push_broke_off_is_not_sent_again(ours, bare, monkeypatch):
    from scopes.errors import Inaccessible
    from scopes.sync import push_batches as module
    from scopes.sync.git_transport import GitTransport

    monkeypatch.setattr(module, "FIRST_BATCH", 1)
    for _ in range(3):
        history(ours, "main: x")
    sent, original = [], GitTransport.push

    def break_off(self, updates):
        if len(sent) == 3:
            raise Inaccessible("the connection was lost")
        sent.extend(updates)
        return original(self, updates)

    monkeypatch.setattr(GitTransport, "push", break_off)
    with pytest.raises(Inaccessible):
        push_to(ours)
    monkeypatch.setattr(GitTransport, "push", original)
    again = push_to(ours)
    assert (len(again.conversations), again.unchanged) == (1, 3)
