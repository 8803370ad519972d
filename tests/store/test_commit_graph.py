"""The commit graph that git writes: equal answers with and without it, and no crash for any damaged or forged file."""

from __future__ import annotations

import hashlib
import itertools
import os
from pathlib import Path

import pytest

from scopes.errors import ScopesError
from scopes.store.commit_graph import read_commit_graph
from scopes.store.graph import list_merge_bases, split_histories
from tests.support.store import NOON, git, open_store, write_chain, write_message

WRITERS = {
    "plain": ["commit-graph", "write", "--reachable"],
    "with bloom filters": ["commit-graph", "write", "--reachable", "--changed-paths"],
    "generations only": ["-c", "commitGraph.generationVersion=1", "commit-graph", "write", "--reachable"],
    "corrected dates": ["-c", "commitGraph.generationVersion=2", "commit-graph", "write", "--reachable"],
}
AFTER_2038 = 1 << 33  # two bits of a time are above the lower 32
HEADER, ROW, HASH = 8, 12, 20


def draw_history(repository):
    """Write lines, a criss-cross merge, an octopus merge, a second root, and times before and after 2038; return all."""

    def write(name, *parents, time=NOON):
        made[name] = write_message(repository, name, *(made[parent] for parent in parents), time=time)

    made = {}
    write("root")
    write("left", "root", time=AFTER_2038)
    write("right", "root", time=1)
    write("one", "left", "right")
    write("two", "right", "left", time=AFTER_2038 + 1)
    write("line", "one", time=0)
    write("octopus", "line", "two", "right")
    write("above", "octopus")
    write("stranger")
    write("adopted", "stranger", "two")
    for name, oid in made.items():
        git(repository, "update-ref", f"refs/heads/x/{name}", oid)
    return made


def graph_path(repository):
    return Path(repository.path, "objects", "info", "commit-graph")


def write_graph(repository, how="plain"):
    git(repository, *WRITERS[how])
    return graph_path(repository).read_bytes()


def bases_of_git(repository, one, two):
    """Return what git computes from the commits alone."""
    words = ["-c", "core.commitGraph=false", "merge-base", "--all", one, two]
    try:
        return tuple(sorted(git(repository, *words).split()))
    except AssertionError:  # exit code 1: there is none
        return ()


def sealed(data):
    """Return the file with the checksum of its content, as a forger writes it."""
    body = bytes(data[:-HASH])
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def read(tmp_path, data):
    """Read bytes as the commit graph of a directory of objects."""
    (tmp_path / "info").mkdir(exist_ok=True)
    (tmp_path / "info" / "commit-graph").write_bytes(data)
    return read_commit_graph(str(tmp_path))


def chunk_of(data, name):
    """Return the place of a chunk in the file, from its table."""
    at = data.index(name, HEADER)
    return int.from_bytes(data[at + 4 : at + ROW], "big")


@pytest.fixture
def line(repository):
    """Return two lines above a chain, and write the graph of all."""
    base = write_chain(repository, "a", "b")[-1]
    tips = [write_message(repository, f"{side}2", write_message(repository, f"{side}1", base)) for side in "lr"]
    for tip in tips:
        git(repository, "update-ref", f"refs/heads/x/{tip}", tip)
    return base, tips


@pytest.mark.slow
def test_every_pair_has_the_merge_bases_that_git_finds_whatever_wrote_the_graph(repository):
    made = draw_history(repository)
    pairs = list(itertools.combinations(made.values(), 2))
    expected = {pair: bases_of_git(repository, *pair) for pair in pairs}
    assert max(map(len, expected.values())) == 2
    assert min(map(len, expected.values())) == 0
    split = [split_histories(open_store(repository), *pair) for pair in pairs]
    for how in WRITERS:
        write_graph(repository, how)
        opened = open_store(repository)
        assert opened.commit_graph is not None, how
        assert {pair: list_merge_bases(opened, *pair) for pair in pairs} == expected, how
        assert [split_histories(opened, *pair) for pair in pairs] == split, how


