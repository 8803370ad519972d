"""A commit graph in a store of somebody else: its checksum is right, but what it says of the commits is not."""

from __future__ import annotations

import glob
import os
import shutil

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.diff import diff
from scopes.conversation.gc import gc
from scopes.conversation.list import list_conversations
from scopes.conversation.new import new
from scopes.conversation.rebase import rebase
from scopes.conversation.repair import repair
from scopes.conversation.verify import verify
from scopes.history.messages import plain_message
from scopes.ids import Oid
from scopes.store.graph import is_ancestor, list_merge_bases
from scopes.store.graph_trust import FILE, find_known_graph
from tests.support.forged_graphs import GraphFile
from tests.support.store import assert_sound, files_of, git, loose_path, open_store

GRAPH = "objects/info/commit-graph"
CHAIN = "objects/info/commit-graphs"
SIDE, MAIN = "refs/heads/conv-001/side", "refs/heads/conv-001/main"


@pytest.fixture(autouse=True)
def conversation(repository):
    """Make two conversations, one of them with two branches that have one message more each, and write the graph."""
    new(repository, title="public", participants=["carol"])
    for text in ("root", "second"):
        append(repository, "conv-001", plain_message("carol", text))
    branch(repository, "conv-001", name="side")
    append(repository, "conv-001", plain_message("carol", "on the side"), branch="side")
    append(repository, "conv-001", plain_message("carol", "on main"), branch="main")
    new(repository, title="secret", participants=["carol"])
    gc(repository)


def tip(repository, ref):
    return Oid(git(repository, "rev-parse", ref).strip())


def forge_parents(repository, graph):
    graph.set_parent(tip(repository, MAIN), tip(repository, SIDE))


def forge_trees(repository, graph):
    graph.swap_trees(tip(repository, "refs/scopes/meta/conv-001"), tip(repository, "refs/scopes/meta/conv-002"))


def forge_generation(repository, graph):
    graph.set(tip(repository, SIDE), 28, graph.get(tip(repository, SIDE), 28) + (50 << 2))


def forge_missing_generation(repository, graph):
    graph.set(tip(repository, SIDE), 28, graph.get(tip(repository, SIDE), 28) & 3)


def forge_time(repository, graph):
    graph.set(tip(repository, SIDE), 32, 1)


def forge_a_root(repository, graph):
    graph.set(tip(repository, MAIN), 20, 0x7000_0000)


def forge_a_merge(repository, graph):
    graph.set(tip(repository, MAIN), 24, graph.oids.index(tip(repository, SIDE)))


def forge_a_parent_that_is_not_there(repository, graph):
    graph.set(tip(repository, MAIN), 20, 1_000_000)


def forge_a_list_of_parents_that_is_not_there(repository, graph):
    graph.set(tip(repository, MAIN), 24, 0x8000_0000)


def forge_the_table_of_first_bytes(repository, graph):
    start = graph.places[b"OIDF"]
    graph.data[start : start + 255 * 4] = graph.data[start + 255 * 4 : start + 256 * 4] * 255


FORGERIES = {
    forge_parents: "parents",
    forge_trees: "tree",
    forge_generation: "generation",
    forge_missing_generation: "generation",
    forge_time: "time",
    forge_a_root: "parents",
    forge_a_merge: "parents",
    forge_a_parent_that_is_not_there: "parents",
    forge_a_list_of_parents_that_is_not_there: "parents",
    forge_the_table_of_first_bytes: "not a commit graph as git writes it",
}
each_forgery = pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)


def forge_graph(repository, forge, path=GRAPH):
    graph = GraphFile(os.path.join(repository.path, path))
    forge(repository, graph)
    graph.save()
    return open_store(repository)


def found_by_verify(repository):
    return [(found.severity, found.where, found.problem, found.cure) for found in verify(repository).findings]


