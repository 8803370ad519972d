"""Encoding names as paths. The file of vectors is the contract between machines; git checks the results."""

from __future__ import annotations

import hashlib
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.errors import Invalid
from scopes.model.canonical_json import (
    MAX_FILE_LEVELS,
    MAX_KEY_BYTES,
    decode_component,
    encode_component,
    file_leaf,
    leaf,
    split_leaf,
)
from tests.support.store import git

VECTORS_PATH = os.path.join(os.path.dirname(__file__), "vectors", "keys.json")
with open(VECTORS_PATH, encoding="ascii") as vector_file:
    VECTORS = json.load(vector_file)

ANY_TEXT = st.text(st.characters(exclude_categories=()))
NASTY_TEXT = st.text(st.sampled_from("./\\%=~: -_aA0\u200c\ud800\u00e9"), max_size=8) | ANY_TEXT
PATHS = st.lists(st.sampled_from(["a", "b", "..", ".", "", "C:", "\\", ".git", "e\u0301"]), max_size=6).map("/".join)
BASES = st.sampled_from([None, "/", "/a", "/a/b/", "C:\\a", "c:/", "\\\\srv\\share\\a", "a/b"])


def every_vector_path():
    """Give every key of the vectors as a path below one root, and each component also as a directory."""
    names = [case["name"] for case in VECTORS["components"]]
    yield from (leaf(name) for name in names)
    yield from (leaf(name, name) for name in names)
    yield from (leaf("state", *case["names"]) for case in VECTORS["leaves"])
    yield from ("files/" + case["key"] for case in VECTORS["files"])
    yield leaf("x" * MAX_KEY_BYTES)
    yield "files/" + file_leaf("d/" * 5000 + "x", None)


@pytest.mark.parametrize("case", VECTORS["components"], ids=lambda case: ascii(case["name"][:20]))
def test_each_component_vector_is_encoded_and_decoded_as_specified(case):
    assert encode_component(case["name"]) == case["text"]
    assert decode_component(case["text"]) == case["name"]


@pytest.mark.parametrize("text", VECTORS["undecodable"], ids=ascii)
def test_decoding_a_text_that_is_not_an_encoding_is_refused(text):
    with pytest.raises(Invalid, match=r"\A'[ -~]*' is not a component of a key\Z"):
        decode_component(text)


@pytest.mark.parametrize("case", VECTORS["leaves"], ids=lambda case: case["key"])
def test_each_leaf_vector_is_joined_and_split_as_specified(case):
    assert leaf(*case["names"]) == case["key"]
    assert split_leaf(case["key"]) == tuple(case["names"])


@pytest.mark.parametrize("path", VECTORS["not_keys"], ids=ascii)
def test_splitting_a_path_that_is_not_a_key_is_refused(path):
    with pytest.raises(Invalid):
        split_leaf(path)


@pytest.mark.parametrize("case", VECTORS["files"], ids=lambda case: ascii(f"{case['path']} in {case['base']}"))
def test_each_file_vector_has_the_specified_key(case):
    assert file_leaf(case["path"], case["base"]) == case["key"]


def test_git_fsck_strict_accepts_a_tree_with_all_vectors(tmp_path):
    """A-4, A-5, A-6, for what becomes a tree instead of a ref."""
    git(tmp_path, "init", "--quiet", "--bare")
    git(tmp_path, "config", "core.protectHFS", "true")
    git(tmp_path, "config", "core.protectNTFS", "true")
    blob = git(tmp_path, "hash-object", "-w", "--stdin", stdin=b"{}\n").strip()
    paths = sorted(set(every_vector_path()))
    entries = "".join(f"100644 {blob}\t{path}\0" for path in paths)
    git(tmp_path, "update-index", "-z", "--index-info", stdin=entries.encode())
    tree = git(tmp_path, "write-tree").strip()
    commit = git(tmp_path, "commit-tree", tree, "-m", "x").strip()
    git(tmp_path, "update-ref", "refs/heads/main", commit)
    assert git(tmp_path, "fsck", "--strict", "--no-dangling", "--no-progress") == ""
    stored = git(tmp_path, "ls-tree", "-r", "-z", "--name-only", "main").split("\0")[:-1]
    assert sorted(stored) == paths


