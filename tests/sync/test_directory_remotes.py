"""A push to a directory runs nothing that the directory names, although git serves it as this user."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress

import pytest

from scopes.errors import Inaccessible, NotFound
from scopes.sync.addresses import parse_address
from scopes.sync.change_remotes import add_remote
from scopes.sync.special_files import require_no_special_files
from scopes.sync.wrong_remotes import note_hooks
from tests.support.git_servers import write_sentinel
from tests.support.history import say
from tests.support.recalled import recalled
from tests.support.remotes import add, clone_to, connection, fetch_from, make_bare, push_to
from tests.support.store import git
from tests.support.worktrees import Project

HOOKS = (
    "pre-receive", "update", "post-receive", "post-update", "reference-transaction", "proc-receive", "push-to-checkout",
    "pre-push", "post-checkout", "pre-auto-gc",
)  # fmt: skip
PROGRAMS = {
    "core.fsmonitor": "{}", "core.alternateRefsCommand": "{}", "uploadpack.packObjectsHook": "{}",
    "gc.recentObjectsHook": "{}", "core.sshCommand": "{}", "core.pager": "{}", "core.editor": "{}",
    "diff.external": "{}", "credential.helper": "{}", "core.gitProxy": "{}", "core.askPass": "{}",
    "receive.procReceiveRefs": "refs", "core.hooksPath": "{}-hooks",
}  # fmt: skip


@pytest.fixture
@recalled
def sentinel(bare, tmp_path):
    """Let the bare repository name a program wherever git knows one; return the file that it would write."""
    written = tmp_path / "written"
    program = write_sentinel(tmp_path / "program", written)
    for directory in (os.path.join(bare, "hooks"), f"{program}-hooks"):
        os.makedirs(directory, exist_ok=True)
        for name in HOOKS:
            write_sentinel(os.path.join(directory, name), written)
    for key, value in PROGRAMS.items():
        git(bare, "config", key, value.format(program))
    git(bare, "config", "receive.autogc", "true")
    git(bare, "config", "gc.auto", "1")
    return written


def test_no_hook_and_no_program_of_a_directory_runs(ours, bare, sentinel, tmp_path):
    push_to(ours)
    say(ours, "conv-001/main", "news")
    push_to(ours)
    clone_to(tmp_path / "other", bare)
    fetch_from(ours)
    assert not sentinel.exists()


def test_no_hook_of_the_configuration_runs(ours, bare, tmp_path):
    """Git has these since 2.54. `hook.update.command` makes a name of an event one of a hook, which no switch ends."""
    written = tmp_path / "written"
    program = write_sentinel(tmp_path / "program", written)
    for name in HOOKS:
        git(bare, "config", f"hook.h-{name}.event", name)
        git(bare, "config", f"hook.h-{name}.command", program)
        git(bare, "config", f"hook.{name}.command", program)
    push_to(ours)
    add_remote(ours, "again", parse_address(bare), connection())
    push_to(ours, remote="again")
    fetch_from(ours)
    assert not written.exists()


def test_no_filter_of_a_working_tree_runs(ours, tmp_path):
    """`updateInstead` lets a push check out what it brings, if HEAD there names the ref of a conversation."""
    written = tmp_path / "written"
    program = write_sentinel(tmp_path / "program", written)
    code = Project(tmp_path / "code")
    add(ours, code.directory, "code")
    push_to(ours, remote="code")
    (ref,) = [line for line in code.git("for-each-ref", "--format=%(refname)").split() if "/c/" in line]
    code.write(".git/HEAD", f"ref: {ref}\n")
    code.git("reset", "-q", "--hard")
    code.write(".git/info/attributes", "* filter=x\n")
    code.git("config", "receive.denyCurrentBranch", "updateInstead")
    for each in ("clean", "smudge"):
        code.git("config", f"filter.x.{each}", program)
    say(ours, "conv-001/main", "news")
    assert [row.status for row in push_to(ours, remote="code").conversations] == ["updated"]
    assert not written.exists()


@pytest.mark.parametrize("place", ["refs/scopes", "logs/refs/scopes/v1/probe", "objects/ab", "packed-refs"])
def test_a_link_by_which_git_would_write_elsewhere_is_refused(ours, bare, tmp_path, place):
    """Git follows a link in `refs`, and one in `logs` when the configuration asks for a log of every ref."""
    outside = tmp_path / "outside"
    outside.mkdir()
    git(bare, "config", "core.logAllRefUpdates", "always")
    os.makedirs(os.path.dirname(os.path.join(bare, place)), exist_ok=True)
    os.symlink(outside, os.path.join(bare, place))
    with pytest.raises(Inaccessible, match="is a symbolic link out of the repository"):
        add_remote(ours, "again", parse_address(bare), connection())
    assert not os.listdir(outside)


def test_refs_are_kept_nowhere_else_by_the_configuration(ours, bare, tmp_path):
    """Git since 2.54 takes the address of a directory as the storage of refs."""
    git(bare, "config", "core.repositoryFormatVersion", "1")
    with open(os.path.join(bare, "config"), "a", encoding="utf-8") as file:
        file.write(f"[extensions]\n\trefStorage = files://{tmp_path}/elsewhere\n")
    with pytest.raises(Inaccessible, match=r"extensions\.refstorage = files:.*, an unknown extension"):
        push_to(ours)


def test_a_configuration_that_git_cannot_read_is_refused_and_a_long_one_takes_no_time(ours, bare):
    config = os.path.join(bare, "config")
    with open(config, "a", encoding="latin-1") as file:
        file.writelines(f"[transfer]\n\thideRefs = refs/hidden/\xe9{number}\n" for number in range(10_000))
    assert push_to(ours).exit_code == 0
    with open(config, "a", encoding="utf-8") as file:
        file.write("[broken\n")
    with pytest.raises(Inaccessible, match=r"cannot read .*/config: .*bad config line"):
        push_to(ours)
    with open(config, "a", encoding="utf-8") as file:
        file.write("#" * (1 << 20))
    with pytest.raises(Inaccessible, match="config is larger than 1 MiB"):
        push_to(ours)


def test_the_rules_of_the_owner_are_obeyed_as_they_are_written(ours, bare):
    git(bare, "config", "transfer.hideRefs", 'refs/a "quoted"\\ name')
    git(bare, "config", "receive.fsck.missingEmail", "ignore")
    git(bare, "config", "receive.maxInputSize", "10")
    assert push_to(ours).exit_code != 0
    git(bare, "config", "receive.maxInputSize", "100m")
    assert push_to(ours).exit_code == 0


@pytest.mark.parametrize("is_linked", [False, True])
def test_a_working_tree_is_a_remote_also_a_linked_one(ours, tmp_path, is_linked):
    code = Project(tmp_path / "code")
    code.git("commit", "-q", "--allow-empty", "-m", "first")
    if is_linked:
        code.git("worktree", "add", "-q", str(tmp_path / "linked"))
    add(ours, str(tmp_path / "linked") if is_linked else code.directory, "code")
    assert push_to(ours, remote="code").exit_code == 0
    assert "refs/scopes/v1/c/" in code.git("for-each-ref")


def test_plain_git_runs_a_hook_of_such_a_directory(ours, bare, sentinel):
    with suppress(AssertionError):  # a hook that says nothing refuses the push
        git(ours, "push", "-q", bare, "refs/heads/conv-001/main:refs/heads/x")
    assert sentinel.exists()


def test_nothing_that_the_store_names_runs_either(ours, sentinel, tmp_path):
    program = str(tmp_path / "program")
    for name in HOOKS:
        write_sentinel(os.path.join(ours.path, "hooks", name), sentinel)
    for key, value in PROGRAMS.items():
        git(ours, "config", key, value.format(program))
    push_to(ours)
    fetch_from(ours)
    assert not sentinel.exists()


def test_a_push_and_a_new_remote_note_the_hooks_that_do_not_run(ours, bare, sentinel):
    text = f"the hooks of {bare} do not run, because they would run as you: post-checkout, post-receive, post-update, "
    git(bare, "config", "--unset", "receive.procReceiveRefs")  # with it git refuses the push
    assert push_to(ours).notes[-1].text.startswith(text)
    assert push_to(ours).notes == ()
    added = add_remote(ours, "again", parse_address(bare), connection(), probe=False)
    assert added.notes[-1].hint == "to run them, share over ssh or https"
    assert not sentinel.exists()


def test_samples_and_files_that_are_not_executable_are_no_hooks(ours, bare):
    os.makedirs(os.path.join(bare, "hooks"), exist_ok=True)
    for name, mode in (("pre-receive.sample", 0o755), ("update", 0o644)):
        path = os.path.join(bare, "hooks", name)
        with open(path, "w") as file:
            file.write("#!/bin/sh\nexit 1\n")
        os.chmod(path, mode)
    assert push_to(ours).notes == ()


def test_the_hooks_of_a_repository_with_a_working_tree_are_noted(tmp_path):
    write_hook = tmp_path / "code" / ".git" / "hooks" / "update"
    write_hook.parent.mkdir(parents=True)
    write_sentinel(write_hook, tmp_path / "written")
    assert "update" in note_hooks(parse_address(str(tmp_path / "code")))[0].text
    assert note_hooks(parse_address("git@host:code")) == ()


def test_what_a_remote_had_under_another_name_was_not_sent(ours, bare):
    push_to(ours)
    add(ours, bare, "again")
    pushed = push_to(ours, remote="again")
    assert (pushed.conversations, pushed.unchanged, pushed.exit_code) == ((), 1, 0)
    say(ours, "conv-001/main", "news")
    assert [row.status for row in push_to(ours, remote="again").conversations] == ["updated"]


def test_the_rules_of_a_directory_hold(ours, bare):
    git(bare, "config", "receive.denyDeletes", "true")
    git(bare, "config", "transfer.hideRefs", "refs/scopes")
    pushed = push_to(ours)
    assert pushed.exit_code == 1
    assert "deny updating a hidden ref" in pushed.conversations[0].reason


def test_a_shared_directory_keeps_its_permissions_and_its_reflogs(ours, bare):
    git(bare, "config", "core.sharedRepository", "0660")
    git(bare, "config", "core.logAllRefUpdates", "always")
    os.makedirs(os.path.join(bare, "logs"), exist_ok=True)
    push_to(ours)
    assert "push" in git(bare, "reflog", "show", git(bare, "for-each-ref", "--format=%(refname)").split()[0])
    (file, *_) = [file for top, _, names in os.walk(f"{bare}/objects") for file in (f"{top}/{name}" for name in names)]
    assert os.stat(file).st_mode & stat.S_IRGRP


def test_a_missing_directory_is_not_found(ours, tmp_path):
    add(ours, str(tmp_path / "missing.git"), "gone")
    with pytest.raises(NotFound, match="there is no directory"):
        push_to(ours, remote="gone")


def test_a_directory_without_a_repository_is_refused(ours, tmp_path):
    add(ours, str(tmp_path), "no-repository")
    with pytest.raises(Inaccessible, match="does not appear to be a git repository"):
        fetch_from(ours, remote="no-repository")


def test_a_directory_with_special_characters_is_no_option_and_no_command(ours, tmp_path):
    path = make_bare(tmp_path / "a 'b' $(touch x);--upload-pack=x.git")
    add(ours, path, "odd")
    assert push_to(ours, remote="odd").exit_code == 0
    assert git(path, "for-each-ref")


SPECIAL = (
    "HEAD", "config", "packed-refs", "shallow", "commondir", "info/grafts", "objects/info/alternates", "refs/heads/x",
    "refs/scopes/v1/c/x", "objects/pack/pack-0.idx", "objects/aa/x", "logs/refs/x",
)  # fmt: skip


def put_pipe(path):
    """Put a named pipe, for which nobody writes, in place of a file."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with suppress(FileNotFoundError):
        os.unlink(path)
    os.mkfifo(path)


