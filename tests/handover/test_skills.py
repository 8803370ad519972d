"""The skill file of an agent: written whole, never over a file of somebody else, and taken away again."""

from __future__ import annotations

import os
import re
import shlex

import pytest

from scopes.cli.table import TABLE
from scopes.errors import Inaccessible, Invalid, Refused
from scopes.handover.skills import FOLDERS, install_skill, path_of, remove_skill, skills_status
from scopes.hosts.agents import UserDirectories
from scopes.part_files import part_of
from tests.cli.running import PRODUCT, scopes
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, import_demo

OLD = "---\nmetadata:\n  generator: scopes\n---\nold words\n"


@pytest.fixture
def top(tmp_path):
    return directories(tmp_path)


def directories(folder, **environ):
    """A home directory that is a project too."""
    return UserDirectories(str(folder), str(folder), environ)


@pytest.mark.parametrize("agent", FOLDERS)
@pytest.mark.parametrize("project", [False, True])
def test_a_skill_is_written_and_deleted_again(top, agent, project):
    added = install_skill(agent, top, project=project)
    with open(added.file) as file:
        assert file.read() == added.text
    assert added.state == "added"
    assert remove_skill(agent, top, project=project).state == "removed"
    skills = os.path.dirname(os.path.dirname(added.file))
    assert not os.path.exists(skills)
    assert os.path.exists(os.path.dirname(skills)) == (FOLDERS[agent] != ".agents"), "an agent keeps its folder"
    assert remove_skill(agent, top, project=project).state == "absent"


def test_the_same_skill_is_not_written_again(top):
    first = install_skill("claude-code", top, project=False)
    before = os.stat(first.file).st_mtime_ns
    assert install_skill("claude-code", top, project=False).state == "unchanged"
    assert os.stat(first.file).st_mtime_ns == before


def test_an_older_skill_of_ours_is_replaced(top):
    path = path_of("claude-code", top, project=False)
    os.makedirs(os.path.dirname(path))
    with open(path, "w") as file:
        file.write(OLD)
    assert install_skill("claude-code", top, project=False).state == "replaced"
    with open(path) as file:
        assert "old words" not in file.read()


@pytest.mark.parametrize("change", [install_skill, remove_skill])
def test_a_skill_that_was_changed_is_kept(top, change):
    path = install_skill("gemini", top, project=False).file
    with open(path, "a") as file:
        file.write("my words\n")
    os.symlink(__file__, f"{path}.bak")  # of a hostile project: it is replaced, not followed
    assert f"the file as it was: {path}.bak" in change("gemini", top, project=False).advice
    with open(f"{path}.bak") as file:
        assert file.read().endswith("my words\n")
    assert not os.path.islink(f"{path}.bak")


@pytest.mark.parametrize("change", [install_skill, remove_skill])
def test_another_skill_of_the_name_stays_without_force(top, change):
    path = path_of("codex", top, project=True)
    os.makedirs(os.path.dirname(path))
    with open(path, "w") as file:
        file.write("---\nname: scopes\n---\n  generator: scopes\nmine\n")
    with pytest.raises(Refused, match="another skill of this name"):
        change("codex", top, project=True)
    with open(path) as file:
        assert "mine" in file.read()
    assert change("codex", top, project=True, force=True).state in {"replaced", "removed"}


def test_another_skill_that_was_replaced_with_force_is_kept(top):
    path = path_of("codex", top, project=True)
    os.makedirs(os.path.dirname(path))
    with open(path, "wb") as file:
        file.write(b"mine \xff\n")
    done = install_skill("codex", top, project=True, force=True)
    assert f"the file as it was: {path}.bak" in done.advice
    remove_skill("codex", top, project=True)
    with open(f"{path}.bak", "rb") as file:
        assert file.read() == b"mine \xff\n"


def test_other_files_of_the_folder_stay(top):
    path = install_skill("gemini", top, project=False).file
    with open(os.path.join(os.path.dirname(path), "notes.md"), "w") as file:
        file.write("mine")
    remove_skill("gemini", top, project=False)
    assert os.listdir(os.path.dirname(path)) == ["notes.md"]


def test_folders_with_something_else_stay(top):
    path = install_skill("agents", top, project=False).file
    other = os.path.join(os.path.dirname(os.path.dirname(path)), "other")
    os.mkdir(other)
    remove_skill("agents", top, project=False)
    assert os.listdir(os.path.dirname(other)) == ["other"]


def test_with_print_nothing_is_written(top):
    shown = install_skill("claude-code", top, project=False, only_show=True)
    assert shown.state == "shown"
    assert os.listdir(top.home) == []


