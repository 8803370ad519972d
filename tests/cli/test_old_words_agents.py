"""Earlier commands about agents, memory, proposals, facts and the store: those that still run, and what to type now."""

from __future__ import annotations

import pytest

from scopes.cli.command_line import expand_words
from scopes.cli.table import TABLE


@pytest.mark.parametrize(
    ("old", "command", "rest"),
    [
        ("acp stats --json", "acp", ["--log", "--json"]),
        ("agents update bot --away", "agents register", ["--existing", "bot", "--away"]),
        ("budget --model gpt-4o", "tokens", ["--budget", "--model", "gpt-4o"]),
        ("collaborate @ --type handoff", "collaborate open", ["@", "--type", "handoff"]),
        ("collaborate --type handoff", "collaborate open", ["--type", "handoff"]),
        ("collaborate join @", "collaborate argue", ["@"]),
        ("collaborate status -a", "collaborate list", ["-a"]),
        ("facts eligible @", "facts run", ["--dry-run", "@"]),
        ("facts promote @ n20", "facts accept", ["@", "n20"]),
        ("memory search cookie", "memory list", ["cookie"]),
        ("memory stats", "memory list", ["--stat"]),
        ("proposals modify 7d2e --set a=b", "proposals accept", ["7d2e", "--set", "a=b"]),
    ],
)
def test_a_word_that_is_taken_runs(old, command, rest):
    line = expand_words(TABLE, old.split())[1]
    assert (" ".join(line.command.path), line.rest) == (command, rest)


@pytest.mark.parametrize(
    ("old", "now"),
    [
        ("acp log", "acp --log"),
        ("agents available bot", "agents register NAME --available"),
        ("agents away bot", "agents register NAME --away"),
        ("agents export bot", "agents show NAME --card"),
        ("agents import card.json", "agents register NAME --card FILE"),
        ("config get scopes.author", "config KEY"),
        ("config set scopes.author x", "config KEY VALUE"),
        ("config unset scopes.author", "config --unset KEY"),
        ("config list", "config"),
        ("facts explain @ x", "facts show CONV FACT"),
        ("facts key add X", "facts propose CONV KEY TEXT --new-key"),
        ("hooks install codex", "setup AGENT --only hooks"),
        ("hooks status", "setup --status"),
        ("hooks remove codex", "setup AGENT --only hooks --remove"),
        ("mcp install codex", "setup AGENT --only mcp"),
        ("mcp status", "setup --status"),
        ("mcp remove codex", "setup AGENT --only mcp --remove"),
        ("memory show x", "show ENTRY"),
        ("proposals feedback x", "append --kind feedback --reply-to ID"),
        ("repair", "verify --repair"),
        ("skills install codex", "setup AGENT --only skill"),
        ("skills status", "setup --status"),
        ("skills remove codex", "setup AGENT --only skill --remove"),
        ("tokens count x", "tokens WHAT"),
        ("tokens status", "doctor"),
        ("tokens fetch", "tokens --fetch"),
    ],
)
def test_any_other_earlier_word_says_what_to_type_now(conversation, old, now):
    error = conversation.run_refused(*old.split(), code=2)
    assert error["message"].endswith(f" is an old name; now: scopes {now}")
