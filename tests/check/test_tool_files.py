"""File tools of MCP servers and of agents without a table, for the rules about files and secrets, and in the hook."""

from __future__ import annotations

import pytest

from scopes.check.tool_files import edits_of_tool
from tests.check.made_runs import DENIED, FAILED, WORKSPACE, judge, make_run, shell
from tests.check.sessions import run_check, write_session
from tests.check.test_hook import decide

PROTECTED, OUTSIDE, READ = "files/protected", "files/outside-workspace", "secrets/read"
CALLS = [
    ("mcp__fs__write_file", {"path": "a", "content": "x"}, [("edit", "a")]),
    ("mcp__filesystem__edit_file", {"path": "a", "edits": [{"oldText": "a", "newText": "b"}]}, [("edit", "a")]),
    ("mcp__filesystem__edit_file", {"path": "a", "edits": [], "dryRun": True}, [("read", "a")]),
    ("mcp__filesystem__move_file", {"source": "a", "destination": "b"}, [("delete", "a"), ("create", "b")]),
    ("mcp__filesystem__create_directory", {"path": "a"}, [("edit", "a")]),
    ("mcp__filesystem__read_text_file", {"path": "a"}, [("read", "a")]),
    ("mcp__filesystem__read_multiple_files", {"paths": ["a", "b"]}, [("read", "a"), ("read", "b")]),
    ("mcp__x__copy_file", {"src": "a", "dst": "b"}, [("read", "a"), ("create", "b")]),
    ("mcp__x__renameFile", {"oldPath": "a", "newPath": "b"}, [("delete", "a"), ("create", "b")]),
    ("mcp__x__delete_path", {"path": "a"}, [("delete", "a")]),
    ("mcp__serena__replace_lines", {"relative_path": "a", "content": ""}, [("edit", "a")]),
    ("mcp__x__write_file", {"filename": "a", "text": ""}, [("edit", "a")]),
    ("mcp__x__WriteFile", {"FilePath": "a"}, [("edit", "a")]),
    ("mcp__x__write_files", {"files": [{"path": "a", "content": ""}, {"path": "b"}]}, [("edit", "a"), ("edit", "b")]),
    ("fs.write_file", {"path": "a"}, [("edit", "a")]),
    ("create_file", {"filePath": "a"}, [("edit", "a")]),
    ("insert_edit_into_file", {"filePath": "a"}, [("edit", "a")]),
    ("mcp__x__write_file", {"uri": "file:///a%20b"}, [("edit", "/a b")]),
    ("str_replace_based_edit_tool", {"command": "view", "path": "a"}, [("read", "a")]),
    ("str_replace_based_edit_tool", {"command": "create", "path": "a"}, [("edit", "a")]),
    ("str_replace_editor", {"command": "str_replace", "path": "a"}, [("edit", "a")]),
    ("mcp__github__create_or_update_file", {"owner": "o", "repo": "r", "path": "a", "content": ""}, []),
    ("mcp__x__write_file", {"url": "https://x/a", "path": "a"}, []),
    ("mcp__x__write_file", {"uri": "s3://bucket/a"}, []),
    ("mcp__linear__create_issue", {"title": "a", "target": "b", "file": "c"}, []),
    ("mcp__fs__list_directory", {"path": "a"}, []),
    ("mcp__ide__getDiagnostics", {"uri": "file:///w/.env"}, []),
    ("mcp__serena__get_symbols_overview", {"relative_path": "a"}, []),
    ("mcp__jetbrains__get_file_text_by_path", {"pathInProject": "a"}, [("read", "a")]),
    ("mcp__jetbrains__replace_text_in_file", {"pathInProject": "a", "oldText": "", "newText": ""}, [("edit", "a")]),
    ("mcp__x__get_contents", {"path": "a"}, [("read", "a")]),
    ("mcp__fs__search_files", {"path": "a", "pattern": "b"}, []),
    ("Glob", {"path": "a"}, []),
    ("mcp__x__write_file", {"path": 3, "paths": [None, {"x": 1}, ""]}, []),
    ("mcp__x__write_file", {}, []),
    ("", {"path": "a"}, []),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), CALLS)