@each_forgery
def test_verify_names_the_graph_that_differs_from_the_commits_and_what_is_wrong(repository, forge):
    opened = forge_graph(repository, forge)
    before = files_of(repository.path)
    ((severity, where, problem, cure),) = found_by_verify(opened)
    assert (severity, where, cure) == ("error", GRAPH, "repair it: scopes repair")
    assert problem.endswith(FORGERIES[forge])
    assert verify(opened).exit_code == 7
    assert files_of(repository.path) == before


@each_forgery
def test_repair_moves_a_wrong_graph_away_and_gc_writes_a_right_one(repository, forge):
    opened = forge_graph(repository, forge)
    done = repair(opened)
    assert [where for where, _ in done.repairs] == [GRAPH]
    assert done.remaining == ()
    assert os.path.isfile(os.path.join(done.quarantine, GRAPH))
    assert not os.path.lexists(os.path.join(repository.path, GRAPH))
    gc(open_store(repository))
    assert found_by_verify(open_store(repository)) == []
    assert open_store(repository).commit_graph is not None
    assert_sound(repository)


def test_an_honest_graph_is_neither_reported_nor_repaired(repository):
    before = files_of(repository.path)
    opened = open_store(repository)
    assert found_by_verify(opened) == []
    assert repair(opened).repairs == ()
    assert files_of(repository.path) == before


def test_a_graph_with_commits_that_no_ref_reaches_is_compared_too(repository):
    """`delete` and `undo` leave such rows; a later ref could lead to them."""
    side = tip(repository, SIDE)
    graph = GraphFile(os.path.join(repository.path, GRAPH))
    git(repository, "update-ref", "-d", SIDE)
    graph.set(side, 32, 1)
    graph.save()
    opened = open_store(repository)
    assert ("error", GRAPH) in [found[:2] for found in found_by_verify(opened)]


@pytest.mark.parametrize("version", ["1", "2"], ids=["generations", "corrected dates"])
def test_a_graph_that_git_writes_with_any_kind_of_generations_is_right(repository, version):
    os.unlink(os.path.join(repository.path, GRAPH))
    one, two = tip(repository, MAIN), tip(repository, SIDE)
    third = tip(repository, "refs/heads/conv-002/main")
    words = ("-p", one, "-p", two, "-p", third, "-m", "three parents", f"{one}^{{tree}}")
    made = git(repository, "-c", "user.name=a", "-c", "user.email=b", "commit-tree", *words).strip()
    git(repository, "update-ref", "refs/other/octopus", made)
    git(repository, "-c", f"commitGraph.generationVersion={version}", "commit-graph", "write", "--reachable")
    assert made in GraphFile(os.path.join(repository.path, GRAPH)).oids
    assert [found for found in found_by_verify(open_store(repository)) if found[1].startswith("objects")] == []


def test_a_corrected_date_that_is_not_later_than_that_of_the_parents_is_wrong(repository):
    os.unlink(os.path.join(repository.path, GRAPH))
    git(repository, "-c", "commitGraph.generationVersion=2", "commit-graph", "write", "--reachable")
    graph = GraphFile(os.path.join(repository.path, GRAPH))
    parent = git(repository, "rev-parse", f"{MAIN}^").strip()
    at = graph.places[b"GDA2"] + 4 * graph.oids.index(parent)
    graph.data[at : at + 4] = (1_000_000).to_bytes(4, "big")
    graph.save()
    ((_, where, problem, _),) = found_by_verify(open_store(repository))
    assert (where, problem.endswith("corrected date")) == (GRAPH, True)


def split_graph(repository):
    """Write the graph as a chain of two files; return them, the base first."""
    os.unlink(os.path.join(repository.path, GRAPH))
    git(repository, "commit-graph", "write", "--reachable", "--split=no-merge")
    append(repository, "conv-001", plain_message("carol", "later"), branch="main")
    git(repository, "commit-graph", "write", "--reachable", "--split=no-merge")
    with open(os.path.join(repository.path, CHAIN, "commit-graph-chain"), encoding="ascii") as file:
        return [f"{CHAIN}/graph-{name}.graph" for name in file.read().split()]


