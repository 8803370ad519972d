"""How a conversation is gone on with: in the agent's own session while that has everything, else in a new one."""

from __future__ import annotations

import os
import subprocess

import pytest

from scopes.clock import new_id, now
from scopes.conversation.branch import branch, rewind
from scopes.conversation.new_rename_delete import new
from scopes.errors import Invalid, NotFound, Refused, ScopesError
from scopes.handover import resume as resume_module
from scopes.ids import AgentName
from scopes.model.message import Author, Message, text_parts
from scopes.server.acp.recordings import SessionWriter, find_newest, identity_of
from scopes.store.projects import find_here
from tests.handover.sessions import Home
from tests.importers.formats.claude_code.logs import SESSION, Log, text
from tests.support.history import history, say
from tests.support.planted import KINDS


@pytest.fixture
def home(tmp_path, repository):
    return Home(tmp_path, repository)


def test_an_unchanged_conversation_opens_the_session_of_its_agent_in_its_directory(home):
    found = home.resume()
    assert (found.agent, found.session, found.session_id, found.reason) == ("claude-code", "own", SESSION, None)
    assert found.command == ("claude", "--resume", SESSION)
    assert found.directory == home.project
    assert found.shell == f"cd {home.project} && claude --resume {SESSION}"


def test_a_session_that_has_grown_since_the_import_is_still_opened(home):
    home.log.user("and the tests?")
    with open(home.file, "wb") as file:
        file.write(home.log.data())
    assert home.resume().session == "own"


def test_a_first_prompt_is_given_to_the_session(home):
    assert home.resume(prompt="-v is wrong").command == ("claude", "--resume", SESSION, "--", "-v is wrong")


def test_a_first_prompt_has_no_blank_lines_around_it(home):
    """A prompt from a file ends with a newline; an agent showed an empty line below it."""
    own = home.resume(prompt="\ngo on\n\nthen test\n")
    assert own.command[-1] == "go on\n\nthen test"
    new_session = home.resume(prompt="\ngo on\n", new=True)
    assert new_session.command[-1].endswith("</conversation_history>\ngo on")
    assert new_session.shell.endswith("$(printf %b '\\ngo on')\"")
    assert home.resume(prompt="\n").command == ("claude", "--resume", SESSION)


def test_the_shell_line_keeps_the_line_breaks_of_a_prompt_on_one_line(home, tmp_path):
    """They became spaces where the line was printed, and code lost its form."""
    prompt = 'fix \\n it\'s:\n\n    if !$x:\n\ty()\x07a `id`\n- "two"'
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nfor last; do :; done\nprintf %s "$last"\n')
    (tmp_path / "bin" / "scopes").write_text("#!/bin/sh\necho history\n")
    for each in program.parent.iterdir():
        each.chmod(0o755)
    environ = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    for anew, before in ((False, ""), (True, "history\n")):
        line = home.resume(prompt=prompt, new=anew).shell
        ran = subprocess.run(["sh", "-c", line], env=environ, capture_output=True, text=True, check=True)
        assert (ran.stdout, "\n" in line) == (before + prompt, False)


def test_the_history_alone_ends_without_an_empty_line(home):
    """What --print shows ends there too: a shell takes newlines from the end of $(...)."""
    assert home.resume(new=True).command[-1].endswith("</conversation_history>")


def test_messages_that_the_session_lacks_need_a_new_session_with_the_history(home):
    say(home.repository, "conv-001", "use integers", author="carol")
    found = home.resume()
    assert (found.session, found.session_id, found.messages) == ("new", None, 3)
    assert "does not end where main ends" in found.reason
    program, separator, prompt = found.command
    assert (program, separator) == ("claude", "--")
    assert prompt.index("hide the prices") < prompt.index("done, in prices.py") < prompt.index("use integers")


def test_a_branch_that_went_back_needs_a_new_session(home):
    rewind(home.repository, "conv-001", count=1)
    found = home.resume()
    assert found.session == "new"
    assert "done, in prices.py" not in found.command[-1]


def test_a_branch_of_the_user_is_no_session(home):
    branch(home.repository, "conv-001", name="try", start="main", switch=False)
    found = home.resume("conv-001/try")
    assert (found.session, found.branch) == ("new", "try")
    assert "not the record of a session" in found.reason


