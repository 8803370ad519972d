"""`scopes remote`, `push`, `fetch`, `pull` and `clone` on the command line."""

from __future__ import annotations

import json

import pytest

from tests.cli.running import PRODUCT, imported, scopes
from tests.support.planted import KINDS, leaked_parts


def test_a_conversation_goes_from_one_store_to_another(run, shared, tmp_path):
    assert run("clone", shared, "b").stdout.strip() == str(tmp_path / "b")
    assert "hello" in run("log", "conv-001", store="b").stdout
    run("append", "conv-001", "--as", "dave", "an answer", store="b")
    pushed = run("push", "--all", store="b")
    assert pushed.stdout == "conv-001\tupdated\t1\t1\t\n"
    assert run("fetch").stdout == "conv-001\tupdated\t1 moved\tLogin\n"
    assert "an answer" in run("log", "conv-001").stdout
    assert "nothing is new on origin" in run("fetch").stderr
    assert "origin had everything of 1 conversation" in run("push", "--all").stderr


def test_every_command_prints_json(run, shared):
    listed = json.loads(run("remote", "list", "--json").stdout)
    assert listed["remotes"] == [
        {"name": "origin", "address": shared, "transport": "directory", "conversations": 1, "default": True}
    ]
    run("append", "conv-001", "--as", "carol", "more")
    pushed = json.loads(run("push", "conv-001", "--json").stdout)
    assert (pushed["kind"], pushed["conversations"][0]["status"]) == ("push", "updated")
    cloned = json.loads(run("clone", shared, "b", "--json").stdout)
    assert cloned["conversations"][0]["branches"] == [
        {"name": "main", "local": "main", "state": "created", "messages": 2}
    ]
    assert json.loads(run("fetch", "--json", store="b").stdout)["unchanged"] == 1
    assert json.loads(run("pull", "--json", store="b").stdout)["merges"] == []


def test_a_clone_without_a_directory_makes_the_selected_store(run, shared):
    run("clone", shared, store="c")
    assert "Login" in run("list", store="c").stdout


def list_there(run, address, name="origin", store="b"):
    """Return the list of what a remote has, in a new store that has none of it."""
    run("remote", "add", name, address, store=store)
    return run("fetch", name, "--list", store=store).stdout


def test_a_clone_names_its_remote(run, shared):
    run("clone", shared, "--name", "team", store="c")
    assert run("remote", "list", store="c").stdout.startswith("team\t1\t")


def test_a_fetch_and_a_clone_load_only_what_they_need(run, shared, tmp_path):
    run("clone", shared, store="b")
    run("append", "conv-001", "--as", "carol", "more")
    run("push", "conv-001")
    modules = {
        "fetch": imported("--store", str(tmp_path / "b"), "fetch"),
        "clone": imported("clone", shared, str(tmp_path / "c")),
    }
    rare = {
        "scopes.sync.push", "scopes.sync.pull", "scopes.sync.bundles", "scopes.conversation.new_rename_delete", "scopes.purge.derived",
        "scopes.purge.links", "scopes.sync.edit_remotes",
        "scopes.sync.grown_tips", "scopes.sync.remote_projects", "scopes.sync.source_check",
    }  # fmt: skip
    assert all("scopes.sync.format_check" in each for each in modules.values())
    assert {name: each & rare for name, each in modules.items()} == {"fetch": set(), "clone": set()}


def test_an_undo_takes_back_a_fetch(run, shared):
    run("clone", shared, store="b")
    run("append", "conv-001", "--as", "carol", "more")
    run("push", "conv-001")
    run("fetch", store="b")
    assert "fetch 1 conversation from origin" in run("operations", "-a", store="b").stdout
    run("undo", store="b")
    assert "more" not in run("log", "conv-001", store="b").stdout


def test_diverged_branches_are_noted_and_pulled(run, shared):
    run("clone", shared, store="b")
    run("append", "conv-001", "--as", "carol", "one")
    run("append", "conv-001", "--as", "dave", "two", store="b")
    run("push", "conv-001")
    assert "merge it: scopes merge conv-001 origin/main --target main" in run("fetch", store="b").stderr
    assert "1 ahead of and 1 behind origin/main" in run("show", "conv-001", store="b").stdout
    assert "left as they are: main" in run("push", "--all", store="b", code=1).stdout
    assert run("pull", store="b").stdout.split("\t")[:3] == ["conv-001/main", "merged", "origin/main"]
    run("push", "--all", store="b")


