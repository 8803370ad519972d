"""A commit is written again with other parents, tree or subject; everything else stays byte by byte."""

from __future__ import annotations

from scopes.store.objects import edit_commit, parse_commit

TREE, OTHER = "1" * 40, "2" * 40
HEAD = f"tree {TREE}\nparent {'a' * 40}\nauthor c <c@x> 5 +0100\ncommitter d <d@x> 6 +0000\n"
BODY = "\nSubject of it\n\nScopes-Message: m1\nScopes-Kind: decision\nScopes-To: all\n"


def test_tree_and_parents_are_replaced_and_nothing_else():
    new = edit_commit((HEAD + BODY).encode(), OTHER, ["b" * 40, "c" * 40]).decode()
    wanted = HEAD.replace(TREE, OTHER).replace(f"parent {'a' * 40}", f"parent {'b' * 40}\nparent {'c' * 40}")
    assert new == wanted + BODY


def test_the_same_again_is_the_same_bytes():
    data = (HEAD + BODY).encode()
    assert edit_commit(data, TREE, ["a" * 40]) == data


def test_subject_and_kind_are_replaced_where_they_are():
    new = edit_commit((HEAD + BODY).encode(), TREE, [], subject="[purged]\nnot this", kind="notice")
    commit = parse_commit(OTHER, new)
    assert (commit.subject, commit.kind, commit.message_id, commit.to) == ("[purged] not this", "notice", "m1", "all")
    assert b"Subject of it" not in new


def test_a_signature_goes_with_all_its_lines():
    signed = (
        HEAD + "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQEz\n -----END PGP SIGNATURE-----\nencoding UTF-8\n" + BODY
    )
    new = edit_commit(signed.encode(), TREE, ["a" * 40]).decode()
    assert new == HEAD + "encoding UTF-8\n" + BODY


def test_a_subject_without_trailers_is_replaced():
    new = edit_commit((HEAD + "\nonly\n").encode(), TREE, [], subject="x")
    assert new.endswith(b"\n\nx\n")
