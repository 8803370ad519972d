"""What git-ai and Agent Trace say about commits: a reason more, never enough, and never an error."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.code_links.foreign_notes import MAX_BYTES, describe_claim, format_of, note_keys, parse_note, parse_trace
from scopes.code_links.known_links import KnownLinks
from scopes.code_links.linked_commits import open_linker
from scopes.code_links.project_git import find_project_repository, open_project_git
from scopes.code_links.recorded_links import RecordedCommits
from scopes.code_links.why import WhyRequest, why
from scopes.history.handles import read_uuid
from tests.code_links.agent_session import SESSION, ClaudeSession
from tests.support.worktrees import Project

A = "a" * 40
NOTE = """\
src/app.py
  0123456789abcdef 1-4,7
  s_0123456789abcd::t_1 9
"a file with blanks.py"
  0123456789abcdef 10
---
"""
AGENT = {"tool": "claude", "id": SESSION, "model": "claude-x"}


def note(field="prompts", key="0123456789abcdef", agent=AGENT, version="authorship/3.0.0", text=NOTE):
    document = {"schema_version": version, "base_commit_sha": A, field: {key: {"agent_id": agent, "human_author": "a"}}}
    return (text + json.dumps(document, indent=2)).encode()


def trace(commit=A, url=f"https://example.org/{SESSION}", tool="claude-code", **changes):
    conversation = {"url": url, "contributor": {"type": "ai"}, "ranges": [{"start_line": 1, "end_line": 5}]}
    record = {
        "version": "0.1", "id": SESSION, "timestamp": "2026-01-01T00:00:00Z", "vcs": {"type": "git", "revision": commit},
        "tool": {"name": tool}, "files": [{"path": "a.py", "conversations": [conversation]}], **changes,
    }  # fmt: skip
    return json.dumps(record).encode()


def test_a_note_of_git_ai_names_sessions_and_their_lines():
    (claim,) = parse_note(note())
    assert (claim.program, claim.tool, claim.session, claim.lines) == ("git-ai", "claude-code", SESSION, 6)
    (claim,) = parse_note(note("sessions", "s_0123456789abcd", {"tool": "codex"}))
    assert (claim.tool, claim.session, claim.key, claim.lines) == ("codex", None, "s_0123456789abcd", 1)


def test_git_ai_names_a_session_by_a_hash():
    digest = sha256(f"claude:{SESSION}".encode()).hexdigest()
    assert {digest[:16], f"s_{digest[:14]}"} <= set(note_keys("claude-code", SESSION))
    assert note_keys("no-agent", SESSION) == []
    assert (format_of("Claude Code"), format_of("gemini-cli"), format_of("emacs")) == ("claude-code", "gemini", None)


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff" * 100, b"no note", note(version="other/1"), note(agent=None), note(agent={"tool": 5}), note(agent=[]),
     NOTE.encode() + b"[" * 100_000, NOTE.encode() + b'{"schema_version": "authorship/3.0.0", "prompts": [1]}',
     b"x" * (MAX_BYTES + 1) + note()],
)  # fmt: skip
def test_what_is_no_note_of_git_ai_says_nothing(data):
    assert parse_note(data) == []


def test_an_id_that_no_agent_writes_is_left_out():
    assert [claim.session for claim in parse_note(note(agent={"tool": "codex", "id": "a b\n"}))] == [None]


def test_a_record_of_agent_trace_names_conversations_and_their_lines():
    commit, (claim,) = parse_trace(trace())
    assert (commit, claim.tool, claim.session, claim.lines) == (A, "claude-code", SESSION, 5)
    _, (claim,) = parse_trace(trace(url="urn:uuid:1-2-3"))
    assert (claim.uuid, claim.session) == ("1-2-3", None)


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, trace(vcs=None), trace(vcs={"type": "jj", "revision": A}), trace(files=5),
     trace(files=None), b" " * MAX_BYTES + trace()],
)  # fmt: skip
def test_what_is_no_record_of_agent_trace_says_nothing(data):
    assert parse_trace(data) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["files", "conversations", "ranges", "start_line", "url", "agent_id", "tool"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=10,
)


@given(JSON, JSON)
def test_no_document_is_an_error(one, other):
    parse_note(note(agent=one, text=json.dumps(other)))
    parse_trace(trace(files=[one, {"conversations": [other, {"url": "x", "ranges": [one]}]}], tool=other))


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path / "project")
    made.commit("base")
    return made


@pytest.fixture
def session(project, tmp_path, repository):
    """A session that has nothing to do with the commit."""
    found = ClaudeSession(project, tmp_path / f"{SESSION}.jsonl")
    found.prompt("Say hello")
    found.say("Hello.")
    found.import_now(repository)
    return found


def links_of(project, repository, commit):
    with open_project_git(find_project_repository(project.directory)) as git:
        return KnownLinks(repository, git, RecordedCommits(repository)).links_of(commit)


def add_note(project, data, ref="refs/notes/ai"):
    project.run(["git", "notes", f"--ref={ref}", "add", "-f", "-F", "-", "HEAD"], stdin=data.decode())


@pytest.mark.parametrize("agent", [AGENT, {"tool": "claude"}])
def test_a_note_makes_the_session_a_candidate_by_its_id_or_its_hash(project, repository, session, agent):
    key = sha256(f"claude:{SESSION}".encode()).hexdigest()[:16]
    add_note(project, note(key=key, agent=agent))
    (link,) = links_of(project, repository, project.head())
    assert (link.conversation, link.role, link.level, link.evidence[0].kind) == (
        "conv-001",
        "wrote",
        "candidate",
        "note",
    )


def test_notes_of_other_refs_and_of_unknown_sessions_make_none(project, repository, session):
    add_note(project, note(), "refs/notes/commits")
    assert links_of(project, repository, project.head()) == ()
    add_note(project, note(agent={"tool": "claude", "id": "00000000-0000"}))
    assert links_of(project, repository, project.head()) == ()


def test_a_trace_in_the_working_tree_makes_a_candidate(project, repository, session):
    uuid = read_uuid(repository, "conv-001")
    for line in (trace(project.head()), trace(project.head(), f"urn:uuid:{uuid}")):
        project.write(".agent-trace/traces.jsonl", "no json\n" + line.decode() + "\n" + trace().decode())
        (link,) = links_of(project, repository, project.head())
        assert (link.conversation, link.evidence[0].text) == ("conv-001", "Agent Trace: 5 lines of this session")


def test_a_claim_is_one_more_reason_for_a_link_that_is_there(project, repository, tmp_path):
    working = ClaudeSession(project, tmp_path / f"{SESSION}.jsonl")
    working.prompt("Add one function")
    _, made = working.commit("one function")
    working.import_now(repository)
    add_note(project, note())
    with open_linker(repository, str(tmp_path / "index"), project.directory) as linker:
        (linked,) = linker.link([made])
    assert [(link.role, link.level) for link in linked.links] == [("made", "certain"), ("wrote", "certain")]
    assert [each.kind for each in linked.links[0].evidence] == ["call", "note"]


def test_a_huge_or_hostile_note_is_left_alone(project, repository, session):
    add_note(project, b"x" * (MAX_BYTES + 10) + note())
    assert links_of(project, repository, project.head()) == ()
    add_note(project, b"src/a\n  " + b"1-999999999," * 300 + b"\n---\n{")
    assert links_of(project, repository, project.head()) == ()


def test_a_note_of_scopes_is_called_so(project, repository, session):
    """What `scopes export --notes` wrote is a guess of scopes, not what another program says."""
    add_note(project, note(), "refs/notes/scopes")
    (link,) = links_of(project, repository, project.head())
    assert link.evidence[0].text == "a note of scopes: 6 lines of this session"


@pytest.mark.parametrize("ref", ["refs/notes/ai", "refs/notes/scopes"])
def test_a_session_that_a_note_names_and_the_store_lacks_is_named(project, repository, session, tmp_path, ref):
    """For two people in one repository the note is what they share, and an import does not help."""
    project.write("app.js", "const answerOfTheApplication = 42;\n")
    project.git("add", "-A")
    project.git("commit", "-qm", "by a colleague")
    add_note(project, note(agent={"tool": "claude", "id": "2628ba3f-0000"}), ref)
    program = "git-ai" if ref.endswith("ai") else "a note of scopes"
    text = f"{program} names the session '2628ba3f-0000' of claude-code, which is not in the store"
    found = why(repository, str(tmp_path / "index"), WhyRequest(target="app.js:1", cwd=project.directory))
    assert [note.text for note in found.notes] == [text]


def test_a_name_in_a_note_is_printed_without_control_characters():
    (claim,) = parse_note(note("sessions", "\x1b[31m", {"tool": "codex"}))
    assert "\x1b" not in describe_claim(claim)
    (claim,) = parse_note(note(agent={"tool": "scopes", "id": "a-b-c"}))
    assert describe_claim(claim) == "the conversation 'a-b-c'"
