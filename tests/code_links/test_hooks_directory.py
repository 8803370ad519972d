"""Hooks go into the directory of this repository, never through a link into another one or into that of all of them."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from scopes.errors import Refused
from tests.code_links.hooked import Hooked, read_file, write_program


@pytest.fixture
def project(tmp_path):
    return Hooked(tmp_path / "project", install=False)


@pytest.fixture
def shared(tmp_path):
    """A directory of hooks outside of the project, with one hook."""
    write_program(str(tmp_path / "shared/post-commit"), "exit 0\n")
    return str(tmp_path / "shared")


def listing(directory):
    return {name: read_file(os.path.join(directory, name)) for name in sorted(os.listdir(directory))}


def link(project, target, where=".git/hooks"):
    path = os.path.join(project.directory, where)
    if os.path.isdir(path):
        shutil.rmtree(path)
    os.symlink(target, path)
    return path


def installed(project):
    changed = project.target.install(project.place())
    return {os.path.realpath(os.path.dirname(change.file)) for change in changed.changes}, changed.advice


def test_a_link_to_nothing_is_refused_with_commands_that_help(project, tmp_path):
    """Such as one to a directory of another machine."""
    target = str(tmp_path / "gone away" / "hooks")
    path = link(project, target)
    with pytest.raises(Refused, match="which does not exist") as error:
        project.target.install(project.place())
    assert error.value.message.endswith(f"{path} is a link to {target}, which does not exist")
    delete, make = (part.split(": ")[-1] for part in error.value.hint.split("; "))
    subprocess.run(["sh", "-c", make], check=True)
    assert os.path.isdir(path)
    os.rmdir(target)
    subprocess.run(["sh", "-c", delete], check=True)
    assert installed(project)[0] == {os.path.dirname(path) + "/hooks"}


def test_a_link_out_of_the_repository_is_refused_and_nothing_is_written_through_it(project, shared):
    path, before = link(project, shared), listing(shared)
    with pytest.raises(Refused, match="leads out of the repository") as error:
        project.target.install(project.place())
    assert error.value.message == f"{path} leads out of the repository, to {shared}"
    assert f"git config core.hooksPath {shared}" in error.value.hint
    assert listing(shared) == before
    assert not os.path.exists(os.path.join(project.directory, ".git/scopes-hooks"))


def test_a_link_in_the_working_tree_that_leads_out_of_it_is_refused(project, shared):
    """Such as one that was committed: whoever sets core.hooksPath to a directory of the project means that."""
    link(project, shared, ".githooks")
    project.git("config", "core.hooksPath", ".githooks")
    before = listing(shared)
    with pytest.raises(Refused, match="leads out of the repository"):
        project.target.install(project.place())
    assert listing(shared) == before


def test_what_would_be_written_is_shown_all_the_same(project, shared):
    link(project, shared)
    changed = project.target.install(project.place(), print_only=True)
    assert {os.path.basename(change.file) for change in changed.changes} == {"post-commit", "post-rewrite"}


def test_a_configuration_that_this_repository_includes_is_its_own(project, shared, tmp_path):
    (tmp_path / "more").write_text(f"[core]\n\thooksPath = {shared}\n")
    project.git("config", "include.path", str(tmp_path / "more"))
    assert installed(project)[0] == {shared}


def test_a_link_within_the_repository_is_followed(project):
    os.makedirs(os.path.join(project.directory, "tools/hooks"))
    link(project, "../tools/hooks")
    where, advice = installed(project)
    assert where == {os.path.join(project.directory, "tools/hooks")}
    assert "git status shows the hooks" in advice


def test_a_directory_of_the_working_tree_that_core_hookspath_names_is_used(project):
    os.makedirs(os.path.join(project.directory, ".githooks"))
    project.git("config", "core.hooksPath", ".githooks")
    assert installed(project)[0] == {os.path.join(project.directory, ".githooks")}


def test_a_directory_elsewhere_is_used_if_the_configuration_of_this_repository_names_it(project, shared):
    project.git("config", "core.hooksPath", shared)
    where, advice = installed(project)
    assert where == {shared}
    assert "only in those where this was installed" in advice
    project.target.remove(project.place())
    assert sorted(listing(shared)) == ["post-commit"]


def test_the_hooks_of_all_repositories_are_refused_until_this_one_names_them(project, shared):
    with open(os.path.expanduser("~/.gitconfig"), "w") as file:
        file.write(f"[core]\n\thooksPath = {shared}\n")
    before = listing(shared)
    with pytest.raises(Refused, match="the hooks of all your repositories") as error:
        project.target.install(project.place())
    assert listing(shared) == before
    assert error.value.hint.startswith(f"to install them there all the same: git config core.hooksPath {shared}")
    project.git("config", "core.hooksPath", shared)
    assert installed(project)[0] == {shared}


def test_hooks_that_came_through_a_link_earlier_can_be_removed(project, shared):
    os.unlink(os.path.join(shared, "post-commit"))
    project.git("config", "core.hooksPath", shared)
    project.target.install(project.place())
    project.git("config", "--unset", "core.hooksPath")
    link(project, shared)
    assert project.target.status(project.place()).condition == "installed"
    project.target.remove(project.place())
    assert listing(shared) == {}


def test_a_hook_that_is_a_link_to_a_shared_file_is_replaced_and_the_file_stays(project, shared):
    hook = os.path.join(project.directory, ".git/hooks/post-commit")
    os.makedirs(os.path.dirname(hook), exist_ok=True)
    os.symlink(f"{shared}/post-commit", hook)
    before = listing(shared)
    project.target.install(project.place())
    assert listing(shared) == before
    assert (os.path.islink(hook), os.readlink(f"{hook}.before-scopes")) == (False, f"{shared}/post-commit")
