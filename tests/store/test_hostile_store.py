"""A store that another person made runs no program and reaches no file outside itself (P14, I-72).

Git runs what a repository's configuration and hooks name. The tests run the newest git that is on the machine, because
new versions add keys; see `tests.support.newest_git`.
"""

from __future__ import annotations

import os
import stat
import subprocess

import pytest

from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import new
from scopes.conversation.store import gc
from scopes.conversation.verify import verify
from scopes.history.messages import plain_message
from scopes.store import maintenance
from scopes.store.config import Setting
from scopes.store.maintenance import pack_when_needed
from scopes.store.objects import BLOB
from tests.support.newest_git import NEWEST_GIT
from tests.support.store import FAST, make_store, open_store, write_bytes

EAGER = FAST | {"scopes.packThreshold": Setting("scopes.packThreshold", "1", "flag")}
COMMAND = "command"  # a value that is replaced with a command
HOOKS_DIRECTORY = "hooks directory"
HOOKS = (
    "reference-transaction", "pre-auto-gc", "post-rewrite", "post-index-change", "fsmonitor-watchman", "pre-commit",
    "update", "post-update", "pre-receive", "post-receive", "proc-receive", "pre-push", "post-checkout", "post-merge",
)  # fmt: skip
# Every key of git's documentation that names a program, or that makes git run one or read another place.
KEYS = (
    ("core.fsmonitor", COMMAND),
    ("core.hooksPath", HOOKS_DIRECTORY),
    ("core.sshCommand", COMMAND),
    ("core.askPass", COMMAND),
    ("core.editor", COMMAND),
    ("core.pager", COMMAND),
    ("core.alternateRefsCommand", COMMAND),
    ("core.gitProxy", COMMAND),
    ("sequence.editor", COMMAND),
    ("credential.helper", f"!{COMMAND}"),
    ("credential.https://example.org.helper", f"!{COMMAND}"),
    ("gc.recentObjectsHook", COMMAND),
    ("uploadpack.packObjectsHook", COMMAND),
    ("filter.x.clean", COMMAND),
    ("filter.x.smudge", COMMAND),
    ("filter.x.process", COMMAND),
    ("filter.x.required", "true"),
    ("diff.external", COMMAND),
    ("diff.x.command", COMMAND),
    ("diff.x.textconv", COMMAND),
    ("merge.x.driver", COMMAND),
    ("mergetool.x.cmd", COMMAND),
    ("mergetool.x.path", COMMAND),
    ("difftool.x.cmd", COMMAND),
    ("interactive.diffFilter", COMMAND),
    ("gpg.program", COMMAND),
    ("gpg.openpgp.program", COMMAND),
    ("gpg.ssh.program", COMMAND),
    ("gpg.x509.program", COMMAND),
    ("gpg.ssh.defaultKeyCommand", COMMAND),
    ("log.showSignature", "true"),
    ("receive.procReceiveRefs", "refs"),
    ("remote.origin.url", "ext::" + COMMAND),
    ("remote.origin.promisor", "true"),
    ("remote.origin.partialCloneFilter", "blob:none"),
    ("remote.origin.uploadpack", COMMAND),
    ("remote.origin.receivepack", COMMAND),
    ("remote.origin.vcs", "ext"),
    ("remote.origin.proxy", "ext::" + COMMAND),
    ("protocol.allow", "always"),
    ("protocol.ext.allow", "always"),
    ("http.proxy", "ext::" + COMMAND),
    ("url.ext::command.insteadOf", "https:"),
    ("trailer.x.command", COMMAND),
    ("trailer.x.cmd", COMMAND),
    ("trailer.x.key", "Scopes-Message"),
    ("pager.gc", COMMAND),
    ("pager.repack", COMMAND),
    ("alias.gc", f"!{COMMAND}"),
    ("alias.repack", f"!{COMMAND}"),
    ("alias.commit-graph", f"!{COMMAND}"),
    ("hook.x.command", COMMAND),
    ("hook.x.event", "reference-transaction"),
    ("hook.x.enabled", "true"),
    ("maintenance.auto", "true"),
    ("maintenance.strategy", "incremental"),
    ("maintenance.prefetch.enabled", "true"),
    ("gc.auto", "1"),
    ("gc.pruneExpire", "now"),
    ("submodule.x.update", f"!{COMMAND}"),
    ("sendemail.sendmailCmd", COMMAND),
    ("tar.x.command", COMMAND),
    ("browser.x.cmd", COMMAND),
    ("man.x.cmd", COMMAND),
    ("guitool.x.cmd", COMMAND),
    ("imap.tunnel", COMMAND),
    ("instaweb.httpd", COMMAND),
    ("init.templateDir", HOOKS_DIRECTORY),
    ("scopes.packThreshold", "1"),
    ("scopes.pager", COMMAND),
    ("scopes.summarizer", COMMAND),
)