def test_an_honest_chain_of_graphs_is_right(repository):
    assert len(split_graph(repository)) == 2
    assert found_by_verify(open_store(repository)) == []
    assert repair(open_store(repository)).repairs == ()


@pytest.mark.parametrize("layer", [0, 1], ids=["base", "upper file"])
def test_each_file_of_a_chain_is_compared_and_the_whole_chain_is_removed(repository, layer):
    paths = split_graph(repository)
    oid = tip(repository, f"{MAIN}^" if layer == 0 else MAIN)
    opened = forge_graph(repository, lambda _, graph: graph.set(oid, 32, 1), paths[layer])
    assert [found[1] for found in found_by_verify(opened)] == [paths[layer]]
    done = repair(opened)
    assert {where for where, _ in done.repairs} == {f"{CHAIN}/commit-graph-chain", *paths}
    assert glob.glob(os.path.join(repository.path, CHAIN, "*")) == []
    assert found_by_verify(open_store(repository)) == []
    assert_sound(repository)


def test_a_damaged_file_of_a_chain_is_named_once(repository):
    path = os.path.join(repository.path, split_graph(repository)[1])
    os.chmod(path, 0o600)
    with open(path, "r+b") as file:
        file.seek(-30, os.SEEK_END)
        file.write(b"damage")
    ((_, where, problem, _),) = found_by_verify(open_store(repository))
    assert (where, problem) == (os.path.relpath(path, repository.path), "its checksum does not match")


def as_a_user(repository, directory):
    """Open the store with a place for what was derived from it, as a command does; return it and what it reports."""
    opened = open_store(repository)
    opened.index_directory = os.fspath(directory)
    reports = []
    opened.report_wrong_graph = reports.append
    return opened, reports


def count_reads(opened):
    """Return the list of objects that are read from now on."""
    read = []
    real, opened.read = opened.read, lambda oid: read.append(oid) or real(oid)
    return read


@each_forgery
def test_a_diff_does_not_believe_a_forged_graph_and_says_so_once(repository, tmp_path, forge):
    forge_graph(repository, forge)
    before = files_of(repository.path)
    opened, reports = as_a_user(repository, tmp_path / "index")
    found = diff(opened, "conv-001/main", "conv-001/side")
    assert [head.subject for head in found.only_left] == ["on main"]
    assert [head.subject for head in found.only_right] == ["on the side"]
    assert len(reports) == 1
    assert reports[0].startswith("the commit graph of the store is not used: ")
    assert opened.commit_graph is None
    assert files_of(repository.path) == before


@each_forgery
def test_a_rebase_keeps_the_message_that_a_forged_graph_hides(repository, tmp_path, forge):
    forge_graph(repository, forge)
    opened, _ = as_a_user(repository, tmp_path / "index")
    rebase(opened, "conv-001", branch="side", onto="conv-001/main")
    subjects = git(repository, "-c", "core.commitGraph=false", "log", "--format=%s", "-3", SIDE).splitlines()
    assert subjects == ["on the side", "on main", "second"]


@each_forgery
def test_ancestry_is_that_of_the_commits_whatever_the_graph_says(repository, forge):
    """libgit2 believes every graph whose checksum is right."""
    main, side = tip(repository, MAIN), tip(repository, SIDE)
    base = tip(repository, f"{MAIN}^")
    opened = forge_graph(repository, forge)
    assert [is_ancestor(opened, *pair) for pair in ((side, main), (main, side), (base, main))] == [False, False, True]


def test_a_list_shows_each_conversation_its_own_title_and_compares_nothing(repository, tmp_path):
    forge_graph(repository, forge_trees)
    opened, reports = as_a_user(repository, tmp_path / "index")
    rows = list_conversations(opened, opened.index_directory).conversations
    assert {row.id: row.title for row in rows} == {"conv-001": "public", "conv-002": "secret"}
    assert reports == []


def test_gc_removes_a_forged_graph_and_keeps_what_it_hides(repository, tmp_path):
    oids = set(git(repository, "rev-list", "--all").split())
    forge_graph(repository, forge_parents)
    opened, _ = as_a_user(repository, tmp_path / "index")
    gc(opened)
    assert set(git(repository, "-c", "core.commitGraph=false", "rev-list", "--all").split()) == oids
    assert found_by_verify(open_store(repository)) == []


