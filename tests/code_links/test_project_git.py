"""Git on a project that somebody else made: what it reads, and that it runs no program which the project names."""

from __future__ import annotations

import os
import subprocess

import pytest

from scopes.code_links import project_git
from scopes.code_links.blame import blame
from scopes.code_links.project_commits import all_commits, read_repository_id, walk_project_commits
from scopes.code_links.project_git import (
    ProjectGitFailed,
    find_project_repository,
    open_project_git,
    read_setting,
)
from scopes.errors import Inaccessible, NotFound
from tests.support.newest_git import NEWEST_GIT
from tests.support.pipes import named_pipe
from tests.support.store import files_of

TEXT = "a line that is long enough\nanother line, which is long too\n"


@pytest.fixture
def started(project):
    """The project with one commit."""
    project.write("app.py", TEXT)
    project.commit("Begin")
    return project


def use(project):
    return open_project_git(find_project_repository(str(project.path)))


def test_git_prints_what_the_repository_has(started, world):
    with world.git() as git:
        assert git.run("rev-parse", "HEAD").decode().strip() == started.head
        assert list(git.walk_lines("cat-file", "blob", "HEAD:app.py")) == [
            line.encode() + b"\n" for line in TEXT.splitlines()
        ]


def test_an_error_of_git_is_its_last_line(started, world):
    with world.git() as git:
        with pytest.raises(ProjectGitFailed, match=r"does not exist in .HEAD"):
            git.run("cat-file", "blob", "HEAD:gone.py")
        with pytest.raises(ProjectGitFailed, match=r"does not exist in .HEAD"):
            list(git.walk_lines("cat-file", "blob", "HEAD:gone.py"))
        assert git.find("rev-parse", "--verify", "--quiet", "gone") is None