def test_the_agents_of_a_shared_folder_have_one_file(top):
    path = install_skill("agents", top, project=False).file
    assert install_skill("codex", top, project=False).state == "unchanged"
    removed = remove_skill("codex", top, project=False)
    assert (removed.state, removed.advice) == ("removed", "it was also the skill of agents")
    assert not os.path.exists(path)


@pytest.mark.parametrize("change", [install_skill, remove_skill])
@pytest.mark.parametrize("linked", [".claude", ".claude/skills", ".claude/skills/scopes"])
def test_a_link_out_of_the_project_is_refused(tmp_path, change, linked):
    """A project may come from somebody else, and its links lead where they want."""
    project, outside = tmp_path / "project", tmp_path / "outside"
    outside.mkdir()
    (project / linked).parent.mkdir(parents=True)
    os.symlink(outside, project / linked)
    with pytest.raises(Refused, match="is outside of the project"):
        change("claude-code", directories(project), project=True)
    assert list(outside.iterdir()) == []


def test_links_inside_the_project_and_in_a_home_directory_are_followed(tmp_path):
    (tmp_path / "dotfiles").mkdir()
    for top in (tmp_path / "home", tmp_path / "project"):
        top.mkdir()
    (tmp_path / "project/dotfiles").mkdir()
    os.symlink(tmp_path / "dotfiles", tmp_path / "home/.claude")
    os.symlink("dotfiles", tmp_path / "project/.claude")
    assert install_skill("claude-code", directories(tmp_path / "home"), project=False).state == "added"
    assert install_skill("claude-code", directories(tmp_path / "project"), project=True).state == "added"


def test_what_is_left_to_do_is_shown_once(top):
    assert "when they start" in install_skill("gemini", top, project=False).advice
    assert install_skill("gemini", top, project=False).advice is None


def test_mistakes_are_named(top):
    with pytest.raises(Invalid, match="not a target of skills") as error:
        install_skill("vim", top, project=False)
    assert "claude-code" in error.value.hint
    os.makedirs(path_of("claude-code", top, project=False))
    with pytest.raises(Refused, match="is not a file"):
        install_skill("claude-code", top, project=False)
    with open(os.path.join(top.home, ".gemini"), "w"):
        pass
    with pytest.raises((Inaccessible, Refused)):
        install_skill("gemini", top, project=False)


def test_the_skill_has_the_fields_that_the_specification_asks_for(top):
    """https://agentskills.io/specification: the name is that of the folder; the description has at most 1,024 characters."""
    found = install_skill("claude-code", top, project=False)
    header = found.text.split("---\n")[1]
    assert re.search(r"^name: scopes$", header, re.MULTILINE)
    description = re.search(r"^description: (.+)$", header, re.MULTILINE)[1]
    assert 1 <= len(description) <= 1024
    assert ": " not in description
    assert os.path.basename(os.path.dirname(found.file)) == "scopes"


def test_every_command_of_the_skill_exists(top):
    text = install_skill("claude-code", top, project=False, only_show=True).text
    lines = re.findall(r"^    scopes (.+)$", text, re.MULTILINE)
    assert len(lines) >= 10
    assert any(line.startswith("why src/") for line in lines)
    for line in lines:
        words = line.split()
        paths = {tuple(words[:n]) for n in (1, 2)} | {(*words[:n],) for n in (1, 2)}
        assert paths & set(TABLE.commands), line


def test_a_folder_that_cannot_be_made_is_an_error(top, monkeypatch):
    def refuse(path, exist_ok):
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(os, "makedirs", refuse)
        with pytest.raises(Inaccessible, match=r"cannot write .*SKILL.md: Read-only"):
            install_skill("claude-code", top, project=False)


def test_a_file_that_cannot_be_deleted_is_an_error(top, monkeypatch):
    path = install_skill("claude-code", top, project=False).file

    def refuse(path):
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", refuse)
        with pytest.raises(Inaccessible, match=r"cannot delete .*SKILL.md: Read-only"):
            remove_skill("claude-code", top, project=False)
    assert os.path.exists(path)


def test_the_hint_for_a_target_that_does_not_exist_lists_the_targets(top):
    with pytest.raises(Invalid) as error:
        install_skill("foo", top, project=False)
    assert error.value.message == "'foo' is not a target of skills"
    assert error.value.hint.startswith("targets: agents, claude-code")


def test_the_skill_is_where_the_variable_of_the_agent_says(tmp_path):
    moved = directories(tmp_path / "home", CLAUDE_CONFIG_DIR=str(tmp_path / "work"))
    done = install_skill("claude-code", moved, project=False)
    assert done.file == str(tmp_path / "work/skills/scopes/SKILL.md")
    assert remove_skill("claude-code", moved, project=False).state == "removed"
    assert install_skill("claude-code", moved, project=True).file == str(
        tmp_path / "home/.claude/skills/scopes/SKILL.md"
    )