def test_the_import_branch_of_a_session_that_went_on_besides_opens_that_session(home):
    """Its source calls it main, and here main has gone another way."""
    say(home.repository, "conv-001", "use integers")
    home.user(None, "go on please")
    home.log.answer("m2", text("I have read it"), cwd=home.project)
    home.write()
    (name,) = [each for each in _branches(home.repository) if "/import/" in each]
    assert home.resume(name).session_id == SESSION
    assert (home.resume(name).session, home.resume(name).reason) == ("own", None)
    say(home.repository, name, "of my own")
    assert "does not end where" in home.resume(name).reason


def test_a_session_that_had_to_leave_its_branch_is_opened_where_it_goes_on(home):
    """A note of an agent is on main; what was said since is elsewhere, and the next agent did not get it."""
    say(home.repository, "conv-001", "use integers")
    home.user(None, "go on please")
    home.log.answer("m2", text("I have read it"), cwd=home.project)
    home.write()
    (name,) = [each for each in _branches(home.repository) if "/import/" in each]
    found = home.resume()
    assert (found.session, found.session_id, f"conv-001/{found.branch}") == ("own", SESSION, name)
    assert [(note.text, note.hint) for note in found.notes] == [
        (
            f"conv-001/main was moved here: its session goes on from {found.branch}",
            "to go on from there all the same: scopes resume conv-001/main",
        )
    ]
    assert "I have read it" in home.resume(new=True).command[-1]
    named = home.resume("conv-001/main")
    assert (named.branch, "was moved" in str(named.notes)) == ("main", False)


def test_a_fork_that_follows_another_session_opens_that_one(home):
    other = "99999999-2222-4333-8444-555555555555"
    log = Log(other)
    log.records = [{**record, "sessionId": other} for record in home.log.records[:1]]
    log.last = home.log.records[0]["uuid"]
    log.answer("m9", text("no: hide them in the template"), cwd=home.project)
    path = f"{os.path.dirname(home.file)}/{other}.jsonl"
    with open(path, "wb") as file:
        file.write(log.data())
    home.import_file(path)
    found = [each for each in map(home.resume, _branches(home.repository)) if each.session_id == other]
    assert [each.command for each in found] == [("claude", "--resume", other)]


def _branches(repository):
    prefix = "refs/heads/"
    return [ref[len(prefix) :] for ref in repository.list_refs(prefix)]


def test_a_deleted_transcript_is_not_opened(home):
    os.unlink(home.file)
    found = home.resume()
    assert (found.session, found.reason) == ("new", "claude-code no longer has the session")
    assert "hide the prices" in found.command[-1]


def test_a_transcript_that_was_imported_from_a_copy_is_not_opened(tmp_path, repository):
    home = Home(tmp_path, repository)
    copy = tmp_path / "backup.jsonl"
    os.rename(home.file, copy)
    home.import_file(str(copy))
    assert home.resume().reason == "claude-code no longer has the session"


def test_the_folder_of_the_agent_may_be_elsewhere(home, tmp_path):
    moved = tmp_path / "claude"
    os.rename(f"{home.path}/.claude", moved)
    os.symlink(moved, f"{home.path}/.claude")
    assert home.resume(environ={"CLAUDE_CONFIG_DIR": str(moved)}).session == "own"


def test_another_agent_gets_the_history(home):
    found = home.resume(agent="codex")
    assert (found.agent, found.session) == ("codex", "new")
    assert found.command[:2] == ("codex", "--")
    assert found.reason == "the session belongs to claude-code"


@pytest.mark.parametrize(
    ("agent", "before"),
    [("gemini", "--prompt-interactive="), ("opencode", "--prompt="), ("pi", ""), ("qwen", "--prompt-interactive=")],
)
def test_each_agent_takes_its_prompt_in_its_own_way(home, agent, before):
    program, prompt = home.resume(agent=agent).command
    assert program == agent
    assert prompt.startswith(f"{before}<conversation_history>")


def test_an_agent_that_looks_by_directory_does_not_open_its_session_elsewhere(home, tmp_path):
    found = home.resume(directory=str(tmp_path))
    assert (found.session, found.directory) == ("new", str(tmp_path))
    assert "in its own directory only" in found.reason


def test_the_directory_may_be_given_by_another_path(home, tmp_path):
    os.symlink(home.project, tmp_path / "link")
    assert home.resume(directory=str(tmp_path / "link")).session == "own"


def test_a_directory_that_is_gone_is_an_error_with_a_cure(home):
    os.rmdir(home.project)
    with pytest.raises(Refused, match="no longer exists") as error:
        home.resume()
    assert error.value.hint == "run the agent elsewhere: --directory DIR"