@pytest.mark.parametrize("name", SPECIAL)
def test_a_named_pipe_in_a_directory_is_named_and_not_waited_for(ours, bare, name):
    push_to(ours)
    put_pipe(os.path.join(bare, name))
    for ask in (push_to, fetch_from, lambda store: add(store, bare, "again", probe=True)):
        with pytest.raises(Inaccessible, match="is a named pipe") as caught:
            ask(ours)
        assert os.path.join(bare, name) in caught.value.message


def test_a_named_pipe_or_device_behind_a_link_is_found_too(ours, bare, tmp_path):
    push_to(ours)
    put_pipe(str(tmp_path / "elsewhere" / "pipe"))
    os.symlink(tmp_path / "elsewhere", os.path.join(bare, "refs", "linked"))
    with pytest.raises(Inaccessible, match="refs/linked/pipe is a named pipe"):
        fetch_from(ours)
    os.unlink(os.path.join(bare, "refs", "linked"))
    os.symlink("/dev/zero", os.path.join(bare, "shallow"))
    with pytest.raises(Inaccessible, match="shallow is a named pipe or a device"):
        fetch_from(ours)


def test_links_in_a_circle_or_into_nothing_and_sockets_are_no_special_files(bare, monkeypatch):
    monkeypatch.chdir(bare)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as monitor:
        monitor.bind("fsmonitor--daemon.ipc")
    os.symlink(bare, os.path.join(bare, "refs", "circle"))
    os.symlink("nowhere", os.path.join(bare, "info", "dangling"))
    require_no_special_files(bare)


def test_in_a_working_tree_only_the_repository_is_looked_at(tmp_path):
    tree = tmp_path / "tree"
    make_bare(tree / ".git")
    os.mkfifo(tree / "pipe")
    require_no_special_files(str(tree))
    put_pipe(str(tree / ".git" / "packed-refs"))
    with pytest.raises(Inaccessible, match="packed-refs"):
        require_no_special_files(str(tree))