def test_the_graph_that_gc_wrote_is_used_without_comparing_it(repository, tmp_path):
    (tmp_path / "index").mkdir()
    gc(as_a_user(repository, tmp_path / "index")[0])
    opened, reports = as_a_user(repository, tmp_path / "index")
    read = count_reads(opened)
    assert opened.commit_graph is not None
    assert read == []
    assert find_known_graph(as_a_user(repository, tmp_path / "index")[0]) is not None
    assert reports == []


def test_an_honest_graph_of_somebody_else_is_compared_once_and_used_from_then_on(repository, tmp_path):
    first, _ = as_a_user(repository, tmp_path / "index")
    assert find_known_graph(first) is None
    read = count_reads(first)
    assert first.commit_graph is not None
    assert set(read) == set(GraphFile(os.path.join(repository.path, GRAPH)).oids)
    second, _ = as_a_user(repository, tmp_path / "index")
    read = count_reads(second)
    assert list_merge_bases(second, tip(repository, MAIN), tip(repository, SIDE)) == (tip(repository, f"{MAIN}^"),)
    assert set(read) == {tip(repository, MAIN), tip(repository, SIDE)}


def test_a_graph_that_is_replaced_after_it_was_compared_is_compared_again(repository, tmp_path):
    assert as_a_user(repository, tmp_path / "index")[0].commit_graph is not None
    forge_graph(repository, forge_parents)
    opened, reports = as_a_user(repository, tmp_path / "index")
    assert find_known_graph(opened) is None
    assert opened.commit_graph is None
    assert len(reports) == 1


def test_a_copy_of_a_right_graph_is_known_by_its_checksum(repository, tmp_path):
    """A restored backup has other times and inodes."""
    assert as_a_user(repository, tmp_path / "index")[0].commit_graph is not None
    path = os.path.join(repository.path, GRAPH)
    shutil.copy(path, tmp_path / "copy")
    os.replace(tmp_path / "copy", path)
    opened, _ = as_a_user(repository, tmp_path / "index")
    read = count_reads(opened)
    assert find_known_graph(opened) is not None
    assert read == []


def test_a_graph_with_a_commit_that_the_store_does_not_have_is_not_used(repository, tmp_path):
    """The commit could be fetched later, and the row for it would be believed."""
    made = git(repository, "-c", "user.name=a", "-c", "user.email=b", "commit-tree", "-m", "x", f"{MAIN}^{{tree}}")
    git(repository, "update-ref", "refs/other/x", made.strip())
    git(repository, "commit-graph", "write", "--reachable")
    git(repository, "update-ref", "-d", "refs/other/x")
    os.unlink(loose_path(repository, made.strip()))
    opened, reports = as_a_user(repository, tmp_path / "index")
    assert opened.commit_graph is None
    assert reports == [
        f"the commit graph of the store is not used: it has commit {made.strip()}, which is missing or damaged"
    ]
    assert found_by_verify(open_store(repository)) == []


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"x" * 10_000, None], ids=["empty", "binary", "long", "a pipe"])
def test_a_damaged_file_of_checksums_costs_a_comparison_and_no_more(repository, tmp_path, damage):
    place = tmp_path / "index" / FILE
    place.parent.mkdir()
    if damage is None:
        os.mkfifo(place)
    else:
        place.write_bytes(damage)
    assert as_a_user(repository, place.parent)[0].commit_graph is not None
    assert find_known_graph(as_a_user(repository, place.parent)[0]) is not None
    assert place.stat().st_mode & 0o777 == 0o600


def test_without_a_place_to_write_the_graph_is_compared_by_each_command(repository, tmp_path):
    (tmp_path / "index").write_text("a file in the place of the directory")
    for _ in range(2):
        opened, reports = as_a_user(repository, tmp_path / "index")
        assert opened.commit_graph is not None
        assert reports == []