def test_the_hint_about_a_diverged_branch_can_be_followed(run, shared):
    run("clone", shared, store="b")
    run("append", "conv-001", "--as", "carol", "one")
    run("append", "conv-001", "--as", "dave", "two", store="b")
    run("push", "conv-001")
    hint = run("fetch", store="b").stderr.partition("merge it: scopes ")[2].splitlines()[0]
    run(*hint.split(), store="b")
    assert "one" in run("log", "conv-001", store="b").stdout


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("push", "other"), 2, "nothing was chosen to push"),
        (("push", "conv-001", "--all"), 2, "cannot be named together"),
        (("push", "conv-009"), 4, "conv-009"),
        (("push", "x", "conv-001"), 4, "there is no conversation 'x'"),
        (("fetch", "conv-009"), 4, "conv-009"),
        (("remote", "add", "x", "ext::sh -c true"), 2, "run a program"),
        (("remote", "add", "-x", "/a"), 2, ""),
        (("remote", "remove", "x"), 4, "there is no remote 'x'"),
        (("clone", "https://carol:hunter2@host/x", "d"), 2, "contains a password"),
        (("clone", "missing.git", "d"), 4, "there is no directory"),
    ],
)
def test_mistakes_have_a_text_and_an_exit_code(run, shared, words, code, text):
    run("remote", "add", "other", "/srv/other.git")
    done = run(*words, code=code)
    assert text in done.stderr
    assert "hunter2" not in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_remote_the_hint_says_how_to_add_one(run):
    run("new")
    assert "scopes remote add origin ADDRESS" in run("push", "--all", code=4).stderr


def test_a_remote_that_does_not_answer_is_added_with_a_note(run):
    assert "host.invalid" in run("remote", "add", "origin", "https://host.invalid/talks.git").stderr
    assert run("remote", "list").stdout == "origin\t0\thttps://host.invalid/talks.git\n"
    run("remote", "remove", "origin")
    assert "has no remote" in run("remote", "list").stderr


def test_a_push_is_previewed_and_then_done_without_a_choice(run, shared):
    run("append", "conv-001", "--as", "carol", "more")
    preview = run("push", "--dry-run")
    assert preview.stdout == "conv-001\tupdated\t1\t1\t\n"
    assert "nothing was sent to origin: this was a dry run" in preview.stderr
    assert json.loads(run("push", "--dry-run", "--json").stdout)["dry_run"] is True
    assert run("push").stdout == preview.stdout
    assert "dry_run" not in json.loads(run("push", "--json").stdout)


def test_with_several_remotes_and_no_default_an_error_names_them_and_the_command(run, shared):
    run("remote", "rename", "origin", "team")
    run("remote", "add", "usb", "/srv/usb.git")
    run("remote", "add", "web", "/srv/web.git")
    assert run("push").stderr == "note: team had everything of 1 conversation\n"
    run("remote", "remove", "team")
    refused = run("push", "--all", code=5).stderr
    assert "remotes: usb, web" in refused
    words = refused.partition("or for good: scopes ")[2].partition(";")[0].replace("NAME", "usb").split()
    run(*words)
    assert run("push", "--all", "--dry-run").stdout == "conv-001\tnew\t1\t1\t\n"


def test_a_remote_is_renamed_and_moved(run, shared, bare):
    assert run("remote", "rename", "origin", "team").stdout == "team\n"
    assert run("remote", "set-url", "team", bare).stdout == "team\n"
    assert run("remote", "set-url", "team", "--name", "ours").stdout == "ours\n"
    assert run("remote").stdout == f"ours\t1\t{bare}\n"
    assert run("remote", "remove", "ours", "--dry-run").stdout == "ours\n"
    assert run("remote").stdout == f"ours\t1\t{bare}\n"


@pytest.mark.slow
def test_a_project_and_a_time_choose_conversations(run, bare, tmp_path):
    project = tmp_path / "shop"
    project.mkdir()
    run("new", "In the shop", "--project", str(project))
    run("new", "Elsewhere", "--project", str(tmp_path / "other"))
    run("remote", "add", "origin", bare)
    assert run("push", "--project", str(project)).stdout.startswith("conv-001\tnew")
    assert run("push", "--since", "1 day ago").stdout.startswith("conv-002\tnew")


