"""What goes into the first prompt besides the history: memory and last words of the same project, of others on request."""

from __future__ import annotations

import pytest

from scopes.memory.add import add


def two_projects(desk):
    """Let two other agents work, one in this project and one elsewhere, and remember something of each."""
    elsewhere = desk.folder.parent / "bank"
    elsewhere.mkdir()
    for name, directory in (("reviewer", desk.project), ("banker", elsewhere)):
        editor = desk.editor("--continue", "never", name=name)
        editor.prompt(editor.open(directory), f"I am {name}")
        editor.close()
        add(desk.store, f"{name} was here.", agent=name, directory=str(directory))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], {"reviewer"}),
        (["--memory", "project"], {"reviewer"}),
        (["--memory", "all"], {"reviewer", "banker"}),
        (["--memory", "none"], set()),
    ],
)
def test_text_of_other_projects_is_put_into_a_prompt_only_on_request(desk, options, expected):
    """S0-18, S3-26."""
    two_projects(desk)
    desk.run("remember ALPHA-77", options=["--continue", "never"])
    desk.run("what was it", options=options)
    history, prompt = desk.prompts()[-1]
    assert prompt == "what was it"
    assert "remember ALPHA-77" in history
    assert {name for name in ("reviewer", "banker") if f"echo: I am {name}" in history} == expected
    assert {name for name in ("reviewer", "banker") if f"{name} was here." in history} == expected


def test_another_value_is_refused_before_the_agent_starts(desk):
    editor = desk.editor("--memory", "some", initialize=False)
    assert editor.close() == 2
    assert not (desk.folder / "received").exists()
