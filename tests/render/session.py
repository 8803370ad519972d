"""An agent's session as log entries, newest first: tool calls and results, a compaction, an interrupt, a sub-agent."""

from __future__ import annotations

from scopes.conversation.log import LogEntry
from scopes.history.messages import MessageHeader
from scopes.history.sessions import ending_of
from scopes.model.message import Author, FileTouch, Message, Part

_START_SECONDS = 1_767_225_600 - 7200


def _oid(word):
    return (word.encode().hex() + "0" * 40)[:40]


def _entry(word, author, author_kind, kind, *parts, minutes, parents=(), results=(), branches=(), **fields):
    identity = (word + "7" * 26)[:26]
    text = "\n".join(part.text for part in parts if part.type == "text")
    head = MessageHeader(
        id=identity, oid=_oid(word), parents=tuple(map(_oid, parents)), author=author, author_kind=author_kind, kind=kind,
        time=_START_SECONDS + 60 * minutes, subject=" ".join(text.split())[:72] or "(no text)", to=(),
    )  # fmt: skip
    message = Message(id=identity, author=Author(author, author_kind), parts=parts, kind=kind, **fields)
    return LogEntry(
        head=head, message=message, branches=branches, parents=head.parents, results=results, ending=ending_of(message)
    )


def _text(value):
    return Part("text", {"text": value})


def _call(call_id, name, **given):
    return Part("tool_call", {"call_id": call_id, "name": name, "input": given})


def _result(call_id, output, **fields):
    return Part("tool_result", {"call_id": call_id, "output": output, **fields})


_FAILED = _result("c1", "Exit code 1\n$ pytest\ntests/test_login.py F\n1 failed, 40 passed", is_error=True, exit_code=1)
_READ = _result("c2", "    40→\t}\n    41→\tdef login(user):\n    42→\t    return user\n", structured={"file": {}})
_EDITED = _result(
    "c3", "The file has been updated.", structured={"structuredPatch": [{"lines": [" a", "-b", "+c", "+d"]}]}
)
_PATH = "/home/carol/projects/shop/services/authentication/src/login_form_with_a_long_name.py"

SESSION = (
    _entry(
        "found", "explorer", "agent", "answer", _text("Two places set it."), minutes=34, parents=("find",),
        branches=("subagent/explorer",),
    ),
    _entry(
        "find", "user", "injected", "prompt", _text("Find what sets the cookie.\nReport the places."), minutes=33,
        extra={"spawned_by": {"message": "spawn777", "call_id": "c4"}},
    ),
    _entry(
        "again", "user", "injected", "compaction", _text("This session is being continued.\n\n" + "Summary.\n" * 25),
        minutes=32, parents=("stop",), branches=("main",),
    ),
    _entry("stop", "user", "injected", "interrupt", _text("[Request interrupted by user]"), minutes=31, parents=("spawn",)),
    _entry(
        "spawn", "claude-code", "agent", "answer", _call("c4", "Task", description="find the cookie", subagent_type="explorer"),
        minutes=30, parents=("edited",),
    ),
    _entry("edited", "tool", "tool", "tool-results", _EDITED, minutes=4, parents=("edit",), files=(FileTouch(_PATH, "edit"),)),
    _entry(
        "edit", "claude-code", "agent", "answer",
        Part("reasoning", {"text": "The cookie is set in two places.\nOne of them lacks the flag."}),
        _call("c3", "Edit", file_path=_PATH, old_string="b\n", new_string="c\nd\n"),
        minutes=3, parents=("results",), results=(_EDITED,),
    ),
    _entry("results", "tool", "tool", "tool-results", _FAILED, _READ, minutes=2, parents=("calls",)),
    _entry(
        "calls", "claude-code", "agent", "answer", Part("reasoning", {"opaque": "c2VjcmV0"}),
        _text("I will run the tests, and read the form."),
        _call("c1", "Bash", command="cd /home/carol/projects/shop && python -m pytest -q tests/test_login.py 2>&1 | tail -20"),
        _call("c2", "Read", file_path=_PATH), minutes=1, parents=("ask",), results=(_FAILED, _READ),
    ),
    _entry("ask", "carol", "human", "prompt", _text("Why does the login fail on Safari?"), minutes=0, parents=("rules",)),
    _entry(
        "rules", "user", "injected", "meta", _text("<environment_context>\n  <cwd>/home/carol</cwd>\n</environment_context>"),
        minutes=0,
    ),
)  # fmt: skip