def test_a_secret_is_not_pushed(run, shared):
    kind, secret = KINDS[1]
    run("append", "conv-001", "--as", "carol", f"use {secret}")
    done = run("push", "conv-001", code=1)
    assert "refused" in done.stdout
    assert "github-token" in done.stdout
    assert "scopes secrets allow ID" in done.stderr
    assert leaked_parts(kind, secret, done.stdout + done.stderr) == []
    assert json.loads(run("push", "conv-001", "--json", code=1).stdout)["conversations"][0]["status"] == "refused"


def test_the_id_in_a_refusal_is_the_one_to_allow(run, shared):
    run("append", "conv-001", "--as", "carol", f"use {KINDS[1][1]}")
    refused = run("push", "conv-001", code=1).stdout
    run("secrets", "allow", refused.partition("github-token (")[2][:8])
    assert run("push", "conv-001").stdout == "conv-001\tupdated\t1\t1\t\n"


def test_secrets_are_pushed_this_time(run, shared):
    run("append", "conv-001", "--as", "carol", f"use {KINDS[1][1]}")
    assert run("push", "conv-001", "--secrets", "allow").stdout == "conv-001\tupdated\t1\t1\t\n"
    run("append", "conv-001", "--as", "carol", f"and {KINDS[10][1]}")
    assert "stripe-key" in run("push", "conv-001", code=1).stdout


def test_remotes_are_completed(run, shared, tmp_path):
    for words in (("push", "or"), ("remote", "remove", "")):
        done = scopes("__complete", "--", "--store", str(tmp_path / "a"), *words, table=PRODUCT)
        assert done.stdout == f"origin\t{shared}\n"


def test_a_damaged_list_of_remotes_completes_to_nothing(run, shared, tmp_path):
    (tmp_path / "a" / "remotes.json").write_text("{")
    done = scopes("__complete", "--", "--store", str(tmp_path / "a"), "push", "", table=PRODUCT)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_conversation_of_a_remote_is_listed_and_fetched_by_its_root(run, shared):
    root, conversation, title, messages, *_ = list_there(run, shared).rstrip().split("\t")
    assert (conversation, title, messages) == ("", "Login", "1")
    assert "origin has 1 conversation" in run("list", store="b").stderr
    run("log", root[:12], store="b", code=4)
    run("fetch", root[:12], store="b")
    assert "hello" in run("log", "conv-001", store="b").stdout
    assert run("fetch", "--list", store="b").stdout.split("\t")[1] == "conv-001"


def test_titles_of_remotes_are_searched(run, shared):
    run("fetch", "--list")
    found = json.loads(run("search", "log", "--remote", "origin", "--json").stdout)["conversations"]
    assert [(row["title"], row["conversation"]) for row in found] == [("Login", "conv-001")]
    run("search", "cash", "--remote", "origin", code=1)


def test_a_search_on_a_remote_takes_no_other_condition(run, shared):
    assert "leave the other options out" in run("search", "x", "--remote", "origin", "--regex", code=2).stderr


def test_a_conversation_is_deleted_from_the_remote(run, shared):
    asked = run("push", "--delete", "conv-001", code=1)
    assert "delete conv-001 from origin? Those who have fetched it keep it." in asked.stderr
    assert run("push", "--delete", "conv-001", "--yes").stdout == "conv-001\tdeleted\t\n"
    assert "has no conversation yet" in run("clone", shared, "b").stderr
    assert "scopes push conv-001" in run("push", "--all").stderr
    assert json.loads(run("push", "conv-001", "--json").stdout)["conversations"][0]["status"] == "new"


def test_a_dry_run_of_a_deletion_asks_nothing_and_deletes_nothing(run, shared):
    done = run("push", "--delete", "conv-001", "--dry-run", "--yes")
    assert done.stdout == "conv-001\tdeleted\t\n"
    assert "nothing was deleted from origin: this was a dry run" in done.stderr
    assert json.loads(run("push", "--delete", "conv-001", "--dry-run", "--json").stdout)["dry_run"] is True
    assert run("push", "--delete", "conv-001", "--yes").stdout == "conv-001\tdeleted\t\n"  # it is there still