@pytest.fixture
def stuck(started, tmp_path, monkeypatch):
    """A git that prints a line and a half, and then waits as for a file system that does not answer."""
    monkeypatch.setattr(project_git, "_SECONDS", 0.3)
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/git"
    program.write_text("#!/bin/sh\nprintf 'one\\ntw'\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return started


def test_a_git_that_does_not_end_is_an_error_that_names_the_repository(stuck):
    with use(stuck) as git:
        for call in (git.run, git.find):
            with pytest.raises(Inaccessible, match="git did not answer for 0 seconds in ") as error:
                call("log")
            assert str(stuck.path) in error.value.message
        with pytest.raises(ProjectGitFailed, match="longer than 0 seconds"):
            git.run("log", seconds=0.1)


def test_a_git_that_prints_nothing_more_is_an_error_after_what_it_printed(stuck):
    with use(stuck) as git:
        lines = git.walk_lines("log")
        assert next(lines) == b"one\n"
        with pytest.raises(Inaccessible, match="git did not answer"):
            next(lines)


def test_lines_longer_than_a_block_and_without_an_end_are_whole(started, world):
    text = "x" * 200_000 + "\ry\n" + "\n" * 3 + "z" * 70_000
    started.write("long.txt", text)
    started.commit("Long")
    with world.git() as git:
        lines = list(git.walk_lines("cat-file", "blob", "HEAD:long.txt"))
    assert lines == [line.encode() for line in (text[:200_003], "\n", "\n", "\n", "z" * 70_000)]


def test_a_walk_may_end_before_git_does(started, world):
    with world.git() as git:
        assert next(git.walk_lines("cat-file", "blob", "HEAD:app.py")) == b"a line that is long enough\n"


def test_nothing_is_written_into_the_project_and_nothing_is_left_behind(started, world, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    before = files_of(str(started.path))
    with world.git() as git:
        blame(git, "HEAD", "app.py")
        list(walk_project_commits(git, all_commits()))
        assert len(os.listdir(tmp_path / "temporary")) == 1
    assert files_of(str(started.path)) == before
    assert os.listdir(tmp_path / "temporary") == []


def traps(project, witness):
    """Let the configuration, the attributes and the hooks of a project name programs that write to a file."""
    trap = project.path / "trap"
    trap.write_text(f"#!/bin/sh\necho run >> {witness}\ncat\n")
    trap.chmod(0o755)
    settings = {
        "core.fsmonitor": trap, "core.pager": trap, "pager.log": trap, "pager.blame": trap, "core.sshCommand": trap,
        "core.hooksPath": project.path, "core.alternateRefsCommand": trap, "core.askPass": trap, "core.editor": trap,
        "diff.external": trap, "diff.x.textconv": trap, "diff.x.command": trap, "filter.x.clean": trap,
        "filter.x.smudge": trap, "filter.x.process": trap, "gpg.program": trap, "log.showSignature": "true",
        "core.attributesFile": project.path / "attributes", "credential.helper": trap, "uploadpack.packObjectsHook": trap,
        "alias.log": f"!{trap}", "alias.blame": f"!{trap}", "blame.showEmail": "true", "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{trap}", "protocol.allow": "always", "interactive.diffFilter": trap,
    }  # fmt: skip
    for name, value in settings.items():
        project.git("config", name, str(value))
    for name in ("attributes", ".gitattributes"):
        (project.path / name).write_text("*.py diff=x filter=x\n")
    (project.path / ".git" / "info").mkdir(exist_ok=True)
    (project.path / ".git" / "info" / "attributes").write_text("*.py diff=x filter=x\n")
    for hook in ("post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc", "post-commit"):
        (project.path / hook).symlink_to(trap)


def test_no_program_of_the_project_runs(started, world, tmp_path, monkeypatch):
    """The same commands run them in the project itself; the newest git that is here knows the most ways."""
    witness = tmp_path / "witness"
    traps(started, witness)
    monkeypatch.setenv("PATH", NEWEST_GIT.directory + os.pathsep + os.environ["PATH"])
    found = world.why("app.py:1", world.claude().prompt("hello, is there anything to do?"))
    world.why("app.py", revision="HEAD")
    assert found.items[0].commit.subject == "Begin"
    assert not witness.exists()
    subprocess.run(["git", "-C", started.path, "log", "-p"], capture_output=True, check=False)
    assert witness.exists()


def test_variables_of_git_in_the_environment_do_not_reach_another_repository(started, world, tmp_path, monkeypatch):
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    with world.git() as git:
        assert [each.subject for each in walk_project_commits(git, all_commits())] == ["Begin"]


def test_a_replaced_commit_is_read_as_it_was(started, world):
    first = started.head
    started.write("app.py", "other\n")
    started.git("replace", first, started.commit("Other"))
    with world.git() as git:
        assert git.run("log", "-1", "--format=%s", first).decode().strip() == "Begin"


@pytest.mark.parametrize("inside", [".", "src/deep", ".git"])
def test_the_repository_around_a_directory_is_found(started, inside):
    (started.path / inside).mkdir(parents=True, exist_ok=True)
    found = find_project_repository(str(started.path / inside))
    if inside == ".git":
        assert (found.top, found.shared) == (None, str(started.path / ".git")) or found.top == str(started.path)
    else:
        assert (found.top, found.shared) == (str(started.path), str(started.path / ".git"))


def test_a_bare_repository_has_no_working_tree(started, tmp_path):
    started.git("clone", "-q", "--bare", str(started.path), str(tmp_path / "bare.git"))
    found = find_project_repository(str(tmp_path / "bare.git"))
    assert (found.top, found.git_directory) == (None, str(tmp_path / "bare.git"))
    with open_project_git(found) as git:
        assert git.run("rev-parse", "HEAD").decode().strip() == started.head


def test_a_linked_worktree_has_its_own_head_and_shares_the_objects(started, tmp_path):
    started.git("worktree", "add", "-q", "--detach", str(tmp_path / "tree"))
    started.write("app.py", "more\n")
    started.commit("More")
    found = find_project_repository(str(tmp_path / "tree"))
    assert found.shared == str(started.path / ".git")
    with open_project_git(found) as git:
        assert git.run("log", "-1", "--format=%s").decode().strip() == "Begin"


def test_a_directory_outside_of_repositories_is_refused(tmp_path):
    with pytest.raises(NotFound, match="not in a git repository"):
        find_project_repository(str(tmp_path))


def test_without_the_git_program_the_cure_is_to_install_it(started, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Inaccessible, match="not installed") as error, use(started):
        pass
    assert "install git" in error.value.hint


def test_a_repository_with_sha256_ids_is_read(tmp_path, project):
    made = type(project).__new__(type(project))
    made.path, made.clock = tmp_path / "sha256", project.clock
    made.path.mkdir()
    made.git("init", "-q", "-b", "main", "--object-format=sha256")
    made.write("app.py", TEXT)
    made.commit("Begin")
    with use(made) as git:
        (commit,) = walk_project_commits(git, all_commits())
        assert (len(commit.id), commit.subject) == (64, "Begin")
        assert [line.commit for line in blame(git, "HEAD", "app.py")] == [commit.id] * 2


def test_packed_refs_are_read(started, world):
    started.git("tag", "v1")
    started.git("pack-refs", "--all")
    with world.git() as git:
        assert git.find("rev-parse", "v1^{commit}") == started.head


def test_a_repository_is_recognized_by_its_first_root_commit(started, world, tmp_path):
    root = started.head
    started.git("clone", "-q", str(started.path), str(tmp_path / "clone"))
    started.git("checkout", "-q", "--orphan", "other")
    started.commit("Another root")
    started.git("checkout", "-q", "main")
    started.git("merge", "-q", "--allow-unrelated-histories", "-X", "ours", "-m", "Both", "other")
    with world.git() as git:
        assert read_repository_id(git) == f"root:{root}"
    with open_project_git(find_project_repository(str(tmp_path / "clone"))) as git:
        assert read_repository_id(git) == f"root:{root}"


def test_a_repository_without_commits_has_no_identity(project, world):
    with world.git() as git:
        assert read_repository_id(git) is None


def test_a_shallow_clone_has_no_identity_because_its_root_is_elsewhere(started, tmp_path):
    started.write("app.py", "more\n")
    started.commit("More")
    started.git("clone", "-q", "--depth", "1", f"file://{started.path}", str(tmp_path / "clone"))
    with open_project_git(find_project_repository(str(tmp_path / "clone"))) as git:
        assert git.run("log", "--format=%s").decode().split() == ["More"]
        assert read_repository_id(git) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[blame]\n\tignoreRevsFile = .ignored\n", ".ignored"),
        ('[blame]\n\tignorerevsfile = "a b"\n', "a b"),
        ("[blame]\nignoreRevsFile=one\n[core]\nx=y\n[blame]\nignoreRevsFile=two\n", "two"),
        ('[blame "sub"]\nignoreRevsFile=one\n', None),
        ("[core]\nignoreRevsFile=one\n", None),
        ("ignoreRevsFile=one\n", None),
    ],
)
def test_a_setting_is_read_as_text(project, text, expected):
    (project.path / ".git" / "config").write_text(text)
    assert read_setting(find_project_repository(str(project.path)), "blame", "ignoreRevsFile") == expected


