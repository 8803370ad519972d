"""`scopes bundle` on the command line."""

from __future__ import annotations

import json

import pytest

from tests.support.planted import KINDS, leaked_parts
from tests.support.recalled import recalled


@pytest.fixture
@recalled
def bundle(run, tmp_path):
    """A bundle with a conversation."""
    run("new", "Login")
    run("append", "conv-001", "--as", "carol", "hello")
    run("bundle", "create", "talks.bundle", "--all")
    return tmp_path / "talks.bundle"


def test_a_bundle_goes_from_one_store_to_another(run, bundle):
    assert run("bundle", "verify", "talks.bundle").stdout.startswith("conv-001\tknown\t1\t1\tLogin\n")
    assert run("bundle", "import", "talks.bundle", store="b").stdout == "conv-001\tnew\t1 created\tLogin\n"
    assert "hello" in run("log", "conv-001", store="b").stdout
    assert "nothing is new on bundle" in run("bundle", "import", "talks.bundle", store="b").stderr
    run("undo", store="b")
    assert run("list", store="b").stdout == ""


def test_the_hint_about_a_diverged_branch_can_be_followed(run, bundle):
    run("bundle", "import", "talks.bundle", store="b")
    run("append", "conv-001", "--as", "carol", "one")
    run("append", "conv-001", "--as", "dave", "two", store="b")
    run("bundle", "create", "talks.bundle", "conv-001", "--force")
    hint = run("bundle", "import", "talks.bundle", store="b").stderr.partition("merge it: scopes ")[2].splitlines()[0]
    run(*hint.split(), store="b")
    assert "one" in run("log", "conv-001", store="b").stdout


def test_every_command_prints_json(run, bundle):
    made = json.loads(run("bundle", "create", "new.bundle", "conv-001", "--json").stdout)
    assert (made["kind"], made["conversations"][0]["status"]) == ("bundle", "included")
    assert made["size_bytes"] == (bundle.parent / "new.bundle").stat().st_size
    seen = json.loads(run("bundle", "verify", "new.bundle", "--json").stdout)
    assert (seen["kind"], seen["conversations"][0]["title"]) == ("bundle-content", "Login")
    taken = json.loads(run("bundle", "import", "new.bundle", "--json", store="b").stdout)
    assert (taken["kind"], taken["remote"], taken["conversations"][0]["status"]) == ("fetch", "bundle", "new")


def test_a_secret_is_left_out_and_the_exit_code_says_so(run, bundle):
    kind, secret = KINDS[1]
    run("append", "conv-001", "--as", "carol", f"use {secret}")
    done = run("bundle", "create", "secret.bundle", "--all", code=1)
    assert "github-token" in done.stdout
    assert "no bundle was written" in done.stderr
    assert leaked_parts(kind, secret, done.stdout + done.stderr) == []
    assert run("bundle", "create", "secret.bundle", "--all", "--allow-secrets").stdout.startswith("conv-001\tincluded")


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("create", "x.bundle"), 2, "nothing was chosen"),
        (("create", "talks.bundle", "--all"), 1, "already exists"),
        (("create", "x.bundle", "conv-009"), 4, "conv-009"),
        (("create", "x.bundle", "conv-001", "--all"), 2, "cannot be named together"),
        (("import", "missing.bundle"), 4, "there is no file"),
        (("import", "a/config"), 7, "is not a bundle"),
        (("verify", "a/config"), 7, "is not a bundle"),
        (("import", "talks.bundle", "conv-009"), 4, "conv-009"),
    ],
)
def test_mistakes_have_a_text_and_an_exit_code(run, bundle, words, code, text):
    done = run("bundle", *words, code=code)
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_a_conversation_in_place_of_the_file_is_named(run, cloned, tmp_path):
    error = run("bundle", "create", "conv-001", "conv-001", code=2).stderr
    assert "conv-001 is a conversation, and the file comes first" in error
    assert "scopes bundle create FILE conv-001 conv-001" in error
    assert not (tmp_path / "conv-001").exists()
