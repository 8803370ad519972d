"""Typed and injected user messages."""

from __future__ import annotations

import pytest

from scopes.importers.formats.codex.items import identify_author

TYPED = [
    "Sell tea",
    "\n# Files mentioned by the user:\n\n## pot.png: /pot.png",
    "<b>bold</b>",
    "see <environment_context>",
    "",
]
INJECTED = [
    "<environment_context>\n  <cwd>/home/carol</cwd>",
    "# AGENTS.md instructions for /home/carol\n\n<INSTRUCTIONS>",
    "<user_instructions>\n\nBe brief",
    "<skills_instructions>\n## Skills",
    "  <permissions instructions>\nFilesystem",
    "<collaboration_mode># Collab",
    "<apps_instructions>\n## Apps",
    "<user_shell_command>\n<command>ls</command>",
]


def speaker(*texts, kinds=None, role="user", spawned=False, **fields):
    item = {
        "type": "message",
        "role": role,
        "content": [{"type": "input_text", "text": text} for text in texts],
        **fields,
    }
    if kinds is not None:
        item["internal_chat_message_metadata_passthrough"] = {"content_item_kinds": kinds}
    found = identify_author(item, spawned=spawned)
    return (found.author.kind, found.kind) if found else None


@pytest.mark.parametrize("text", TYPED)
def test_text_without_a_known_prefix_was_typed(text):
    """Transcripts, rule 7."""
    assert speaker(text) == ("human", "prompt")


@pytest.mark.parametrize("text", INJECTED)
def test_text_added_by_codex_is_injected(text):
    assert speaker(text) == ("injected", "meta")


def test_a_message_with_any_typed_text_was_typed():
    assert speaker(INJECTED[0], INJECTED[1]) == ("injected", "meta")
    assert speaker(INJECTED[0], "Sell tea") == ("human", "prompt")


def test_an_interruption_notice_is_an_interruption():
    assert speaker("<turn_aborted>\nStopped.") == ("injected", "interrupt")


def test_the_end_of_a_sub_agent_is_a_notice():
    assert speaker('<subagent_notification>\n{"agent_id":"x"}') == ("injected", "notice")


@pytest.mark.parametrize("role", ["developer", "system", "new"])
def test_instructions_are_injected(role):
    assert speaker("Be brief", role=role) == ("injected", "system")


def test_declared_kinds_override_the_text():
    """0.169: the provenance is marked."""
    assert speaker("<environment_context>", kinds=["user.text"]) == ("human", "prompt")
    assert speaker("Sell tea", kinds=["environments.environment_context"]) == ("injected", "meta")
    assert speaker("Look", "x", kinds=["user.text", "user.image"]) == ("human", "prompt")


@pytest.mark.parametrize("kinds", [[], None, "user.text", [7]])
def test_invalid_kinds_are_ignored_or_count_as_not_typed(kinds):
    assert speaker("Sell tea", kinds=kinds) in {("human", "prompt"), ("injected", "meta")}


def test_the_prompt_of_a_sub_agent_is_not_human():
    assert speaker("Look for tea", spawned=True) == ("injected", "prompt")
    assert speaker(INJECTED[0], spawned=True) == ("injected", "meta")


def test_an_image_was_sent_by_a_person():
    item = {"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}
    assert identify_author(item, spawned=False).author.kind == "human"


@pytest.mark.parametrize("content", ["Sell tea", None, [], [7], {}])
def test_content_of_another_shape_is_human(content):
    assert identify_author({"role": "user", "content": content}, spawned=False).kind == "prompt"


@pytest.mark.parametrize("role", [None, 7, "", []])
def test_without_a_role_there_is_no_author(role):
    assert identify_author({"role": role, "content": "x"}, spawned=False) is None
