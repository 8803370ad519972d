"""A commit graph in a store of somebody else: its checksum is right, but what it says of the commits is not."""

from __future__ import annotations

import glob
import os

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.gc import gc
from scopes.conversation.new import new
from scopes.conversation.repair import repair
from scopes.conversation.verify import verify
from scopes.history.messages import plain_message
from scopes.ids import Oid
from tests.support.forged_graphs import GraphFile
from tests.support.store import assert_sound, files_of, git, open_store

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
