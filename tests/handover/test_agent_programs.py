"""The programs of agents: their names, and where they are looked for."""

from __future__ import annotations

import os

import pytest

from scopes.errors import Invalid
from scopes.handover.agent_programs import PROGRAMS, find_agent_program, read_agent_program
from scopes.hosts.agents import find_program
from scopes.importers.formats.registry import FORMATS


def test_every_agent_has_a_transcript_format_of_its_name():
    assert set(PROGRAMS) <= {known.name for known in FORMATS}


@pytest.mark.parametrize(("name", "agent"), [("claude", "claude-code"), ("Codex", "codex"), ("gemini-cli", "gemini")])
def test_an_agent_is_found_by_each_of_its_names(name, agent):
    assert read_agent_program(name).name == agent


def test_an_unknown_agent_is_an_error_that_lists_the_known_ones():
    with pytest.raises(Invalid) as error:
        read_agent_program("emacs")
    assert error.value.hint == "agents: claude-code, codex, gemini, opencode, pi, qwen"
    assert find_agent_program(None) is None


def test_a_prompt_that_looks_like_an_option_stays_a_prompt():
    assert PROGRAMS["pi"].prompt_words("-h") == [" -h"]
    assert PROGRAMS["pi"].prompt_words("@/etc/passwd") == [" @/etc/passwd"]
    assert PROGRAMS["codex"].prompt_words("-h") == ["--", "-h"]
    assert PROGRAMS["opencode"].prompt_words("-h") == ["--prompt=-h"]
    assert PROGRAMS["opencode"].prompt_words("") == []


def test_a_program_is_taken_from_absolute_directories_only(tmp_path, monkeypatch):
    """A project could hold a program of the agent's name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "codex").write_text("#!/bin/sh\n")
    os.chmod("codex", 0o755)
    assert find_program("codex", f".:{os.pathsep}") is None
    assert find_program("codex", "") is None
    assert find_program("codex", f".:{tmp_path}") == str(tmp_path / "codex")


def test_a_file_that_cannot_be_run_is_no_program(tmp_path):
    (tmp_path / "codex").write_text("")
    (tmp_path / "claude").mkdir()
    assert find_program("codex", str(tmp_path)) is None
    assert find_program("claude", str(tmp_path)) is None
