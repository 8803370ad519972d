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
from scopes.conversation.gc import gc
from scopes.conversation.new import new
from scopes.conversation.verify import verify
from scopes.errors import Refused, ScopesError
from scopes.history.messages import plain_message
from scopes.store import maintenance
from scopes.store import open_repository as open_module
from scopes.store.config import Setting
from scopes.store.containment import list_program_keys
from scopes.store.git_program import run_git
from scopes.store.init import create_store
from scopes.store.maintenance import pack_when_needed
from scopes.store.objects import BLOB
from tests.support.newest_git import NEWEST_GIT
from tests.support.store import FAST, git, make_store, open_store, write_bytes

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
PLACES = (
    "config",
    "include",
    "includeIf gitdir",
    "includeIf hasconfig",
    "config.worktree",
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

    def set_keys(self, keys, place):
        """Set keys at one of the places from which git reads configuration."""
        path = {"config": self.config, "config.worktree": os.path.join(self.path, "config.worktree")}.get(
            place, str(self.folder / "included")
        )
        for number, (key, value) in enumerate(keys):
            text = value.replace(COMMAND, self.command(f"{number}-{key.replace('/', '_')}"))
            if value == HOOKS_DIRECTORY:
                text = self.write_hooks(str(self.folder / "hooks"))
            set_key(path, key, text)
        if place == "include":
            set_key(self.config, "include.path", path)
        elif place == "includeIf gitdir":
            set_key(self.config, "includeIf.gitdir:**.path", path)
        elif place == "includeIf hasconfig":
            set_key(self.config, "remote.other.url", "https://example.org/x")
            set_key(self.config, "includeIf.hasconfig:remote.*.url:https://**.path", path)
        elif place == "config.worktree":
            set_key(self.config, "core.repositoryFormatVersion", "1")
            set_key(self.config, "extensions.worktreeConfig", "true")

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


def without_checks(monkeypatch):
    """Open stores without the check, to prove that nothing runs even then."""
    monkeypatch.setattr(open_module, "check_self_contained", lambda path: None)


# Configuration


@pytest.mark.parametrize("place", PLACES)
def test_no_key_of_the_stores_configuration_runs_a_program(hostile, monkeypatch, place):
    """P14: also if the check at opening had a gap."""
    hostile.set_keys(KEYS, place)
    hostile.write_hooks(os.path.join(hostile.path, "hooks"))
    if place != "config":
        with pytest.raises(Refused):
            hostile.use()
        without_checks(monkeypatch)
    hostile.use()
    assert hostile.left_marks() == []


@pytest.mark.sweep
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("row", KEYS, ids=lambda row: row[0])
def test_no_single_key_runs_a_program(hostile, monkeypatch, row, place):
    """P14: one key at a time, so that none hides another."""
    hostile.set_keys([row], place)
    without_checks(monkeypatch)
    hostile.use()
    assert hostile.left_marks() == []


@pytest.mark.parametrize(
    ("prefix", "since"),
    [("core.hooksPath", ()), ("gc.recentObjectsHook", (2, 41)), ("hook.", (2, 54))],
)
def test_plain_git_would_run_the_programs(hostile, prefix, since):
    """Otherwise the tests above would prove nothing."""
    hostile.set_keys([row for row in KEYS if row[0].startswith(prefix)], "config")
    subprocess.run(["git", f"--git-dir={hostile.path}", "gc", "--quiet"], check=False, capture_output=True)
    assert bool(hostile.left_marks()) == (NEWEST_GIT.version >= since)


@pytest.mark.parametrize(
    ("place", "key"),
    [
        ("include", r"include\.path"),
        ("includeIf gitdir", r"includeIf\.gitdir:\*\*\.path"),
        ("includeIf hasconfig", r"includeIf\.hasconfig:remote\.\*\.url:https://\*\*\.path"),
        ("config.worktree", r"extensions\.worktreeconfig = true"),
    ],
)
def test_a_store_that_reads_other_configuration_is_refused_with_the_key_and_a_cure(hostile, place, key):
    hostile.set_keys([("core.fsmonitor", COMMAND)], place)
    with pytest.raises(Refused, match=key) as refusal:
        open_store(hostile.path)
    assert refusal.value.hint.startswith("remove it: git config --file ")
    assert os.system(refusal.value.hint.removeprefix("remove it: ")) == 0
    hostile.use()
    assert hostile.left_marks() == []


@pytest.mark.parametrize(
    "text",
    [
        "[include]\n\tpath = ../included\n",
        "[INCLUDE]path=../included\n",
        "[core] [include] path = ../included\n",
        "[core][include]path = ../included\n",
        '[x "a]b"][include]\npath = ../included\n',
        "[core]\r\n  \t[include]\r\npath = ../included\r\n",
        "[core]\n\tx = a \\\n[core]\n[include]\npath = ../included\n",
        '[includeIf "gitdir:/"]\n\tpath = ../included\n',
        '[IncludeIf "onbranch:a\\"b"] path = ../included\n',
    ],
)
def test_an_include_is_found_in_every_spelling(hostile, text):
    with open(hostile.config, "a", encoding="utf-8", newline="") as file:
        file.write(text)
    with pytest.raises(Refused, match=r"includes another file: include"):
        open_store(hostile.path)


def test_an_include_is_found_behind_a_byte_order_mark(hostile):
    with open(hostile.config, "rb") as file:
        content = file.read()
    write_bytes(hostile.config, b"\xef\xbb\xbf[include]\npath = ../included\n" + content)
    with pytest.raises(Refused, match=r"include\.path"):
        open_store(hostile.path)


@pytest.mark.parametrize("text", ["# [include]\n", "  ; [include] path = x\n", "[scopes]\n\tauthor = [include]\n"])
def test_comments_and_values_that_mention_an_include_are_accepted(hostile, text):
    with open(hostile.config, "a", encoding="utf-8") as file:
        file.write(text)
    open_store(hostile.path)


@pytest.mark.parametrize("extension", ["preciousObjects", "relativeWorktrees", "somethingNew"])
def test_an_unknown_extension_is_refused(hostile, extension):
    set_key(hostile.config, f"extensions.{extension}", "true")
    with pytest.raises(Refused, match=rf"extensions\.{extension.lower()} = true"):
        open_store(hostile.path)


def test_gc_names_the_programs_that_it_did_not_run(hostile):
    hostile.set_keys([row for row in KEYS if row[0] in {"core.fsmonitor", "gc.recentObjectsHook"}], "config")
    (note,) = gc(open_store(hostile.path)).notes
    assert note.text == "git ran without the store's settings that name programs: core.fsmonitor, gc.recentobjectshook"
    assert hostile.config in note.hint


def test_every_key_that_names_a_program_is_listed(hostile):
    hostile.set_keys(KEYS, "config")
    listed = set(list_program_keys(hostile.path))
    programs = {key for key, value in KEYS if COMMAND in value and not key.startswith(("scopes.", "http.", "remote."))}
    assert {key.lower() for key in programs} <= {key.lower() for key in listed}


# Files that are not configuration


def test_no_hook_of_the_store_runs(hostile):
    hostile.write_hooks(os.path.join(hostile.path, "hooks"))
    hostile.use()
    assert hostile.left_marks() == []


def test_attributes_of_the_store_run_no_filter(hostile):
    hostile.set_keys([row for row in KEYS if row[0].startswith(("filter.", "diff.", "merge."))], "config")
    write_bytes(os.path.join(hostile.path, "info", "attributes"), b"* filter=x diff=x merge=x\n")
    hostile.use()
    assert hostile.left_marks() == []


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("objects/info/alternates", "{folder}/other.git/objects\n", "borrows objects from another repository"),
        ("commondir", "{folder}/other.git\n", "from another directory"),
        ("info/grafts", "{tip}\n", "replaces the parents of commits"),
    ],
)
def test_a_store_that_uses_another_repository_is_refused(hostile, name, content, words):
    tip = git(hostile.path, "rev-parse", "refs/heads/conv-001/main").strip()
    create_store(str(hostile.folder / "other.git"))
    path = os.path.join(hostile.path, name)
    write_bytes(path, content.format(folder=hostile.folder, tip=tip).encode())
    with pytest.raises(Refused, match=words) as refusal:
        open_store(hostile.path)
    assert path in refusal.value.message
    os.unlink(path)
    hostile.use()


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