def test_the_hint_of_delete_can_be_followed(run, shared):
    hint = run("delete", "conv-001", "--yes").stderr.partition("scopes push ")[2].splitlines()[0]
    assert run("push", *hint.split(), "--yes").stdout == "conv-001\tdeleted\t\n"
    document = json.loads(run("push", *hint.split(), "--yes", "--json").stdout)
    assert (document["kind"], document["names"][0]["status"]) == ("deleted-on-remote", "absent")


@pytest.mark.parametrize(
    ("words", "text"), [((), "nothing was named to delete"), (("conv-001", "--force"), "cannot be combined")]
)
def test_a_deletion_from_a_remote_needs_names_alone(run, shared, words, text):
    assert text in run("push", "--delete", "--yes", *words, code=2).stderr


def test_a_list_of_a_remote_has_fields_and_templates_as_a_list_has(run, shared):
    run("remote", "add", "origin", shared, store="b")
    lines = ("fetch", "--list")
    assert run(*lines, "--format", r"{title}\t{messages}\t{branches}", store="b").stdout == "Login\t1\t1\n"
    assert run(*lines, "--format", "{messages} {title}", store="b").stdout == "1 Login\n"
    assert run("search", "login", "--remote", "origin", "--format", "{title}", store="b").stdout == "Login\n"
    root = run(*lines, "--format", "{root}", store="b").stdout.strip()
    run("fetch", root[:12], store="b")
    (row,) = json.loads(run(*lines, "--json=root,id", store="b").stdout)["conversations"]
    assert row == {"root": root, "id": "conv-001"}


def test_a_store_of_manifests_gets_nothing_without_a_choice(run, shared):
    run("remote", "add", "origin", shared, store="b")
    run("config", "scopes.fetchManifests", "true", store="b")
    for words in (("fetch",), ("pull",)):
        done = run(*words, store="b")
        assert (done.stdout, "only manifests were fetched" in done.stderr) == ("", True)
    assert run("list", store="b").stdout == ""
    assert run("fetch", "--project", "all", store="b").stdout.startswith("conv-001\tnew")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("push", "origin"), "origin had everything of 1 conversation"),
        (("push", "origin", "conv-001"), "origin had everything of 1 conversation"),
        (("fetch", "origin"), "nothing is new on origin"),
        (("pull", "origin"), "nothing is new on origin"),
    ],
)
@pytest.mark.every_case("each is a habit of its own")
def test_what_git_expects_is_done(run, shared, words, text):
    assert text in run(*words).stderr


def test_a_push_with_u_makes_a_remote_the_default(run, shared):
    run("remote", "add", "usb", "/srv/usb.git")
    run("push", "-u", "origin")
    assert run("config", "scopes.defaultRemote").stdout == "origin\n"


@pytest.mark.parametrize("words", [(), ("-v",)])
def test_remote_alone_lists_the_remotes(run, shared, words):
    assert run("remote", *words).stdout == run("remote", "list").stdout == f"origin\t1\t{shared}\n"


def test_help_of_remote_is_the_overview(run):
    assert "Change the address or the name of a remote" in run("remote", "--help").stdout


def test_a_branch_is_deleted_there_as_git_words_it(run, shared, bare):
    run("switch", "-c", "conv-001", "fix")
    run("switch", "-c", "conv-001", "try")
    run("push")
    for words in (("push", "origin", "--delete", "conv-001/fix"), ("push", "--delete", "origin", "conv-001/fix")):
        assert "delete conv-001/fix from origin?" in run(*words, code=1).stderr
    assert "name both: scopes push --delete conv-001/fix" in run("push", "--delete", "fix", code=4).stderr
    done = run("push", "origin", "--delete", "conv-001/fix", "conv-001/try", "--yes")
    assert done.stdout == "conv-001/fix\tdeleted\t\nconv-001/try\tdeleted\t\n"


def test_a_conversation_with_the_name_of_a_remote_is_meant_by_that_name(run, shared):
    run("new", "--id", "origin")
    run("append", "origin", "--as", "carol", "hello")
    assert run("push", "origin").stdout.startswith("origin\tnew")
    assert run("push", "origin", "--delete", "origin", "--yes").stdout == "origin\tdeleted\t\n"