def test_a_directory_that_was_given_may_never_have_been_there(home, tmp_path):
    with pytest.raises(Refused, match=f"the directory {tmp_path}/nope does not exist"):
        home.resume(directory=str(tmp_path / "nope"))


@pytest.mark.parametrize("options", [{"directory": "/nope"}, {"directory": "/nope", "agent": "pi"}])
def test_every_error_names_the_conversation(home, options):
    with pytest.raises(ScopesError, match=r"^cannot resume conv-001/main: "):
        home.resume(**options)


def stand_in(repository, directory):
    """Let the user be in a directory."""
    here = find_here(directory, repository.path)
    repository.caller = repository.caller._replace(find_project=lambda: here)


@pytest.mark.parametrize("recorded", ["", ".", "shop"])
def test_without_a_name_no_conversation_is_taken_whose_directory_is_no_path(home, monkeypatch, recorded):
    """The current directory would be taken for it, wherever that is."""
    made = new(home.repository, directory=recorded)
    say(home.repository, made.id, "rotate the keys of the bank")
    os.makedirs(f"{home.path}/empty/shop")
    monkeypatch.chdir(f"{home.path}/empty")
    stand_in(home.repository, f"{home.path}/empty")
    with pytest.raises(NotFound, match=r"no conversation of this project \(empty\)"):
        home.resume(None, agent="codex")


def test_the_first_prompt_has_nothing_of_other_projects(home, tmp_path):
    """The printed command asks for the same."""
    for name, directory in (("shop", home.project), ("bank", str(tmp_path / "bank"))):
        where = new(home.repository, directory=directory).id
        say(home.repository, where, f"The {name} has a cellar.", author={"name": name, "kind": "agent"})
    found = home.resume(new=True)
    assert [f"The {name} has a cellar." in found.command[-1] for name in ("shop", "bank")] == [True, False]
    assert "--for-prompt --memory project --secrets redact -n 50 --max-tokens" in found.shell


def test_a_directory_of_another_user_is_refused_unless_it_is_given(home, monkeypatch):
    """An agent reads settings of its directory that name programs."""
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    os.chown(home.project, 54321, -1)
    with pytest.raises(Refused, match="belongs to another user"):
        home.resume()
    assert home.resume(directory=home.project).session == "own"


@pytest.mark.parametrize("session", ["--dangerously-skip-permissions", "a b", "../x", "", "x\ny", "a" * 200])
def test_a_session_id_that_could_be_an_option_is_never_passed_on(home, session):
    assert resume_module.read_agent_program("claude").resume_words(session) is None


def test_a_hostile_recorded_session_id_begins_a_new_session(home):
    log = Log("--dangerously-skip-permissions")
    log.user("x", cwd=home.project)
    path = f"{os.path.dirname(home.file)}/x.jsonl"
    with open(path, "wb") as file:
        file.write(log.data())
    home.import_file(path)
    found = home.resume("conv-002")
    assert found.session == "new"
    assert "--dangerously-skip-permissions" not in found.command[:-1]


@pytest.fixture
def installed(tmp_path):
    """Return the environment in which only Codex is installed."""
    program = tmp_path / "installed" / "codex"
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o755)
    return {"PATH": str(program.parent)}


def test_a_conversation_of_no_agent_names_one_that_is_installed(repository, home, installed):
    made = history(repository, "main: a b")
    with pytest.raises(Refused, match="not recorded from an agent") as error:
        home.resume(made.conversation, environ=installed)
    assert error.value.hint == f"name one: scopes resume {made.conversation} --in codex"
    assert home.resume(made.conversation, agent="codex").directory is None
    with pytest.raises(Refused) as error:
        home.resume(f"{made.conversation}/main", environ=installed)
    assert f"scopes resume {made.conversation}/main --in codex" in error.value.hint


def test_without_an_installed_agent_the_hint_lists_those_that_can_be_started(repository, home):
    made = history(repository, "main: a b")
    with pytest.raises(Refused) as error:
        home.resume(made.conversation)
    expected = "no agent that can be started is in PATH: install one of claude-code, codex, gemini, opencode, pi, qwen"
    assert error.value.hint == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"agent": "vim"}, "not an agent that can be started"),
    ],
)
def test_mistakes_are_named(home, options, expected):
    with pytest.raises(Invalid, match=expected):
        home.resume(**({"new": True} | options))


