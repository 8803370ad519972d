"""What the source did to files is merged tree by tree: the state is that of a merge path by path."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from scopes.merge.detection import find_disagreements
from scopes.merge.divergence import Divergence, Side, changes_by_key
from scopes.merge.plan import merged_state
from scopes.store.trees import diff_blobs, update_tree
from tests.support.examples import examples
from tests.support.history import history

names = st.sampled_from(["a", "a=", "b=", "c", "%2Fabs="])
paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: "/".join(("files", *parts)))
others = st.sampled_from(["decisions/auth=", "participants/carol="])
claims = st.sampled_from([b"1", b"2"])
states = st.dictionaries(paths | others, claims, max_size=6).filter(
    lambda files: not any(other.startswith(path + "/") for path in files for other in files)
)


def divergence_of(repository, base, target, source):
    tip = history(repository, "main: a").oids["a"]
    sides = [Side(tip, state, (), changes_by_key(repository, base, state)) for state in (target, source)]
    return Divergence(*sides, (tip,), base, "/home/dev/shop")


def merged_by_paths(repository, base, target, source):
    changes = {path: new for path, _, new in diff_blobs(repository, base, source)}
    return update_tree(repository, target, changes) if changes else target


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(states, states, states)
def test_files_without_conflicts_are_merged_as_path_by_path(repository, before, ours, theirs):
    """Also in states of other programs, where a name can be that of a file and of a directory."""
    trees = [update_tree(repository, None, files) for files in (before, ours, theirs)]
    divergence = divergence_of(repository, *trees)
    assume(not find_disagreements(repository, divergence))
    assert merged_state(repository, divergence, (), ()) == merged_by_paths(repository, *trees)


def test_a_side_that_removed_all_files_leaves_no_directory(repository):
    base = update_tree(repository, None, {"files/a=": b"1", "files/b=": b"1"})
    target = update_tree(repository, base, {"files/a=": None})
    source = update_tree(repository, base, {"files/b=": None})
    divergence = divergence_of(repository, base, target, source)
    assert merged_state(repository, divergence, (), ()) == update_tree(repository, None, {})


def test_a_state_whose_files_are_a_file_is_merged(repository):
    """`files` is a directory in what scopes writes; a received store may have anything."""
    base = update_tree(repository, None, {"participants/carol=": b"1"})
    target = update_tree(repository, base, {"files": b"1"})
    source = update_tree(repository, base, {"files/a=": b"1"})
    divergence = divergence_of(repository, base, target, source)
    assert merged_state(repository, divergence, (), ()) == update_tree(repository, target, {"files/a=": b"1"})