def test_what_a_tool_does_to_files(name, arguments, expected):
    assert [(edit.op, edit.path) for edit in edits_of_tool(name, arguments)] == expected


@pytest.mark.parametrize(
    ("rule", "name", "arguments"),
    [
        (PROTECTED, "mcp__fs__write_file", {"path": ".git/config"}),
        (PROTECTED, "mcp__fs__edit_file", {"path": f"{WORKSPACE}/.github/workflows/ci.yml"}),
        (PROTECTED, "mcp__fs__move_file", {"source": "a", "destination": ".git/hooks/pre-commit"}),
        (PROTECTED, "mcp__fs__move_file", {"source": ".git/hooks/pre-commit", "destination": "a"}),
        (PROTECTED, "mcp__fs__create_directory", {"path": ".claude/commands"}),
        (PROTECTED, "mcp__fs__write_file", '{"path": ".claude/settings.json"}'),
        (OUTSIDE, "mcp__fs__write_file", {"path": "/etc/passwd"}),
        (OUTSIDE, "mcp__fs__move_file", {"source": "a", "destination": "../a"}),
        (OUTSIDE, "mcp__fs__delete_file", {"path": "~/.bashrc"}),
        (READ, "mcp__fs__read_file", {"path": "/home/dev/.ssh/id_rsa"}),
        (READ, "mcp__fs__read_multiple_files", {"paths": ["a", ".env"]}),
        (READ, "mcp__fs__copy_file", {"source": ".env", "destination": "x"}),
    ],
)
def test_a_file_tool_of_an_mcp_server_is_judged_in_a_run_and_in_the_hook(rule, name, arguments):
    parameters = {PROTECTED: {"paths": [".git/**", ".github/**", ".claude/**"]}, OUTSIDE: {"allow": []}}
    given = parameters.get(rule, {"allow": [], "commands": []})
    assert judge(rule, make_run((name, arguments, "ok")), **given).status == "fail"
    decision = decide(tool=name, given=arguments)
    assert (decision.action, rule in decision.reason) == ("ask" if rule == READ else "deny", True), decision


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("mcp__fs__write_file", {"path": "src/a.py"}),
        ("mcp__fs__move_file", {"source": "a", "destination": "b"}),
        ("mcp__fs__read_file", {"path": "README.md"}),
        ("mcp__fs__list_directory", {"path": ".git"}),
        ("mcp__fs__read_file", {"path": ".git/config"}),
        ("mcp__linear__create_issue", {"title": ".git/config"}),
    ],
)
def test_other_calls_of_mcp_servers_pass(name, arguments):
    assert decide(tool=name, given=arguments).action == "pass"


def test_a_refused_or_failed_write_is_an_attempt():
    for result in (DENIED, FAILED):
        run = make_run(("mcp__fs__write_file", {"path": "/etc/x"}, result))
        (finding,) = judge(OUTSIDE, run, allow=[]).findings
        assert finding.attempted


def test_a_shell_of_an_mcp_server_stays_a_shell():
    run = make_run(("mcp__x__run_command", {"command": "ls", "path": ".git/config"}, 0), shell("ls"))
    assert all(call.edits == () for call in run.calls)


@pytest.mark.parametrize(("path", "code"), [(".git/hooks/pre-commit", 1), ("src/a.py", 0)])
def test_the_program_reports_a_write_by_an_mcp_server(tmp_path, capsys, path, code):
    session = write_session(
        tmp_path / "t.jsonl", ("mcp__fs__write_file", {"path": path, "content": "x"}, 0), shell("pytest")
    )
    found, shown = run_check(capsys, session)
    assert (found, PROTECTED in shown) == (code, bool(code)), shown
