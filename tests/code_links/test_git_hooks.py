"""Hooks come into a repository and go again; those that were there still run, and are the same afterwards."""

from __future__ import annotations

import os
import shutil

import pytest

from scopes.code_links.git_hook_scripts import make_script
from scopes.code_links.git_hooks import GitHooks
from scopes.errors import Inaccessible, NotFound, Refused
from scopes.hosts.hook_target import HookEnvironment
from scopes.part_files import part_of
from tests.code_links.hooked import CODEX, Hooked, read_file, write_program
from tests.support.worktrees import Project


@pytest.fixture
def project(tmp_path):
    return Hooked(tmp_path / "project", install=False)


def states(changed):
    return {os.path.basename(change.file): change.state for change in changed.changes}


def hook(project, name, text="exit 0\n", mode=0o755):
    path = os.path.join(project.directory, ".git/hooks", name)
    write_program(path, text, mode)
    return path


def test_two_hooks_are_added_and_taken_out_again(project):
    before = project.hooks()
    assert states(project.target.install(project.place())) == {"post-commit": "added", "post-rewrite": "added"}
    assert project.target.status(project.place()).condition == "installed"
    assert sorted(project.hooks()) == ["post-commit", "post-rewrite"]
    assert states(project.target.remove(project.place())) == {"post-commit": "removed", "post-rewrite": "removed"}
    assert project.hooks() == before
    assert not os.path.exists(os.path.join(project.directory, ".git/scopes-hooks"))
    assert project.target.status(project.place()).condition == "missing"


def test_hooks_that_were_there_come_back_byte_for_byte(project):
    hook(project, "post-commit", "# caf\u00e9 \r\nexit 3", 0o711)
    hook(project, "post-rewrite", "exit 1\n", 0o644)
    before = project.hooks()
    changed = project.target.install(project.place())
    assert changed.changes[0].backup == f"{changed.changes[0].file}.before-scopes"
    project.target.remove(project.place())
    assert project.hooks() == before


def test_a_hook_that_is_a_link_comes_back_as_one(project, tmp_path):
    write_program(str(tmp_path / "shared"), f'echo linked >> "{tmp_path}/ran"\n')
    os.symlink(tmp_path / "shared", os.path.join(project.directory, ".git/hooks/post-commit"))
    before = project.hooks()
    project.target.install(project.place())
    project.commit("one")
    assert (tmp_path / "ran").read_text() == "linked\n"
    project.target.remove(project.place())
    assert project.hooks() == before


def test_installing_twice_changes_nothing(project):
    hook(project, "post-commit")
    project.target.install(project.place())
    before = project.hooks()
    assert set(states(project.target.install(project.place())).values()) == {"unchanged"}
    assert project.hooks() == before


def test_hooks_of_another_version_are_brought_up_to_date(project):
    project.target.install(project.place())
    place = project.place(store="/elsewhere/store.git")
    assert project.target.status(place).condition == "outdated"
    assert set(states(project.target.install(place)).values()) == {"replaced"}
    assert project.target.status(place).condition == "installed"


def test_the_trailer_has_a_hook_of_its_own_that_stays(project):
    with_trailer = GitHooks(trailer=True)
    assert states(with_trailer.install(project.place()))["prepare-commit-msg"] == "added"
    assert states(project.target.install(project.place()))["prepare-commit-msg"] == "unchanged"
    assert states(project.target.remove(project.place()))["prepare-commit-msg"] == "removed"
    assert project.hooks() == {}


def test_a_plain_installation_leaves_the_trailer_and_says_so(project):
    GitHooks(trailer=True).install(project.place())
    assert project.target.status(project.place()).trailers is True
    changed = project.target.install(project.place())
    assert "prepare-commit-msg" in project.hooks()
    (note,) = changed.notes
    assert "Scopes-Turn" in note.text
    assert note.hint == "without it: scopes setup git --remove, and then: scopes setup git"


def test_the_trailer_can_be_switched_off_again(project):
    hook(project, "prepare-commit-msg", "exit 0\n")
    before = project.hooks()
    GitHooks(trailer=True).install(project.place())
    changed = GitHooks(trailer=False).install(project.place())
    assert states(changed)["prepare-commit-msg"] == "removed"
    assert project.hooks()["prepare-commit-msg"] == before["prepare-commit-msg"]
    assert project.target.status(project.place()).trailers is False
    assert project.target.install(project.place()).notes == ()
    assert "prepare-commit-msg" not in states(GitHooks(trailer=False).install(project.place()))


def test_where_no_hooks_are_there_is_nothing_to_say_about_trailers(project):
    assert project.target.status(project.place()).trailers is None


def test_outdated_hooks_are_described_by_their_program_and_their_store(project):
    place = project.place()
    old = place._replace(command=("/old/scopes",), store="/old.git")
    GitHooks(trailer=True).install(old)
    detail = project.target.status(place).detail
    assert detail.startswith("it starts /old/scopes, not ")
    assert detail.endswith(
        f"it records into /old.git, not {place.store or 'the store of the agent' + chr(39) + 's directory'}"
    )
    assert detail.count("it starts") == 1
    os.unlink(os.path.join(project.directory, ".git/hooks/post-rewrite"))
    assert "the hook for post-rewrite is missing" in project.target.status(old).detail


def test_print_shows_the_scripts_and_writes_nothing(project):
    changed = project.target.install(project.place(), print_only=True)
    assert changed.shown
    assert [change.text for change in changed.changes] == [
        make_script(name, (project.program,), None) for name in ("post-commit", "post-rewrite")
    ]
    assert project.hooks() == {}
    assert not os.path.exists(os.path.join(project.directory, ".git/scopes-hooks"))


