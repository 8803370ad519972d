"""What a shell remembers: paths against its directory, and what is left when two branches of a line meet."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.check.shell_state import MAX_TEXT, State, Word, resolve

NAMES = st.sampled_from(["a", "b", "..", ".", "src", "x y", ""])
PATHS = st.builds(lambda root, parts: root + "/".join(parts), st.sampled_from(["", "/"]), st.lists(NAMES, max_size=5))
DIRECTORIES = st.lists(st.sampled_from(["home", "dev", "shop", "x"]), max_size=4).map(
    lambda parts: "/" + "/".join(parts)
)
VALUES = st.sampled_from([Word("1", "1"), Word("2", "2"), Word(None, "$x")])


@pytest.mark.parametrize(
    ("directory", "target", "path"),
    [
        ("/w", "a", "/w/a"),
        ("/w", ".", "/w"),
        ("/w", "", "/w"),
        ("/w", "../../..", "/"),
        ("/w", "/a/../b/", "/b"),
        ("/w", "//a", "/a"),
        ("/", "a", "/a"),
        ("~", "a/..", "~"),
        ("~/x", "..", "~"),
        ("/w", "~", "~"),
        ("/w", "~bob/x", "~bob/x"),
        ("/w", "$HOME", "~"),
        ("/w", "${HOME}/x", "~/x"),
        ("/w", "$HOMEx", None),
        ("/w", "$PWD/x", "/w/x"),
        (None, "$PWD/x", None),
        ("/w", "${PWD}", "/w"),
        ("/w", "$x/a", None),
        ("/w", "a/$x", "/w/a/$x"),
        ("/w", "`a`", None),
        (None, "a", None),
        (None, "/a", "/a"),
        (None, "~/a", "~/a"),
        ("/w", None, None),
    ],
)
def test_a_path_is_resolved_against_the_directory(directory, target, path):
    assert resolve(directory, target) == path


@given(DIRECTORIES, PATHS)
def test_a_literal_path_is_resolved_as_the_system_would(directory, path):
    assert resolve(directory, path) == posixpath.normpath(posixpath.join(directory, path)).replace("//", "/")


@given(DIRECTORIES, PATHS, PATHS)
def test_two_changes_of_directory_are_one_to_the_joined_path(directory, first, second):
    assert resolve(resolve(directory, first), second) == resolve(directory, posixpath.join(first or ".", second))


def state_of(directory="/w", **variables):
    state = State(directory)
    state.variables.update(variables)
    return state


@given(st.dictionaries(st.sampled_from("xyz"), VALUES), st.dictionaries(st.sampled_from("xyz"), VALUES))
def test_only_what_both_branches_agree_on_is_known_after_them(first, second):
    """The order of the branches does not matter, and joining a state with itself changes nothing."""
    joined, swapped = state_of(**first), state_of(**second)
    joined.join([state_of(**second)])
    swapped.join([state_of(**first)])
    for name in first.keys() | second.keys():
        agreed = first[name] if first.get(name) == second.get(name) else Word(None, f"${name}")
        assert joined.variables[name] == swapped.variables[name] == agreed
    same = state_of(**first)
    same.join([state_of(**first)])
    assert same.variables == first


@pytest.mark.parametrize(("other", "directory"), [("/w", "/w"), ("/x", None), (None, None)])
def test_a_directory_that_differs_between_branches_is_unknown(other, directory):
    state = state_of("/w")
    state.join([state_of("/w"), state_of(other)])
    assert state.directory == directory


def test_a_change_in_a_copy_does_not_reach_the_shell():
    state = state_of(x=Word("1", "1"))
    copy = state.copy()
    copy.assign("x", Word("2", "2"))
    copy.change_directory("a")
    copy.exported["y"] = "1"
    copy.aliases |= {"gp"}
    assert (state.variables["x"].value, state.directory, state.exported, state.aliases) == ("1", "/w", {}, frozenset())
    state.become(copy)
    assert (state.variables["x"].value, state.directory, state.previous) == ("2", "/w/a", "/w")
    assert (state.exported, state.aliases) == ({"y": "1"}, {"gp"})


def test_a_value_that_is_too_long_to_follow_is_unknown():
    """`x=$x$x` doubles a value: sixty of them are more than a memory holds."""
    state = state_of()
    state.assign("x", Word("a" * MAX_TEXT, "a" * MAX_TEXT))
    assert state.variables["x"].value is not None
    state.assign("x", Word("a" * (MAX_TEXT + 1), "a" * (MAX_TEXT + 1), ("curl",)))
    assert state.variables["x"] == Word(None, "$x", ("curl",))


@pytest.mark.parametrize(
    ("value", "exported"), [(Word("2", "2"), "2"), (Word(None, "$y"), None), ([Word("2", "2")], None)]
)
def test_a_variable_that_is_exported_stays_exported(value, exported):
    state = state_of(x=Word("1", "1"))
    state.exported["x"] = "1"
    state.assign("x", value)
    state.assign("y", value)
    assert state.exported == {"x": exported}
