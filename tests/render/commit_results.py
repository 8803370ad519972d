"""Results about commits of a project, for the tests of the renderers."""

from __future__ import annotations

from dataclasses import replace

from scopes.code_links.link import CodeLink, Evidence, LinkedTurn
from scopes.conversation.commits import CommitAccount, CommitRow, ConversationCommits, FileAccount, OtherLine
from scopes.exporters.commit_notes import TracesNoted
from scopes.render.view import ViewOptions
from tests.render.with_options import WithOptions

_COMMIT, _GONE, _REPLACED = "3f2a" * 10, "9b7d" * 10, "5c01" * 10
_RECORDED = Evidence("recorded", "recorded in a shell of this session", "toolu_01")
_CONTENT = Evidence("content", "41 lines of 3 edits", "toolu_02", 0.82)
_MADE = CodeLink(
    commit=_COMMIT, conversation="conv-001", message="aaaaaaaaaaaaaaaaaaaaaaaaaa", turn=5, role="made", level="certain",
    evidence=(_RECORDED, Evidence("call", "a call printed this commit", "toolu_01")),
)  # fmt: skip
_WROTE = CodeLink(
    commit=_COMMIT, conversation="conv-001", message="bbbbbbbbbbbbbbbbbbbbbbbbbb", turn=3, role="wrote", level="likely",
    evidence=(_CONTENT,), turns=(LinkedTurn(2, "cccccccccccccccccccccccccc"), LinkedTurn(3, "bbbbbbbbbbbbbbbbbbbbbbbbbb")),
)  # fmt: skip
_LATER = CodeLink(
    commit=_GONE, conversation="conv-001", role="made", level="likely",
    evidence=(Evidence("recorded", "recorded in this turn, in which HEAD moved to it"),),
)  # fmt: skip
_EARLIER = CodeLink(
    commit=_REPLACED, conversation="conv-001", message="aaaaaaaaaaaaaaaaaaaaaaaaaa", turn=5, role="made", level="certain",
    evidence=(_RECORDED,), turns=(LinkedTurn(5, "aaaaaaaaaaaaaaaaaaaaaaaaaa"),),
)  # fmt: skip
COMMITS = ConversationCommits(
    conversation="conv-001",
    commits=(
        CommitRow(
            commit=_COMMIT, subject="Set the session cookie", authored="2025-12-01T07:58:00Z", links=(_MADE, _WROTE)
        ),
        CommitRow(commit=_GONE, subject="Cache it", authored=None, links=(_LATER,), is_gone=True),
        CommitRow(
            commit=_REPLACED, subject="Set cookie", authored=None, links=(_EARLIER,), is_gone=True, replaced_by=_COMMIT
        ),
    ),
)
ACCOUNT = CommitAccount(
    commit=_COMMIT,
    subject="Set the session cookie",
    conversations=("conv-001", "conv-002"),
    files=(
        FileAccount(path="src/cookie.py", added=12, edited=8, short=3, others=(OtherLine(14, "\treturn lax\x1b[2J"),)),
        FileAccount(path="tests/test_cookie.py", added=5, edited=5, short=0, others=()),
    ),
)
NOTED = TracesNoted(conversation="conv-001", ref="refs/notes/scopes", commits=(_COMMIT, _GONE))
COMMIT_SAMPLES = {
    "show_commits": {
        "commits": COMMITS,
        "no-commits": ConversationCommits(conversation="conv-001", commits=()),
    },
    "diff_commit": {
        "account": ACCOUNT,
        "account-stat": WithOptions(ACCOUNT, ViewOptions(stat=True)),
        "all-from-edits": replace(ACCOUNT, files=ACCOUNT.files[1:]),
    },
}
