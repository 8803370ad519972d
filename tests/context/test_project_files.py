"""What a recorded path may lead to: files of the project that are not secret, not ignored, and nothing else (R6)."""

from __future__ import annotations

import os
import threading
import time

import pytest

from scopes.context import project_files
from scopes.context.secret_files import may_hold_secrets
from scopes.conversation.new_rename_delete import new
from tests.context.building import built, put
from tests.support.history import say


def embed(repository, exact, tmp_path, *names, **options):
    """Build a context of a message that touched files; return the embedded paths, and the reason for each skipped one."""
    new(repository)
    say(repository, "conv-001", "look", files=[{"path": name, "op": "edit"} for name in names])
    return paths(built(repository, exact, tmp_path, **options))


def paths(result):
    return [file.path for file in result.files_embedded], {file.path: file.reason for file in result.files_skipped}


@pytest.mark.parametrize(
    "name",
    [
        "AuthKey_AB12CD34EF.p8", ".my.cnf", "office.ovpn", "wg0.conf", "gcp-key.json", "sa.json", "kube.config", "env", "keys.txt",
        "server.key.txt", "appsettings.Production.json", "ENV", "Keys.TXT", "deploy-sa.json", "prod.kube.config", ".SSH/config",
        "api_keys.yaml", "backup.kdbx", "private.asc", "terraform.tfvars", "_netrc", "rclone.conf", "wp-config.php",
    ],
)  # fmt: skip
def test_names_of_more_secret_files_are_recognized(name):
    assert may_hold_secrets(f"deploy/{name}")


@pytest.mark.parametrize(
    "name",
    [
        "keys.py",
        "env.ts",
        "sa.py",
        "kube.py",
        "hotkeys.json",
        "environment.py",
        "appsettings.py",
        "wg0.py",
        "envelope",
        "env/a.py",
    ],
)
def test_names_of_code_about_keys_and_environments_are_not_secret(name):
    assert not may_hold_secrets(f"src/{name}")


@pytest.mark.parametrize("directory", [".GIT", ".Git", ".g\u200cit", ".git ", "GIT~1", "sub/.GIT"])
def test_the_git_directory_is_recognized_as_disks_may_spell_it(repository, exact, tmp_path, directory):
    put(tmp_path, f"{directory}/config", "hush")
    name = f"{directory}/config"
    assert embed(repository, exact, tmp_path, name) == ([], {name: "outside the project"})


def test_a_hard_link_is_not_read(repository, exact, tmp_path):
    """It may be another name of a file outside, and nothing tells which."""
    (tmp_path / "outside").write_text("hush")
    put(tmp_path, "real.py", "code")
    os.link(tmp_path / "outside", tmp_path / "project" / "linked.py")
    embedded, skipped = embed(repository, exact, tmp_path, "linked.py", "real.py")
    assert (embedded, skipped) == (
        ["real.py"],
        {"linked.py": "has another hard link, which may be outside the project"},
    )


def test_a_link_in_the_middle_of_a_path_does_not_lead_outside(repository, exact, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.py").write_text("hush")
    put(tmp_path, "real.py", "code")
    os.symlink(tmp_path / "outside", tmp_path / "project" / "linked")
    assert embed(repository, exact, tmp_path, "linked/a.py") == ([], {"linked/a.py": "outside the project"})


def test_a_directory_that_becomes_a_link_after_the_check_is_not_followed(repository, exact, tmp_path, monkeypatch):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.py").write_text("hush")
    put(tmp_path, "sub/a.py", "code")
    resolve = project_files.resolve

    def resolve_and_swap(path, project):
        relative = resolve(path, project)
        if not (tmp_path / "project" / "sub").is_symlink():
            os.rename(tmp_path / "project" / "sub", tmp_path / "project" / "before")
            os.symlink(tmp_path / "outside", tmp_path / "project" / "sub")
        return relative

    monkeypatch.setattr(project_files, "resolve", resolve_and_swap)
    embedded, skipped = embed(repository, exact, tmp_path, "sub/a.py")
    assert embedded == []
    assert list(skipped) == ["sub/a.py"]


def test_a_pipe_is_not_opened(repository, exact, tmp_path):
    """Opening it would let a waiting writer go on."""
    put(tmp_path, "real.py", "code")
    pipe = tmp_path / "project" / "pipe"
    os.mkfifo(pipe)
    opened = threading.Event()

    def write():
        with open(pipe, "wb"):
            opened.set()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    assert embed(repository, exact, tmp_path, "pipe") == ([], {"pipe": "not a regular file"})
    assert not opened.wait(0.2)
    os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
    writer.join(10)


def git_project(tmp_path, rules):
    put(tmp_path, ".git/HEAD", "ref: refs/heads/main\n")
    put(tmp_path, ".gitignore", rules)
    for name in ("a.py", "a.log", "build/a.py", "sub/b.py"):
        put(tmp_path, name, f"content of {name}")


def test_files_that_git_ignores_are_left_out_unless_asked_for(repository, exact, tmp_path):
    git_project(tmp_path, "*.log\nbuild/\n")
    put(tmp_path, "sub/.gitignore", "b.py\n")
    put(tmp_path, ".git/info/exclude", "# local\nprivate.py\n")
    put(tmp_path, "private.py", "x")
    names = ("a.py", "a.log", "build/a.py", "sub/b.py", "private.py")
    ignored = dict.fromkeys(names[1:], "ignored by git")
    assert embed(repository, exact, tmp_path, *names) == (["a.py"], ignored)
    assert paths(built(repository, exact, tmp_path, include_ignored=True)) == (list(names), {})


def test_without_a_repository_nothing_is_ignored(repository, exact, tmp_path):
    put(tmp_path, ".gitignore", "a.log\n")
    put(tmp_path, "a.log", "x")
    assert embed(repository, exact, tmp_path, "a.log") == (["a.log"], {})


def test_a_change_of_the_rules_is_seen_in_spite_of_the_cache(repository, exact, tmp_path):
    git_project(tmp_path, "*.log\n")
    assert embed(repository, exact, tmp_path, "a.py", "a.log")[0] == ["a.py"]
    put(tmp_path, ".gitignore", "*.py\n*.none")
    assert paths(built(repository, exact, tmp_path))[0] == ["a.log"]


def test_the_configuration_of_the_project_is_not_read(repository, exact, tmp_path):
    """R1: it can include any file, and name any file with rules."""
    git_project(tmp_path, "")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    put(tmp_path, ".git/config", f"[include]\n\tpath = {pipe}\n[core]\n\texcludesFile = {pipe}\n")
    assert embed(repository, exact, tmp_path, "a.py") == (["a.py"], {})


def test_a_pipe_in_place_of_rules_keeps_nobody_waiting(repository, exact, tmp_path):
    """The file is left out, because git may ignore it."""
    git_project(tmp_path, "")
    os.unlink(tmp_path / "project" / ".gitignore")
    os.mkfifo(tmp_path / "project" / ".gitignore")
    before = time.monotonic()
    embedded, skipped = embed(repository, exact, tmp_path, "a.py")
    assert (embedded, skipped) == ([], {"a.py": "git may ignore it: the rules for that cannot be read"})
    assert time.monotonic() - before < 20