def test_a_graph_in_several_files_is_not_read_and_the_answers_are_the_same(repository):
    """`--split` writes a chain below `commit-graphs/`; its files name each other by hashes."""
    made = draw_history(repository)
    pairs = list(itertools.combinations(made.values(), 2))
    expected = [list_merge_bases(repository, *pair) for pair in pairs]
    git(repository, "commit-graph", "write", "--reachable", "--split=no-merge")
    made["newest"] = write_message(repository, "newest", made["above"])
    git(repository, "update-ref", "refs/heads/x/newest", made["newest"])
    git(repository, "commit-graph", "write", "--reachable", "--split=no-merge")
    chain = Path(repository.path, "objects", "info", "commit-graphs")
    layers = sorted(chain.glob("*.graph"))
    assert len(layers) == 2
    opened = open_store(repository)
    assert opened.commit_graph is None
    assert [list_merge_bases(opened, *pair) for pair in pairs] == expected
    for layer in layers:  # such a file in the place of a whole graph: the upper one lacks the commits of the lower one
        graph_path(repository).write_bytes(layer.read_bytes())
        opened = open_store(repository)
        assert [list_merge_bases(opened, *pair) for pair in pairs] == expected
        graph_path(repository).unlink()


@pytest.mark.parametrize("how", WRITERS)
def test_each_commit_has_the_tree_that_git_shows_and_others_have_none(repository, how):
    made = draw_history(repository)
    write_graph(repository, how)
    graph = open_store(repository).commit_graph
    trees = {oid: git(repository, "rev-parse", f"{oid}^{{tree}}").strip() for oid in made.values()}
    assert {oid: graph.find_tree(oid) for oid in trees} == trees
    assert [graph.find_tree(tree) for tree in trees.values()] == [None] * len(trees)


def test_each_commit_has_the_position_of_its_id_and_others_have_none(repository):
    made = draw_history(repository)
    write_graph(repository)
    graph = open_store(repository).commit_graph
    assert [graph.position(oid) for oid in sorted(made.values())] == list(range(len(made)))
    assert [graph.oid(number) for number in range(len(made))] == sorted(made.values())
    for oid in made.values():
        near = [f"{int(oid, 16) + step:040x}" for step in (-1, 1)]
        assert [graph.position(other) for other in near] == [None, None]
    assert [graph.position(digit * 40) for digit in "0f"] == [None, None]


def test_an_id_that_begins_inside_another_one_is_not_found(tmp_path):
    """Ids are searched as bytes: the end of one and the beginning of the next are no id."""
    names = [bytes([7]) + bytes([9]) * 19, bytes([9]) * 19 + bytes([7])]
    shifted = (names[0] + names[1])[1:21]
    fanout = b"".join(sum(name[0] <= first for name in names).to_bytes(4, "big") for first in range(256))
    commit = bytes(20) + (0x7000_0000).to_bytes(4, "big") * 2 + (4).to_bytes(4, "big") + bytes(4)
    parts = {b"OIDF": fanout, b"OIDL": b"".join(names), b"CDAT": commit * 2}
    at, table = HEADER + ROW * 4, b""
    for name, content in parts.items():
        table += name + at.to_bytes(8, "big")
        at += len(content)
    data = b"CGPH\1\1\3\0" + table + bytes(4) + at.to_bytes(8, "big") + b"".join(parts.values()) + bytes(HASH)
    graph = read(tmp_path, sealed(data))
    assert [graph.position(name.hex()) for name in (*names, shifted)] == [0, 1, None]


def test_a_file_that_is_cut_at_any_byte_is_the_same_as_none(repository, line, tmp_path):
    data = write_graph(repository)
    assert read(tmp_path, data) is not None
    for size in range(len(data)):
        assert read(tmp_path, data[:size]) is None, size
        if size >= HASH:
            graph = read(tmp_path, sealed(data[:size]))  # a forger can cut too
            assert graph is None or list_everything(graph)


def list_everything(graph):
    """Compare all pairs of commits of a graph; fail if an answer is not a list of its commits."""
    size = graph._fanout[-1]
    for one, two in itertools.product(range(size), repeat=2):
        found = graph.list_merge_bases(one, two)
        assert found is None or all(graph.oid(position) for position in found)
    return True


def test_a_file_with_any_other_byte_is_the_same_as_none(repository, line, tmp_path):
    data = bytearray(write_graph(repository))
    for at in range(len(data)):
        data[at] ^= 0x40
        assert read(tmp_path, data) is None, at
        data[at] ^= 0x40


@pytest.mark.parametrize("bits", [0x01, 0x80, 0xFF])
def test_a_forged_file_with_the_right_checksum_never_crashes_nor_hangs(repository, line, tmp_path, bits):
    """Every byte in turn; the tables of the first bytes of ids are long and alike, so a part of them is enough."""
    data = bytearray(write_graph(repository))
    fanout = chunk_of(data, b"OIDF")
    for at in range(len(data) - HASH):
        if fanout + 16 <= at < fanout + 1008 and at % 37:
            continue
        data[at] ^= bits
        graph = read(tmp_path, sealed(data))
        data[at] ^= bits
        assert graph is None or list_everything(graph), at