@pytest.mark.parametrize("name", ["config", "objects", "refs", "logs", "packed-refs"])
def test_a_store_with_a_link_to_the_outside_is_refused(hostile, monkeypatch, name):
    """Opening refuses it, and git is not run on it even without that check."""
    git(hostile.path, "pack-refs", "--all")
    inside, outside = os.path.join(hostile.path, name), str(hostile.folder / "outside")
    os.rename(inside, outside)
    os.symlink(outside, inside)
    with pytest.raises(Refused, match=r"is a symbolic link|is not a regular file"):
        open_store(hostile.path)
    if name != "config":
        with pytest.raises(Refused, match="is not a"):
            run_git(hostile.path, "gc")


def test_a_clone_with_an_include_does_not_become_a_store(hostile):
    clone = str(hostile.folder / "clone.git")
    subprocess.run(["git", "clone", "-q", "--mirror", hostile.path, clone], check=True)
    set_key(os.path.join(clone, "config"), "include.path", "/dev/zero")
    with pytest.raises(Refused, match=r"include\.path"):
        create_store(clone)


def test_git_leaves_no_private_directory_behind(hostile):
    hostile.use()
    assert [name for name in os.listdir(hostile.path) if name.startswith("scopes-git-")] == []


def test_git_keeps_what_a_detached_head_of_the_store_names(hostile):
    """P7: git gc keeps the commit of HEAD, and so does gc in the private directory."""
    commit = git(hostile.path, "commit-tree", "-m", "x", git(hostile.path, "mktree", stdin=b"").strip()).strip()
    write_bytes(os.path.join(hostile.path, "HEAD"), f"{commit}\n".encode())
    run_git(hostile.path, "gc", "--quiet", "--prune=now")
    assert git(hostile.path, "cat-file", "-t", commit) == "commit\n"


def test_errors_of_a_refused_store_are_one_line(hostile):
    with open(hostile.config, "a", encoding="utf-8") as file:
        file.write('[includeIf "gitdir:\x1b[31m$(touch x)\'"]\n\tpath = x\n')
    with pytest.raises(ScopesError) as refusal:
        open_store(hostile.path)
    assert "\n" not in refusal.value.message
    assert "'includeIf.gitdir" in refusal.value.hint