def test_git_fsck_strict_refuses_the_same_names_unencoded(tmp_path):
    """Shows that the test above can fail."""
    git(tmp_path, "init", "--quiet", "--bare")
    blob = git(tmp_path, "hash-object", "-w", "--stdin", stdin=b"{}\n").strip()
    for name in (".git", "git~1", ".g\u200cit", "..", "."):
        entry = b"100644 " + name.encode() + b"\0" + bytes.fromhex(blob)
        tree = git(tmp_path, "hash-object", "-w", "-t", "tree", "--literally", "--stdin", stdin=entry).strip()
        with pytest.raises(AssertionError, match="error in tree"):
            git(tmp_path, "fsck", "--strict", tree)


def test_no_key_is_the_directory_of_another():
    paths = set(every_vector_path()) | {leaf("a"), leaf("a", "b"), leaf("a="), leaf("a=", "b")}
    directories = {"/".join(path.split("/")[:depth]) for path in paths for depth in range(1, path.count("/") + 1)}
    assert not paths & directories


@given(NASTY_TEXT)
def test_decoding_undoes_encoding(name):
    assert decode_component(encode_component(name)) == name


@given(st.sets(NASTY_TEXT))
def test_different_names_have_different_encodings(names):
    assert len(set(map(encode_component, names))) == len(names)


@given(st.text(st.sampled_from("%2E5CAaé./~=\ud800"), max_size=9) | ANY_TEXT)
def test_a_text_decodes_only_when_it_is_the_encoding_of_the_result(text):
    try:
        name = decode_component(text)
    except Invalid:
        return
    assert encode_component(name) == text


@given(NASTY_TEXT)
def test_a_component_contains_only_characters_that_no_system_interprets(name):
    text = encode_component(name)
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.%")
    assert text
    assert not text.startswith(".")
    assert not text.endswith(".")


@given(st.lists(NASTY_TEXT, min_size=1, max_size=5))
def test_splitting_undoes_joining(names):
    assert split_leaf(leaf(*names)) == tuple(names)


@given(NASTY_TEXT | PATHS, NASTY_TEXT | BASES)
def test_every_path_has_a_valid_key(path, base):
    assert leaf(*split_leaf(file_leaf(path, base))) == file_leaf(path, base)


@given(PATHS, st.sampled_from(["/", "/a", "/a/b/", "C:\\a", "\\\\srv\\share\\a"]))
def test_absolute_and_relative_paths_of_a_file_have_the_same_key(path, base):
    assert file_leaf("./" + path, base) == file_leaf(base + "/" + path, base)


@given(st.lists(st.sampled_from(["a", ".git", "x.y", "\u00e9", "="]), min_size=1, max_size=6))
def test_directories_below_the_base_are_kept(names):
    assert split_leaf(file_leaf("/base/" + "/".join(names), "/base")) == tuple(names)


@given(PATHS, BASES)
def test_a_file_key_has_no_empty_or_dot_dot_component(path, base):
    names = split_leaf(file_leaf(path, base))
    assert names
    assert "" not in names
    assert base in {None, "a/b"} or ".." not in names


def test_a_key_is_at_most_4095_bytes_long():
    assert leaf("a" * 2047, "b" * 2047) == "a" * 2047 + "/" + "b" * 2047 + "="
    with pytest.raises(Invalid, match="a key of 4096 bytes is too long"):
        leaf("a" * 2047, "b" * 2048)


@pytest.mark.parametrize(
    "path", ["x" * 4096, "\u20ac" * 456, "a/" * MAX_FILE_LEVELS + "x", "/tmp/" + "x" * 4090], ids=len
)
def test_a_file_key_too_long_for_git_is_replaced_by_its_hash(path):
    """P15: no file name stops an import."""
    (name,) = split_leaf(file_leaf(path, "/base"))
    encoded = "/".join(map(encode_component, [path] if path.startswith("/") else path.split("/")))
    assert name == "sha256:" + hashlib.sha256(encoded.encode()).hexdigest()


def test_file_keys_up_to_the_limit_are_not_hashed():
    assert file_leaf("a/" * (MAX_FILE_LEVELS - 1) + "x", None) == "a/" * (MAX_FILE_LEVELS - 1) + "x="
    assert file_leaf("x" * MAX_KEY_BYTES, None) == "x" * MAX_KEY_BYTES + "="