@pytest.mark.parametrize("bits", [0x01, 0x80])
def test_a_forged_parent_or_generation_gives_an_answer_or_an_error_of_ours(repository, line, bits):
    """Whoever can write such a file can write any history; the reader only has to end."""
    base, tips = line
    data = bytearray(write_graph(repository))
    start = chunk_of(data, b"CDAT")
    forged = 0
    for at in range(start, len(data) - HASH):
        if (at - start) % 36 < 20:  # the tree, which is not read
            continue
        data[at] ^= bits
        graph_path(repository).unlink()
        graph_path(repository).write_bytes(sealed(data))
        data[at] ^= bits
        opened = open_store(repository)
        try:
            found = list_merge_bases(opened, *tips)
        except ScopesError:
            continue
        forged += found != (base,)
        assert len(found) <= 1
    assert forged < 20  # most of them are noticed by the order of the generations


@pytest.mark.parametrize(
    "generation", [0, 0x3FFF_FFFF], ids=["not computed, as old versions of git wrote it", "saturated"]
)
def test_generations_that_order_nothing_leave_the_question_to_the_commits(repository, line, generation):
    base, tips = line
    data = bytearray(write_graph(repository))
    start = chunk_of(data, b"CDAT")
    for commit in range(6):
        at = start + commit * 36 + 28
        data[at : at + 4] = (generation << 2).to_bytes(4, "big")
    graph_path(repository).unlink()
    graph_path(repository).write_bytes(sealed(data))
    opened = open_store(repository)
    graph = read_commit_graph(f"{repository.path}/objects")
    assert graph.list_merge_bases(*map(graph.position, tips)) is None
    assert list_merge_bases(opened, *tips) == (base,)


def test_two_commits_that_are_parents_of_each_other_are_left_to_the_commits(repository, line, tmp_path):
    """A cycle cannot be in a history: each id is a hash of its parents."""
    data = bytearray(write_graph(repository))
    start = chunk_of(data, b"CDAT")
    for commit in range(6):
        at = start + commit * 36 + 20
        data[at : at + 4] = ((commit + 1) % 6).to_bytes(4, "big")
    graph = read(tmp_path, sealed(data))
    found = [graph.list_merge_bases(one, two) for one, two in itertools.combinations(range(6), 2)]
    assert None in found
    assert all(answer is None or len(answer) <= 1 for answer in found)


@pytest.mark.parametrize("kind", ["pipe", "loop of links", "link to nothing", "link to a device", "directory"])
def test_a_graph_that_is_no_regular_file_is_the_same_as_none_and_is_not_waited_for(repository, line, kind):
    """It may become one while the store is open; opening refuses some of these before."""
    base, tips = line
    write_graph(repository)
    path = graph_path(repository)
    opened = open_store(repository)
    path.unlink()
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "loop of links":
            path.symlink_to(path)
        case "link to nothing":
            path.symlink_to("missing")
        case "link to a device":
            path.symlink_to("/dev/zero")
        case _:
            path.mkdir()
    assert opened.commit_graph is None
    if kind != "pipe":  # libgit2 would wait for it; a store with a pipe there cannot be opened
        assert list_merge_bases(opened, *tips) == (base,)


@pytest.mark.parametrize("at", [*range(8), 8, 12, 16, 19])
def test_a_graph_of_another_version_hash_or_layout_is_the_same_as_none(repository, line, tmp_path, at):
    """Every byte of the header counts, and so do the names and places of the chunks."""
    data = bytearray(write_graph(repository))
    data[at] ^= 0xFF
    assert read(tmp_path, sealed(data)) is None


def test_a_graph_of_no_commits_answers_nothing(repository, line, tmp_path):
    """Git writes none for an empty repository; a forger can."""
    table = [(b"OIDF", 56), (b"OIDL", 1080), (b"CDAT", 1080), (bytes(4), 1080)]
    rows = b"".join(name + at.to_bytes(8, "big") for name, at in table)
    graph = read(tmp_path, sealed(b"CGPH\1\1\3\0" + rows + bytes(1024) + bytes(HASH)))
    assert graph.position(line[0]) is None
    assert graph.list_merge_bases(0, 0) is None
