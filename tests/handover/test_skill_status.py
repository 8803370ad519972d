"""What `skills status` says about the skill file of each target, of the user and of the project."""

from __future__ import annotations

import os

import pytest

from scopes.errors import Invalid
from scopes.handover import skills
from scopes.handover.skill_status import skills_status
from scopes.handover.skills import FOLDERS, install_skill, path_of, remove_skill
from scopes.hosts.agents import UserDirectories

OLD = "---\nmetadata:\n  generator: scopes\n---\nold words\n"


@pytest.fixture
def directories(tmp_path):
    for name in ("home", "shop"):
        (tmp_path / name).mkdir()
    return UserDirectories(str(tmp_path / "home"), str(tmp_path / "shop"), {})


def states(directories, *targets):
    return [(row.target, row.condition, row.in_project) for row in skills_status(directories, targets).skills]


def detail_of(directories, target):
    return skills_status(directories, [target]).skills[-1].detail


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def test_nothing_is_installed_at_first_and_each_target_has_a_row_for_the_user(directories):
    assert states(directories) == [(target, "missing", False) for target in FOLDERS]


@pytest.mark.parametrize("target", FOLDERS)
def test_a_skill_is_installed_then_missing(directories, target):
    path = install_skill(target, directories, project=False).file
    (found,) = skills_status(directories, [target]).skills
    assert (found.condition, found.file, found.detail, found.cure) == ("installed", path, "", "")
    remove_skill(target, directories, project=False)
    assert states(directories, target) == [(target, "missing", False)]


def test_a_skill_of_the_project_has_a_row_of_its_own_while_it_is_there(directories):
    install_skill("claude-code", directories, project=True)
    assert states(directories, "claude-code") == [("claude-code", "missing", False), ("claude-code", "installed", True)]
    remove_skill("claude-code", directories, project=True)
    assert states(directories, "claude-code") == [("claude-code", "missing", False)]


def test_a_home_directory_that_is_the_project_has_one_row(directories):
    directories = directories._replace(project=directories.home)
    install_skill("agents", directories, project=False)
    assert states(directories, "agents") == [("agents", "installed", False)]


@pytest.mark.parametrize("project", [False, True])
def test_a_skill_of_an_older_version_is_outdated_until_it_is_installed_again(directories, project):
    write(path_of("gemini", directories, project=project), skills._with_checksum(OLD))
    found = skills_status(directories, ["gemini"]).skills[-1]
    assert (found.condition, found.detail) == ("outdated", "it is of another version of scopes")
    assert found.cure == f"scopes setup gemini --only skill{' --here' if project else ''}"
    install_skill("gemini", directories, project=project)
    assert states(directories, "gemini")[-1] == ("gemini", "installed", project)


def test_an_edited_skill_of_this_version_is_installed_and_says_so(directories):
    path = install_skill("cursor", directories, project=False).file
    with open(path, "a", encoding="utf-8") as file:
        file.write("my own words\n")
    assert states(directories, "cursor") == [("cursor", "installed", False)]
    assert detail_of(directories, "cursor") == "it was edited after scopes had written it"


def test_an_edited_skill_of_an_older_version_needs_force(directories):
    write(path_of("opencode", directories, project=False), f"{skills._with_checksum(OLD)}my own words\n")
    (found,) = skills_status(directories, ["opencode"]).skills
    assert (found.condition, found.cure) == ("outdated", "scopes setup opencode --only skill --force")
    assert found.detail == "it was edited after scopes had written it; it is of another version of scopes"
    install_skill("opencode", directories, project=False, force=True)
    assert states(directories, "opencode") == [("opencode", "installed", False)]


def test_a_skill_in_the_shared_folder_says_for_whom_it_was_installed(directories):
    install_skill("codex", directories, project=False)
    assert states(directories, "codex", "agents") == [("codex", "installed", False), ("agents", "installed", False)]
    assert (detail_of(directories, "codex"), detail_of(directories, "agents")) == (
        "",
        "it was installed for codex: the folder is shared",
    )


def test_another_skill_of_this_name_is_not_ours(directories):
    write(path_of("claude-code", directories, project=False), "---\nname: scopes\n---\ntelescopes\n")
    assert states(directories, "claude") == [("claude-code", "missing", False)]
    assert detail_of(directories, "claude-code") == "another skill has this name"


def test_what_is_not_a_file_is_a_condition_with_its_reason(directories):
    os.makedirs(path_of("claude-code", directories, project=True))
    found = skills_status(directories, ["claude-code"]).skills[-1]
    assert (found.condition, found.in_project) == ("unreadable", True)
    assert found.detail.endswith("is not a file")


def test_an_unknown_target_is_refused_with_those_that_are_known(directories):
    with pytest.raises(Invalid) as caught:
        skills_status(directories, ["emacs"])
    assert all(target in caught.value.hint for target in FOLDERS)