def test_the_directory_of_core_hookspath_is_used(project, tmp_path):
    project.git("config", "core.hooksPath", str(tmp_path / "all hooks"))
    changed = project.target.install(project.place())
    assert "for other repositories too" in changed.advice
    assert sorted(os.listdir(tmp_path / "all hooks")) == ["post-commit", "post-rewrite"]
    project.target.remove(project.place())
    assert not os.path.exists(tmp_path / "all hooks")


def test_hooks_in_the_working_tree_have_a_note(project):
    project.git("config", "core.hooksPath", ".githooks")
    assert "git status shows" in project.target.install(project.place()).advice
    project.commit("one", **CODEX)
    assert [each.commit for each in project.pending()] == [project.head()]


def test_hooks_that_are_switched_off_are_refused(project):
    project.git("config", "core.hooksPath", os.devnull)
    with pytest.raises(Refused, match="is /dev/null"):
        project.target.install(project.place())
    assert project.target.status(project.place()).condition == "unreadable"


def test_outside_of_a_repository_there_is_nothing_to_install(tmp_path):
    place = HookEnvironment("/nowhere", str(tmp_path), dict(os.environ), ("scopes",))
    with pytest.raises(NotFound, match="is not in a git repository"):
        GitHooks().install(place)
    assert GitHooks().status(place).condition == "missing"


def test_a_hook_that_somebody_has_changed_is_neither_replaced_nor_removed(project):
    project.target.install(project.place())
    with open(os.path.join(project.directory, ".git/hooks/post-commit"), "a", encoding="utf-8") as file:
        file.write("echo mine\n")
    before = project.hooks()
    for change in (project.target.install, project.target.remove):
        with pytest.raises(Refused, match="was changed after scopes had written it"):
            change(project.place())
    assert project.hooks() == before
    assert project.target.status(project.place()).condition == "unreadable"


def test_a_hook_that_replaced_ours_is_not_lost(project):
    hook(project, "post-commit", "echo first\n")
    project.target.install(project.place())
    hook(project, "post-commit", "echo second\n")
    before = project.hooks()
    with pytest.raises(Refused, match="scopes did not write"):
        project.target.install(project.place())
    assert project.hooks() == before


def test_an_installation_that_was_interrupted_is_finished_or_taken_back(project):
    """Between the two steps the hook has two names; on a file system without links it has the second one alone."""
    path = hook(project, "post-commit", "echo first\n")
    content = read_file(path)
    os.link(path, f"{path}.before-scopes")
    project.target.install(project.place())
    project.target.remove(project.place())
    assert project.hooks() == {"post-commit": content}
    os.rename(path, f"{path}.before-scopes")
    project.target.remove(project.place())
    assert project.hooks() == {"post-commit": content}


def test_without_hard_links_the_hook_is_renamed(project, monkeypatch):
    def refuse(*_, **__):
        raise OSError(1, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    hook(project, "post-commit", "echo first\n")
    before = project.hooks()
    project.target.install(project.place())
    assert sorted(project.hooks()) == ["post-commit", "post-commit.before-scopes", "post-rewrite"]
    project.target.remove(project.place())
    assert project.hooks() == before


def test_a_directory_that_cannot_be_written_is_an_error_with_its_name(project):
    hook(project, "x")
    os.rename(os.path.join(project.directory, ".git/hooks"), os.path.join(project.directory, ".git/other"))
    os.symlink("/proc/1/nowhere", os.path.join(project.directory, ".git/hooks"))
    with pytest.raises((Inaccessible, Refused), match="hooks"):
        project.target.install(project.place())


def test_a_worktree_has_the_hooks_of_its_repository(project, tmp_path):
    project.commit("one")
    project.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "linked")
    linked = Hooked(tmp_path / "linked", create=False)
    assert sorted(project.hooks()) == ["post-commit", "post-rewrite"]
    made = linked.commit("two", **CODEX)
    assert [each.commit for each in project.pending()] == [made]


def test_commits_that_were_not_taken_over_stay_when_the_hooks_go(project):
    project.target.install(project.place())
    made = project.commit("one", **CODEX)
    project.target.remove(project.place())
    assert [each.commit for each in project.pending()] == [made]


def test_a_project_without_a_directory_of_hooks_has_none_again(tmp_path):
    project = Project(tmp_path / "bare", create=False)
    os.makedirs(project.directory)
    project.git("init", "-q", "--template=", "-b", "main")
    hooked = Hooked(project.directory, create=False)
    assert sorted(hooked.hooks()) == ["post-commit", "post-rewrite"]
    hooked.target.remove(hooked.place())
    assert not os.path.exists(os.path.join(project.directory, ".git/hooks"))


@pytest.mark.parametrize("name", ["", "pending", "made-hooks-directory", "starting"])
def test_a_link_where_scopes_keeps_its_files_is_refused(project, tmp_path, name):
    (tmp_path / "own").write_text("own")
    shutil.rmtree(os.path.join(project.directory, ".git/hooks"))
    path = os.path.join(project.directory, ".git/scopes-hooks", name).rstrip("/")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(tmp_path / "own", path)
    with pytest.raises(Refused, match="is a symbolic link"):
        project.target.install(project.place())
    assert (tmp_path / "own").read_text() == "own"
    assert not os.path.exists(os.path.join(project.directory, ".git/hooks"))


@pytest.mark.parametrize("verb", ["install", "remove"])
def test_what_a_killed_installation_left_goes_with_the_next_one(project, verb):
    project.target.install(project.place())
    part = part_of(hook(project, "post-rewrite.own"))
    left = [
        part_of(os.path.join(project.directory, ".git/hooks", name)) for name in ("post-commit", "prepare-commit-msg")
    ]
    for each in (part, *left):
        write_program(each, "")
    getattr(project.target, verb)(project.place())
    assert not any(map(os.path.exists, left))
    assert os.path.exists(part)