class HostileStore:
    """A store with messages and every attack that a test asks for; all of them would create files in `marks`."""

    def __init__(self, folder):
        self.folder = folder
        self.path = str(folder / "store.git")
        self.config = os.path.join(self.path, "config")
        self.marks = folder / "marks"
        self.marks.mkdir()
        repository = make_store(self.path)
        new(repository, participants=["carol"])
        for number in range(3):
            append(repository, "conv-001", plain_message("carol", f"message {number}"))
        unreachable = repository.write(BLOB, b"git asks gc.recentObjectsHook about old unreachable objects")
        os.utime(os.path.join(self.path, "objects", unreachable[:2], unreachable[2:]), (0, 0))

    def command(self, name):
        """Return a command that leaves a mark; it succeeds and reads nothing."""
        return f"touch {self.marks}/{name};"

    def write_hooks(self, directory):
        for name in HOOKS:
            path = os.path.join(directory, name)
            write_bytes(path, f"#!/bin/sh\n{self.command('hook-' + name)}\n".encode())
            os.chmod(path, stat.S_IRWXU)
        return directory

    def set_keys(self, keys):
        """Set keys of the store's configuration."""
        for number, (key, value) in enumerate(keys):
            text = value.replace(COMMAND, self.command(f"{number}-{key.replace('/', '_')}"))
            if value == HOOKS_DIRECTORY:
                text = self.write_hooks(str(self.folder / "hooks"))
            set_key(self.config, key, text)

    def use(self):
        """Do everything that could start git; errors are allowed, programs are not."""
        for act in (append_and_pack, gc, lambda repository: gc(repository, expire_before="now"), verify):
            act(open_store(self.path, EAGER))

    def left_marks(self):
        return sorted(os.listdir(self.marks))


def set_key(path, key, value):
    subprocess.run(["git", "config", "--file", path, "--add", key, value], check=True)


def append_and_pack(repository):
    append(repository, "conv-001", plain_message("carol", "one more"))
    pack_when_needed(repository)


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """A store, with the newest git first on PATH, and packed as soon as there is one loose object."""
    print("git", ".".join(map(str, NEWEST_GIT.version)))
    monkeypatch.setenv("PATH", NEWEST_GIT.directory + os.pathsep + os.environ["PATH"])
    monkeypatch.setattr(maintenance, "estimate_loose_objects", lambda repository: 10**6)
    return HostileStore(tmp_path)


# Configuration


def test_no_key_of_the_stores_configuration_runs_a_program(hostile):
    """P14: git never reads the configuration of a store, not even of one that this user owns."""
    hostile.set_keys(KEYS)
    hostile.write_hooks(os.path.join(hostile.path, "hooks"))
    hostile.use()
    assert hostile.left_marks() == []


@pytest.mark.sweep
@pytest.mark.parametrize("row", KEYS, ids=lambda row: row[0])
def test_no_single_key_runs_a_program(hostile, row):
    """P14: one key at a time, so that none hides another."""
    hostile.set_keys([row])
    hostile.use()
    assert hostile.left_marks() == []


@pytest.mark.parametrize(
    ("prefix", "since"),
    [("core.hooksPath", ()), ("gc.recentObjectsHook", (2, 41)), ("hook.", (2, 54))],
)
def test_plain_git_would_run_the_programs(hostile, prefix, since):
    """Otherwise the tests above would prove nothing."""
    hostile.set_keys([row for row in KEYS if row[0].startswith(prefix)])
    subprocess.run(["git", f"--git-dir={hostile.path}", "gc", "--quiet"], check=False, capture_output=True)
    assert bool(hostile.left_marks()) == (NEWEST_GIT.version >= since)


# Files that are not configuration


def test_no_hook_of_the_store_runs(hostile):
    hostile.write_hooks(os.path.join(hostile.path, "hooks"))
    hostile.use()
    assert hostile.left_marks() == []


def test_attributes_of_the_store_run_no_filter(hostile):
    hostile.set_keys([row for row in KEYS if row[0].startswith(("filter.", "diff.", "merge."))])
    write_bytes(os.path.join(hostile.path, "info", "attributes"), b"* filter=x diff=x merge=x\n")
    hostile.use()
    assert hostile.left_marks() == []


@pytest.mark.parametrize("kind", ["directory", "file"])
def test_a_repository_inside_the_store_is_not_opened_instead(hostile, kind):
    """libgit2 prefers `.git` inside the path that it opens."""
    other = hostile.folder / "elsewhere.git"
    subprocess.run(["git", "init", "-q", "--bare", str(other)], check=True)
    inside = os.path.join(hostile.path, ".git")
    if kind == "directory":
        os.rename(other, inside)
    else:
        write_bytes(inside, f"gitdir: {other}\n".encode())
    assert len(open_store(hostile.path).list_refs("refs/heads/")) == 1
    hostile.use()


def test_a_gitdir_file_changes_nothing(hostile):
    write_bytes(os.path.join(hostile.path, "gitdir"), f"{hostile.folder}/elsewhere\n".encode())
    hostile.use()


def test_git_leaves_no_private_directory_behind(hostile):
    hostile.use()
    assert [name for name in os.listdir(hostile.path) if name.startswith("scopes-git-")] == []
