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
    run("push", "talks.bundle", "--all")
    return tmp_path / "talks.bundle"


def test_a_bundle_goes_from_one_store_to_another(run, bundle):
    assert run("fetch", "talks.bundle", "--list").stdout.startswith("conv-001\tknown\t1\t1\tLogin\n")
    assert run("fetch", "talks.bundle", store="b").stdout == "conv-001\tnew\t1 created\tLogin\n"
    assert "hello" in run("log", "conv-001", store="b").stdout
    assert "nothing is new on bundle" in run("fetch", "talks.bundle", store="b").stderr
    run("undo", store="b")
    assert run("list", store="b").stdout == ""


def test_the_hint_about_a_diverged_branch_can_be_followed(run, bundle):
    run("fetch", "talks.bundle", store="b")
    run("append", "conv-001", "--as", "carol", "one")
    run("append", "conv-001", "--as", "dave", "two", store="b")
    run("push", "talks.bundle", "conv-001", "--force")
    hint = run("fetch", "talks.bundle", store="b").stderr.partition("merge it: scopes ")[2].splitlines()[0]
    run(*hint.split(), store="b")
    assert "one" in run("log", "conv-001", store="b").stdout


def test_every_command_prints_json(run, bundle):
    made = json.loads(run("push", "new.bundle", "conv-001", "--json").stdout)
    assert (made["kind"], made["conversations"][0]["status"]) == ("bundle", "included")
    assert made["size_bytes"] == (bundle.parent / "new.bundle").stat().st_size
    seen = json.loads(run("fetch", "new.bundle", "--list", "--json").stdout)
    assert (seen["kind"], seen["conversations"][0]["title"]) == ("bundle-content", "Login")
    taken = json.loads(run("fetch", "new.bundle", "--json", store="b").stdout)
    assert (taken["kind"], taken["remote"], taken["conversations"][0]["status"]) == ("fetch", "bundle", "new")


def test_a_secret_is_left_out_and_the_exit_code_says_so(run, bundle):
    kind, secret = KINDS[1]
    run("append", "conv-001", "--as", "carol", f"use {secret}")
    done = run("push", "secret.bundle", "--all", code=1)
    assert "github-token" in done.stdout
    assert "no bundle was written" in done.stderr
    assert leaked_parts(kind, secret, done.stdout + done.stderr) == []
    assert run("push", "secret.bundle", "--all", "--secrets", "allow").stdout.startswith("conv-001\tincluded")


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("push", "x.bundle"), 2, "nothing was chosen"),
        (("push", "talks.bundle", "--all"), 1, "already exists"),
        (("push", "x.bundle", "conv-009"), 4, "conv-009"),
        (("push", "x.bundle", "conv-001", "--all"), 2, "cannot be named together"),
        (("fetch", "missing.bundle"), 4, "there is no file"),
        (("fetch", "./a/config"), 7, "is not a bundle"),
        (("fetch", "./a/config", "--list"), 7, "is not a bundle"),
        (("fetch", "talks.bundle", "conv-009"), 4, "conv-009"),
    ],
)
def test_mistakes_have_a_text_and_an_exit_code(run, bundle, words, code, text):
    done = run(*words, code=code)
    assert text in done.stderr
    assert "Traceback" not in done.stderr
