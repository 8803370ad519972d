"""Shell commands of a side make the text of a contested file unknown unless they only read it."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch
from scopes.conversation.merge import merge
from scopes.conversation.new import new
from tests.support.history import say
from tests.support.tool_calls import call_tool

FILE = "src/f.py"
TEXT = "".join(f"line {number}\n" for number in range(1, 41))


def outcome(repository, command, *, other_line, tool="Bash"):
    """Edit line 3 and run a command on one side, edit a line on the other side; return the outcome of the merge."""
    new(repository, directory="/work/proj")
    say(repository, "conv-001", "fix it")
    branch(repository, "conv-001", name="alt", switch=False)
    for where, line in (("main", 3), ("alt", other_line)):
        arguments = {"file_path": FILE, "old_string": f"line {line}\n", "new_string": "x\n"}
        structured = {"filePath": FILE, "originalFile": TEXT}
        call_tool(repository, f"conv-001/{where}", "Edit", arguments, structured=structured)
    call_tool(repository, "conv-001/main", tool, {"command": command}, exit_code=0)
    [file] = merge(repository, "conv-001", "alt", target="main", dry_run=True).files
    return file.outcome


@pytest.mark.parametrize("other_line", [3, 30])
@pytest.mark.parametrize(
    "command",
    [
        "sed -i 's|line 30|T30|' src/f.py",
        "python3 - <<'E'\nfrom pathlib import Path\nPath('src/f.py').write_text('x')\nE",
        "sed -i 's/line 30/T30/' src/*.py",
        "git checkout .",
        "git stash",
        "git rm --cached src/f.py",
    ],
)
def test_a_command_that_may_change_the_file_makes_its_text_unknown(repository, command, other_line):
    assert outcome(repository, command, other_line=other_line) == "unknown"


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("mcp__host__run_command", "unknown"),
        ("mcp__desktop__execute_command", "unknown"),
        ("mcp__x__shell", "unknown"),
        ("mcp__host__describe_command_history", "compatible"),
        ("mcp__docs__search", "compatible"),
    ],
)
def test_a_shell_of_an_mcp_server_writes_files_as_any_shell_does(repository, tool, expected):
    assert outcome(repository, "sed -i 's|line 30|T30|' src/f.py", other_line=30, tool=tool) == expected


@pytest.mark.parametrize(
    "command", ["git diff", "cd src && grep -n 'a;b' f.py | head", "rm -rf build", "go test ./..."]
)
def test_a_command_that_only_reads_leaves_its_text_known(repository, command):
    assert outcome(repository, command, other_line=30) == "compatible"


@pytest.mark.parametrize("other_line", [3, 30])
@pytest.mark.parametrize(
    "command", ["rm -rf src", "git rm -r src", "git rm -f src/f.py && git status", "rm a.py src/f.py"]
)
def test_a_command_that_removes_the_file_or_its_directory_disagrees_with_an_edit(repository, command, other_line):
    assert outcome(repository, command, other_line=other_line) == "overlap"


def compared(repository, target, source, *, line=3):
    """Edit the same line on both sides, then run a command on each; return the outcome of the merge."""
    new(repository, directory="/work/proj")
    say(repository, "conv-001", "fix it")
    branch(repository, "conv-001", name="alt", switch=False)
    for where, number, command in (("main", 3, target), ("alt", line, source)):
        arguments = {"file_path": FILE, "old_string": f"line {number}\n", "new_string": "x\n"}
        structured = {"filePath": FILE, "originalFile": TEXT}
        call_tool(repository, f"conv-001/{where}", "Edit", arguments, structured=structured)
        call_tool(repository, f"conv-001/{where}", "Bash", {"command": command}, exit_code=0)
    return {file.path: (file.outcome, file.note) for file in merge(repository, "conv-001", "alt", target="main").files}


@pytest.mark.parametrize(
    ("target", "source"),
    [
        ("rm src/f.py", "git rm -f src/f.py && git status"),
        ("rm -r src", "git rm -q src/f.py"),
        ("git mv src/f.py src/g.py", "git mv src/f.py src/g.py"),
        ("git mv src/f.py src/h.py && git mv src/h.py src/g.py", "mv src/f.py src/g.py"),
        ("git mv src lib", "mv src lib"),
        ("mkdir -p lib && mv src/f.py lib/", "mkdir -p lib && mv src/f.py lib/f.py"),
        ("mv src/f.py ./src/../g.py", "mv src/f.py g.py"),
        ("cd src && rm f.py", "rm src/f.py"),
        ("cd src && git mv f.py g.py", "git mv src/f.py src/g.py"),
        ("cd /work/proj/src && mv f.py .. && cd .. && rm f.py", "rm src/f.py"),
        ("sed -i 's/line 4/Y/' src/f.py", "sed -i 's/line 4/Y/' src/f.py"),
    ],
)
def test_equal_effects_of_commands_are_the_same(repository, target, source):
    assert compared(repository, target, source)[FILE] == ("same", None)


def test_the_same_command_on_different_texts_is_unknown(repository):
    command = "sed -i 's/line 4/Y/' src/f.py"
    assert compared(repository, command, command, line=30)[FILE][0] == "unknown"


@pytest.mark.parametrize(
    ("source", "note"),
    [
        ("git mv src/f.py src/h.py", "the target renamed it to src/g.py, the source renamed it to src/h.py"),
        ("rm src/f.py", "the target renamed it to src/g.py, the source deleted it"),
    ],
)
def test_a_file_renamed_to_two_paths_disagrees(repository, source, note):
    assert compared(repository, "git mv src/f.py src/g.py", source)[FILE] == ("overlap", note)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rm src/f.py", {FILE: "overlap"}),
        ("rm -r src", {FILE: "overlap"}),
        ("git mv src/f.py src/g.py", {FILE: "overlap"}),
        ("sed -i 's/line 30/Q/' src/f.py", {FILE: "unknown"}),
        ("rm -rf build src/other.py", {}),
        ("grep -n x src/f.py > /dev/null", {}),
    ],
)
@pytest.mark.parametrize("where", ["main", "alt"])
def test_a_file_that_one_side_changed_only_by_a_command_is_listed(repository, where, command, expected):
    new(repository, directory="/work/proj")
    say(repository, "conv-001", "fix it")
    branch(repository, "conv-001", name="alt", switch=False)
    arguments = {"file_path": FILE, "old_string": "line 3\n", "new_string": "x\n"}
    call_tool(repository, f"conv-001/{where}", "Edit", arguments, structured={"filePath": FILE, "originalFile": TEXT})
    other = "alt" if where == "main" else "main"
    call_tool(repository, f"conv-001/{other}", "Bash", {"command": command}, exit_code=0)
    found = merge(repository, "conv-001", "alt", target="main")
    assert {file.path: file.outcome for file in found.files} == expected


@pytest.mark.parametrize(("source", "expected"), [("g", {FILE: "same"}), ("h", {FILE: "overlap"})])
def test_a_file_that_both_sides_only_renamed_is_listed(repository, source, expected):
    new(repository, directory="/work/proj")
    say(repository, "conv-001", "fix it")
    branch(repository, "conv-001", name="alt", switch=False)
    for where, name in (("main", "g"), ("alt", source)):
        call_tool(repository, f"conv-001/{where}", "Bash", {"command": f"git mv {FILE} src/{name}.py"}, exit_code=0)
    files = merge(repository, "conv-001", "alt", target="main").files
    assert {file.path: file.outcome for file in files if file.path == FILE} == expected


@pytest.mark.parametrize(("command", "outcome"), [("mv src/f.py lib", "same"), ("mv src lib", "unknown")])
def test_a_rename_to_a_directory_that_other_files_are_in_moves_into_it(repository, command, outcome):
    new(repository, directory="/work/proj")
    say(repository, "conv-001", "fix it")
    branch(repository, "conv-001", name="alt", switch=False)
    for where, moved in (("main", command), ("alt", "mv src/f.py lib/f.py")):
        call_tool(repository, f"conv-001/{where}", "Write", {"file_path": f"lib/{where}.py", "content": "x"})
        arguments = {"file_path": FILE, "old_string": "line 3\n", "new_string": "x\n"}
        edited = {"filePath": FILE, "originalFile": TEXT}
        call_tool(repository, f"conv-001/{where}", "Edit", arguments, structured=edited)
        call_tool(repository, f"conv-001/{where}", "Bash", {"command": moved}, exit_code=0)
    files = merge(repository, "conv-001", "alt", target="main").files
    assert {file.path: file.outcome for file in files}[FILE] == outcome