PIPES = [
    "refs/notes/ai", "refs/heads/topic/x", "refs/tags/v1", "packed-refs", "shallow", "config", "HEAD",
    "objects/info/alternates", "objects/info/commit-graph", "objects/pack/pack-1.idx", f"objects/ab/{'c' * 38}",
]  # fmt: skip


@pytest.mark.parametrize("name", PIPES)
def test_a_repository_with_a_named_pipe_is_refused_instead_of_waiting_for_it(started, world, name):
    path = started.path / ".git" / name
    with named_pipe(path):
        with pytest.raises(Inaccessible, match="it is a named pipe") as error, world.git() as git:
            git.run("for-each-ref")
        assert str(path) in error.value.message
        assert "delete it" in error.value.hint


def test_a_named_pipe_in_an_alternate_directory_of_objects_is_found(started, world, tmp_path):
    (tmp_path / "more").mkdir()
    (started.path / ".git/objects/info/alternates").write_text(f"# shared\n{tmp_path}/more\n")
    with named_pipe(tmp_path / "more/info/alternates"), pytest.raises(Inaccessible, match="named pipe"), world.git():
        pass


def test_a_ref_that_is_a_link_to_a_device_is_refused(started, world):
    (started.path / ".git/refs/heads/zero").symlink_to("/dev/zero")
    with pytest.raises(Inaccessible, match="it is a device"), world.git():
        pass


def test_objects_of_an_alternate_directory_are_read(started, tmp_path):
    started.git("clone", "-q", "--shared", str(started.path), str(tmp_path / "shared"))
    with open_project_git(find_project_repository(str(tmp_path / "shared"))) as git:
        assert git.run("log", "-1", "--format=%s").decode().strip() == "Begin"


def test_directories_of_objects_that_name_each_other_are_read(started, world):
    (started.path / ".git/objects/info/alternates").write_text("../objects\n")
    with world.git() as git:
        assert git.run("log", "-1", "--format=%s").decode().strip() == "Begin"