def test_the_shared_folder_is_in_the_home_directory_whatever_codex_moves(tmp_path):
    moved = directories(tmp_path, CODEX_HOME=str(tmp_path / "elsewhere"))
    assert path_of("codex", moved, project=False) == str(tmp_path / ".agents/skills/scopes/SKILL.md")


def test_what_a_killed_process_left_goes_with_the_next_change(top):
    """It stayed for ever, and so did the folder of the skill after a removal."""
    path = path_of("claude-code", top, project=False)
    os.makedirs(os.path.dirname(path))
    left = part_of(os.path.join(os.path.dirname(path), ".scopes"))
    for change in (install_skill, remove_skill):
        with open(left, "w") as file:
            file.write("half")
        change("claude-code", top, project=False)
        assert not os.path.exists(left)
    assert not os.path.exists(os.path.dirname(path))


def test_a_note_as_the_skill_tells_it_leaves_the_branch_to_the_session(top, tmp_path, repository):
    """The agent wrote into its own conversation, and the rest of its session was on a hidden branch."""
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b")))
    text = install_skill("claude-code", top, project=False, only_show=True).text
    line = next(each for each in text.splitlines() if each.startswith("    scopes append"))
    _, *words = shlex.split(line.replace("conv-012", "conv-001"))
    for _ in range(2):
        done = scopes("--store", repository.path, *words, table=PRODUCT)
        assert (done.returncode, done.stderr) == (0, "")
    import_demo(repository, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b c")))
    assert (branch_words(repository), branch_words(repository, "notes")) == (
        "a b c",
        "a b what was done what was done",
    )


@pytest.fixture
def places(tmp_path):
    for name in ("home", "shop"):
        (tmp_path / name).mkdir()
    return UserDirectories(str(tmp_path / "home"), str(tmp_path / "shop"), {})


def states(places, *targets):
    return [(row.target, row.condition, row.in_project) for row in skills_status(places, targets).skills]


def detail_of(places, target):
    return skills_status(places, [target]).skills[-1].detail


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def test_nothing_is_installed_at_first_and_each_target_has_a_row_for_the_user(places):
    assert states(places) == [(target, "missing", False) for target in FOLDERS]


@pytest.mark.parametrize("target", FOLDERS)
def test_a_skill_is_installed_then_missing(places, target):
    path = install_skill(target, places, project=False).file
    (found,) = skills_status(places, [target]).skills
    assert (found.condition, found.file, found.detail, found.cure) == ("installed", path, "", "")
    remove_skill(target, places, project=False)
    assert states(places, target) == [(target, "missing", False)]


def test_a_skill_of_the_project_has_a_row_of_its_own_while_it_is_there(places):
    install_skill("claude-code", places, project=True)
    assert states(places, "claude-code") == [("claude-code", "missing", False), ("claude-code", "installed", True)]
    remove_skill("claude-code", places, project=True)
    assert states(places, "claude-code") == [("claude-code", "missing", False)]


def test_a_home_directory_that_is_the_project_has_one_row(places):
    places = places._replace(project=places.home)
    install_skill("agents", places, project=False)
    assert states(places, "agents") == [("agents", "installed", False)]


@pytest.mark.parametrize("project", [False, True])
def test_a_skill_of_an_older_version_is_outdated_until_it_is_installed_again(places, project):
    write(path_of("gemini", places, project=project), OLD)
    found = skills_status(places, ["gemini"]).skills[-1]
    assert (found.condition, found.detail) == ("outdated", "it is not the one of this version of scopes")
    assert found.cure == f"scopes setup gemini --only skill{' --here' if project else ''}"
    install_skill("gemini", places, project=project)
    assert states(places, "gemini")[-1] == ("gemini", "installed", project)


def test_another_skill_of_this_name_is_not_ours(places):
    write(path_of("claude-code", places, project=False), "---\nname: scopes\n---\ntelescopes\n")
    assert states(places, "claude") == [("claude-code", "missing", False)]
    assert detail_of(places, "claude-code") == "another skill has this name"


def test_what_is_not_a_file_is_a_condition_with_its_reason(places):
    os.makedirs(path_of("claude-code", places, project=True))
    found = skills_status(places, ["claude-code"]).skills[-1]
    assert (found.condition, found.in_project) == ("unreadable", True)
    assert found.detail.endswith("is not a file")


def test_an_unknown_target_is_refused_with_those_that_are_known(places):
    with pytest.raises(Invalid) as caught:
        skills_status(places, ["emacs"])
    assert all(target in caught.value.hint for target in FOLDERS)