def test_an_unknown_conversation_is_not_found(home):
    with pytest.raises(NotFound):
        home.resume("conv-099")


def test_a_session_behind_the_proxy_is_opened_by_its_id(home, repository):
    """S0-8."""
    identity = identity_of("opencode", home.project)
    writer = SessionWriter(repository, identity, "ses_42", "run-1", find_newest(repository, identity))
    writer.append(_live_message("what is left?"))
    where = str(writer.recorded.conversation)
    found = home.resume(where)
    assert found.command == ("opencode", "--session", "ses_42")
    assert found.directory == os.path.realpath(home.project)
    say(repository, where, "more")
    assert home.resume(where).session == "new"


@pytest.mark.parametrize(
    ("adapter", "command"),
    [
        ("@agentclientprotocol/codex-acp", ("codex", "resume", "01a2198a")),
        ("@zed-industries/claude-code-acp", ("claude", "--resume", "01a2198a")),
    ],
)
def test_a_session_behind_an_adapter_is_one_of_its_agent(repository, home, adapter, command):
    """The adapters of npm give the name of their package: Codex was not resumed."""
    identity = identity_of(adapter, home.project)
    writer = SessionWriter(repository, identity, "01a2198a", "run-1", None)
    writer.append(_live_message("what is left?"))
    found = home.resume(str(writer.recorded.conversation))
    assert (found.command, found.session) == (command, "own")


def _live_message(words):
    author = Author(AgentName("carol"), "human")
    return Message(id=new_id(), author=author, parts=text_parts(words), time=now(), extra={"acp": {"run": "run-1"}})


def test_the_line_for_a_shell_runs_the_same_command(home, tmp_path):
    """A program in place of the agent prints its arguments; the history comes from `scopes history`."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "claude").write_text('#!/bin/sh\npwd\nprintf "[%s]\\n" "$@"\n')
    (bin_ / "scopes").write_text('#!/bin/sh\nprintf "(%s)" "$@"\n')
    for name in ("claude", "scopes"):
        os.chmod(bin_ / name, 0o755)
    found = home.resume(new=True, prompt='go "on" $HOME `id` \\', store_options=("--store", "/a b"))
    done = subprocess.run(
        ["sh", "-c", found.shell], check=True, capture_output=True, text=True, env={"PATH": f"{bin_}:/usr/bin:/bin"}
    )
    words = "(--store)(/a b)(context)(conv-001/main)(--for-prompt)(--memory)(project)(--secrets)(redact)(-n)(50)(--max-tokens)(20000)"
    assert done.stdout == f'{os.path.realpath(home.project)}\n[--]\n[{words}\ngo "on" $HOME `id` \\]\n'


def test_a_directory_that_is_a_file_is_refused(home, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(Refused, match="is not a directory"):
        home.resume(directory=str(tmp_path / "file"))


@pytest.mark.parametrize("recorded", ["shop", "/work/\x1b[31m", "../shop"])
def test_a_recorded_directory_that_is_no_plain_path_is_not_used(home, recorded):
    """It comes from a transcript, which may be somebody else's."""
    log = Log("22222222-2222-4333-8444-555555555555")
    log.user("x", cwd=recorded)
    path = f"{os.path.dirname(home.file)}/22222222-2222-4333-8444-555555555555.jsonl"
    with open(path, "wb") as file:
        file.write(log.data())
    home.import_file(path)
    assert home.resume("conv-002", agent="codex").directory is None


def test_a_conversation_with_a_damaged_root_is_named(home, monkeypatch):
    monkeypatch.setattr(resume_module, "find_root_commit", lambda *_: None)
    with pytest.raises(NotFound, match="cannot resume conv-001/main: its root is damaged"):
        home.resume()


@pytest.mark.parametrize("is_file", [True, False])
def test_a_token_in_a_directory_is_in_no_error(home, tmp_path, is_file):
    directory = tmp_path / f"work-{KINDS[1][1]}"
    if is_file:
        directory.write_text("x")
    with pytest.raises(Refused) as refusal:
        home.resume(directory=str(directory))
    assert "[redacted:github-token]" in refusal.value.message
    assert KINDS[1][1][4:] not in refusal.value.message


def test_a_token_in_a_directory_without_conversations_is_not_shown(home):
    stand_in(home.repository, f"/work/{KINDS[1][1]}")
    with pytest.raises(NotFound) as refusal:
        home.resume(None)
    assert KINDS[1][1][4:] not in f"{refusal.value.message} {refusal.value.hint}"
