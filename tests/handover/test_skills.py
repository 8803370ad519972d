"""The skill file of an agent: written whole, never over a file of somebody else, and taken away again."""

from __future__ import annotations

import os
import re
import shlex

import pytest

from scopes.cli.table import TABLE
from scopes.errors import Inaccessible, Invalid, Refused
from scopes.handover import skills
from scopes.handover.skills import FOLDERS, install_skill, path_of, remove_skill
from scopes.hosts.agents import UserDirectories
from scopes.part_files import part_of
from tests.cli.running import PRODUCT, scopes
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import branch_words, import_demo


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
        file.write(skills._with_checksum("---\nmetadata:\n  generator: scopes\n---\nold words\n"))
    assert install_skill("claude-code", top, project=False).state == "replaced"
    with open(path) as file:
        assert "old words" not in file.read()


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
@pytest.mark.parametrize("change", [install_skill, remove_skill])
def test_a_skill_that_the_user_edited_is_neither_replaced_nor_deleted_without_force(top, agent, change):
    path = install_skill(agent, top, project=False).file
    with open(path, "a") as file:
        file.write("my words\n")
    with pytest.raises(Refused, match="was edited after scopes had written it") as error:
        change(agent, top, project=False)
    assert "--force" in error.value.hint
    with open(path) as file:
        assert file.read().endswith("my words\n")
    assert change(agent, top, project=False, force=True).state in {"replaced", "removed"}


def test_a_skill_without_a_checksum_may_have_been_edited(top):
    path = install_skill("gemini", top, project=False).file
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(re.sub("  checksum: .*\n", "", text) + "other words")
    with pytest.raises(Refused, match="was edited"):
        remove_skill("gemini", top, project=False)


def test_a_skill_that_was_written_with_the_help_of_print_is_ours(top):
    path = path_of("gemini", top, project=False)
    os.makedirs(os.path.dirname(path))
    with open(path, "w") as file:
        file.write(install_skill("gemini", top, project=False, only_show=True).text)
    assert remove_skill("gemini", top, project=False).state == "removed"


def test_a_shared_skill_that_was_edited_stays_with_the_edits_for_the_others(top):
    for agent in ("codex", "agents"):
        path = install_skill(agent, top, project=False).file
    with open(path, "a") as file:
        file.write("my words\n")
    assert remove_skill("codex", top, project=False).state == "kept"
    with open(path) as file:
        assert file.read().endswith("my words\n")
    with pytest.raises(Refused, match="was edited"):
        remove_skill("agents", top, project=False)


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


def test_another_skill_that_was_replaced_with_force_is_back_after_the_removal(top):
    path = path_of("codex", top, project=True)
    os.makedirs(os.path.dirname(path))
    with open(path, "wb") as file:
        file.write(b"mine \xff\n")
    done = install_skill("codex", top, project=True, force=True)
    assert f"the file as it was: {path}.before-scopes" in done.advice
    assert "is back" in remove_skill("codex", top, project=True).advice
    with open(path, "rb") as file:
        assert file.read() == b"mine \xff\n"
    assert os.listdir(os.path.dirname(path)) == ["SKILL.md"]


def test_an_edited_skill_that_is_replaced_with_force_is_kept_and_stays_kept(top):
    path = install_skill("gemini", top, project=False).file
    with open(path, "a") as file:
        file.write("my words\n")
    os.symlink(__file__, f"{path}.before-scopes-change")  # of a hostile project
    assert f"{path}.before-scopes-change" in install_skill("gemini", top, project=False, force=True).advice
    remove_skill("gemini", top, project=False)
    assert os.listdir(os.path.dirname(path)) == ["SKILL.md.before-scopes-change"]
    with open(f"{path}.before-scopes-change") as file:
        assert file.read().endswith("my words\n")


def test_a_skill_of_which_no_copy_can_be_kept_is_not_replaced(top):
    path = install_skill("gemini", top, project=False).file
    os.mkdir(f"{path}.before-scopes")
    with open(path, "w") as file:
        file.write("mine\n")
    with pytest.raises(Inaccessible, match=r"cannot write .*before-scopes"):
        install_skill("gemini", top, project=False, force=True)
    with open(path) as file:
        assert file.read() == "mine\n"


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


def read(changed):
    with open(changed.file) as file:
        return file.read()


def test_a_shared_folder_keeps_the_skill_for_the_others(top):
    for agent in ("codex", "agents"):
        added = install_skill(agent, top, project=False)
    assert "\n  installed-for: agents codex\n" in read(added).split("---\n")[1]
    kept = remove_skill("codex", top, project=False)
    assert kept.state == "kept"
    assert kept.advice == "it stays for agents; to delete it: scopes setup agents --only skill --remove"
    assert "\n  installed-for: agents\n" in read(added)
    assert remove_skill("codex", top, project=False).state == "kept"
    assert remove_skill("agents", top, project=False).state == "removed"
    assert not os.path.exists(added.file)


def test_the_others_of_a_project_are_named_with_the_option_for_it(top):
    install_skill("agents", top, project=True)
    assert remove_skill("codex", top, project=True).advice.endswith(
        ": scopes setup agents --only skill --remove --here"
    )


def test_with_force_a_shared_skill_is_deleted_for_all(top):
    path = install_skill("agents", top, project=False).file
    assert remove_skill("codex", top, project=False, force=True).state == "removed"
    assert not os.path.exists(path)


def test_of_a_file_that_does_not_say_for_whom_it_is_the_others_are_named(top):
    """Files of older versions do not say it."""
    path = install_skill("agents", top, project=False).file
    with open(path) as file:
        text = file.read().replace("  installed-for: agents\n", "")
    with open(path, "w") as file:
        file.write(text)
    removed = remove_skill("codex", top, project=False)
    assert (removed.state, removed.advice) == ("removed", "it was also the skill of agents")


def test_a_folder_of_one_agent_names_nobody(top):
    assert "installed-for" not in install_skill("claude-code", top, project=False).text


def test_a_list_of_agents_in_the_text_is_not_one_of_the_header(top):
    path = install_skill("agents", top, project=False).file
    with open(path, "a") as file:
        file.write("\n---\n\n  installed-for: codex\n")
    assert "\n  installed-for: agents\n" in install_skill("agents", top, project=False, force=True).text


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
        with pytest.raises(Inaccessible, match=r"cannot make .*scopes: Read-only"):
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


def test_bytes_of_somebody_else_in_a_shared_file_stay(top):
    """A file that was changed with another encoding is written again as it is, without one agent in its list."""
    for agent in ("agents", "codex"):
        path = install_skill(agent, top, project=False).file
    with open(path, "ab") as file:
        file.write(b"\xff\n")
    assert remove_skill("codex", top, project=False).state == "kept"
    with open(path, "rb") as file:
        assert file.read().endswith(b"\xff\n")


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
