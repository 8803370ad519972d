"""Diagrams are replayed by a strict small model of gitGraph, and, where it is installed, by mermaid itself.

Set SCOPES_TEST_MERMAID to a folder whose node_modules hold @mermaid-js/tiny and jsdom.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from scopes.ids import BranchName, Oid
from scopes.render.mermaid import LABEL_LENGTH, DiagramBranch, DiagramCommit, mermaid
from scopes.sanitize import clean_line
from tests.support.examples import examples

MERMAID = os.environ.get("SCOPES_TEST_MERMAID", "")
PARSER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "support", "parse_mermaid.mjs")
HIGHLIGHT, MERGE = 2, 3


def oid(name: str) -> Oid:
    return Oid((name * 40)[:40])


def commit(name: str, *parents: str, **more) -> DiagramCommit:
    return DiagramCommit(oid(name), tuple(map(oid, parents)), **{"label": name, **more})


def branch(name: str, tip: str | None, parent: str | None = None, *, active: bool = False) -> DiagramBranch:
    origin = None if parent is None else BranchName(parent)
    return DiagramBranch(BranchName(name), None if tip is None else oid(tip), origin, active=active)


def commands(commits: list[DiagramCommit], branches: list[DiagramBranch]) -> list[str]:
    """The commands of a diagram, with ids cut to one letter."""
    lines = mermaid(commits, branches, title="t").split("gitGraph\n", 1)[1].splitlines()
    return [re.sub(r'id: "(\w)\1{6} \w+"', r"\1", line.strip()) for line in lines]


@dataclass
class Played:
    """The commits that mermaid builds from a diagram: parents, branch, tags and type of each."""

    main: str
    heads: dict[str, str | None] = field(default_factory=dict)
    commits: dict[str, tuple[list[str], str, list[str], bool]] = field(default_factory=dict)


NAME = r'(?:"(?P<quoted>[^"]*)"|(?P<bare>[A-Za-z][\w./-]*))'
COMMAND = re.compile(
    rf'    (?:(?P<verb>branch|checkout) {NAME}|(?:commit|merge (?P<side>"[^"]*"|[A-Za-z][\w./-]*)) '
    r'id: "(?P<id>[^"\\]+)"(?P<highlight> type: HIGHLIGHT)?(?P<tags>(?: tag: "[^"\\]*")*))',
    re.ASCII,
)


def play(text: str) -> Played:
    """Replay a diagram by the rules of gitGraph, and by ours: one command a line, no id twice."""
    front, lines = text.split("\n---\ngitGraph\n")
    assert re.match(r'---\ntitle: ".*"\nconfig:\n  gitGraph:\n', front)
    current = json.loads(front.partition("mainBranchName: ")[2])
    played = Played(current, {current: None})
    for line in lines.splitlines():
        found = COMMAND.fullmatch(line)
        assert found, line
        name = found["bare"] if found["quoted"] is None else found["quoted"]
        head = played.heads[current]
        if found["verb"]:
            assert (name in played.heads) == (found["verb"] == "checkout"), line
            played.heads.setdefault(name, head)
            current = name
            continue
        parents = [] if head is None else [head]
        if found["side"]:
            side = found["side"].strip('"')
            assert side not in (current, played.commits[head][1]), line
            assert played.heads[side] not in (None, head), line
            parents.append(played.heads[side])
        assert found["id"] not in played.commits, line
        tags = re.findall(r'"([^"]*)"', found["tags"])
        played.commits[found["id"]] = (parents, current, tags, found["highlight"] is not None)
        played.heads[current] = found["id"]
    return played


def test_a_conversation_with_branches_is_a_git_graph():
    """S4-54."""
    commits = [commit("a", label="Initial message"), commit("b", "a", label="Agent joined")]
    commits += [commit("c", "b", label="Security scan"), commit("d", "c", label="Fix proposed")]
    commits += [commit("e", "b", label="Conflict detected")]
    branches = [
        branch("main", "b"),
        branch("analysis/security-review", "d", "main"),
        branch("analysis/conflict-resolution", "e", "main", active=True),
    ]
    assert mermaid(commits, branches, title="Conversation Branch Structure") == (
        '---\ntitle: "Conversation Branch Structure"\nconfig:\n  gitGraph:\n    mainBranchName: "main"\n---\ngitGraph\n'
        '    commit id: "aaaaaaa Initial message"\n'
        '    commit id: "bbbbbbb Agent joined"\n'
        "    branch analysis/security-review\n"
        "    branch analysis/conflict-resolution\n"
        "    checkout analysis/security-review\n"
        '    commit id: "ccccccc Security scan"\n'
        '    commit id: "ddddddd Fix proposed"\n'
        "    checkout analysis/conflict-resolution\n"
        '    commit id: "eeeeeee Conflict detected" type: HIGHLIGHT\n'
    )


def test_a_merge_names_the_head_of_a_branch():
    commits = [commit("a"), commit("b", "a"), commit("c", "a"), commit("d", "c", "b")]
    played = commands(commits, [branch("main", "d"), branch("fix", "b", "main")])
    assert played == ["commit a", "branch fix", "commit b", "checkout main", "commit c", "merge fix d"]


def test_a_criss_cross_merge_has_a_tag_for_the_side_that_moved_on():
    commits = [commit("r"), commit("a", "r"), commit("b", "r"), commit("m", "a", "b"), commit("f", "b", "a")]
    played = commands(commits, [branch("main", "m"), branch("fix", "f", "main")])
    assert played[-3:] == ["merge fix m", "checkout fix", 'commit f tag: "merges aaaaaaa of main"']


def test_a_merge_from_the_branch_just_left_is_a_commit_with_a_tag():
    commits = [commit("a"), commit("b", "a"), commit("c", "a", "b")]
    played = commands(commits, [branch("main", "b"), branch("fix", "c", "main")])
    assert played[-1] == 'commit c tag: "merges bbbbbbb of main"'


def test_an_octopus_names_all_sides_but_one_in_tags():
    commits = [commit("r"), commit("a", "r"), commit("b", "r"), commit("o", "r", "a", "b", "x", tags=("v1",))]
    played = commands(commits, [branch("main", "o"), branch("one", "a", "main"), branch("two", "b", "main")])
    assert played[-1] == 'merge one o tag: "v1" tag: "merges bbbbbbb of two" tag: "merges xxxxxxx"'


def test_branches_without_commits_begin_where_their_tip_is():
    played = commands([commit("a"), commit("b", "a")], [branch("main", "b"), branch("idea", "a", "main")])
    assert played == ["commit a", "branch idea", "checkout main", "commit b"]


def test_branches_that_share_no_commit_begin_before_the_first_one():
    played = commands([commit("a"), commit("s"), commit("b", "a", "s")], [branch("main", "b"), branch("sub", "s")])
    assert played == [
        "branch sub",
        "checkout main",
        "commit a",
        "checkout sub",
        "commit s",
        "checkout main",
        "merge sub b",
    ]


def test_shared_commits_are_drawn_on_the_branch_the_others_were_forked_from():
    branches = [branch("fix", "b", "main"), branch("main", "b")]
    assert commands([commit("a"), commit("b", "a")], branches) == ["commit a", "commit b", "branch fix"]


def test_without_main_the_first_branch_left_is_the_trunk():
    text = mermaid([commit("a"), commit("b", "a")], [branch("fix", "b", "main"), branch("try", "a", "main")], title="t")
    assert play(text).main == "fix"


def test_commits_of_no_branch_are_drawn_on_a_branch_with_that_name():
    played = commands([commit("a"), commit("b", "a"), commit("c", "a", "b")], [branch("main", "c")])
    assert played == ["commit a", "branch deleted/bbbbbbb", "commit b", "checkout main", "merge deleted/bbbbbbb c"]


def test_nothing_is_an_empty_graph_on_main():
    assert mermaid([], [], title="").endswith('mainBranchName: "main"\n---\ngitGraph\n')


def test_the_tip_of_the_active_branch_and_marked_commits_are_highlighted():
    commits = [commit("a", highlight=True), commit("b", "a"), commit("c", "b")]
    played = commands(commits, [branch("main", "c"), branch("here", "b", "main", active=True)])
    assert played == [
        "commit a type: HIGHLIGHT",
        "commit b type: HIGHLIGHT",
        "branch here",
        "checkout main",
        "commit c",
    ]


BARE = ["main", "analysis/security-review", "a.b", "order", "tag", "fix-merge", "v1.2/x_y", "x-LR", "subtitle"]
KEYWORDS = ["merge", "cherry-pick", "commits", "switch", "gitGraph", "LR", "NORMAL", "merge-fix", "titles"]
QUOTED = [*KEYWORDS, "0day", "12", "é", "a/", "a:b", "-", "[a]", "a;b", "'x'", "a b"]


@pytest.mark.parametrize(("name", "quoted"), [(n, False) for n in BARE] + [(n, True) for n in QUOTED])
def test_a_branch_name_is_quoted_when_mermaid_needs_it(name, quoted):
    played = commands([commit("a")], [branch("trunk", "a"), branch(name, "a", "trunk")])
    assert played[-1] == (f'branch "{name}"' if quoted else f"branch {name}")


def test_names_that_look_alike_stay_apart():
    branches = [branch(name, "a") for name in ("trunk", "x", "x\t", "x=", "x\uff1d", "")]
    played = commands([commit("a")], branches)
    assert played[1:] == ["branch x", "branch x-2", 'branch "x\uff1d"', 'branch "x\uff1d-2"', "branch unnamed"]


LABELS = {
    'say "hi"': "say #quot;hi#quot;",
    "a\\nb": "a#92;nb",
    " two\n\tlines \r\n": "two lines",
    "\x1b]52;c;\x07": "^[]52;c;^G",
    "`code`; 50% & é 😀": "`code`; 50% & é 😀",
    "%%{init: {}}%%": "#37;#37;{init: {}}#37;#37;",
    "<b>#1;": "#lt;b#gt;#35;1;",
    "a = b": "a #61; b",
    "style x:#1;": "style x#58;#35;1;",
    "x\u202ey\ud800": "x#lt;U+202E#gt;y#lt;U+D800#gt;",
    "x" * 61: "x" * 59 + "…",
    "y" * 60: "y" * 60,
}


@pytest.mark.parametrize("label", LABELS)
def test_a_label_is_quoted_so_that_mermaid_shows_it_unchanged(label):
    text = mermaid([commit("a", label=label)], [branch("main", "a")], title="t")
    assert text.endswith(f'    commit id: "aaaaaaa {LABELS[label]}"\n')


def test_an_empty_label_leaves_the_short_id():
    assert commands([commit("a", label=" ")], [branch("main", "a")]) == ['commit id: "aaaaaaa"']


def test_commits_with_equal_labels_have_their_whole_ids():
    one, two = Oid("1234567" + "0" * 33), Oid("1234567" + "1" * 33)
    played = play(
        mermaid(
            [DiagramCommit(one, (), "x"), DiagramCommit(two, (one,), "x")],
            [DiagramBranch(BranchName("main"), two)],
            title="t",
        )
    )
    assert list(played.commits) == ["1234567 x", f"{two} x"]


def test_a_title_stays_one_line_of_front_matter():
    text = mermaid([], [], title='Fix "login"\n---\n<b>\x1b')
    assert text.split("\n")[1] == 'title: "Fix \\"login\\" --- \uff1cb\uff1e^["'


def test_branches_that_are_each_others_parent_are_drawn():
    played = commands([commit("a"), commit("b", "a")], [branch("x", "b", "y"), branch("y", "a", "x")])
    assert played == ["commit a", "branch x", "commit b"]


def test_ten_thousand_commits_with_a_merge_every_ten():
    ids = [Oid(f"{n:07x}" + "0" * 33) for n in range(10_000)]
    commits = [DiagramCommit(ids[0], (), "start")]
    for n in range(1, 10_000):
        main = ids[(n - 1) // 10 * 10]
        commits.append(
            DiagramCommit(ids[n], (main, ids[n - 1]) if n % 10 == 0 else (main if n % 10 == 1 else ids[n - 1],), "m")
        )
    played = play(
        mermaid(
            commits,
            [DiagramBranch(BranchName("main"), ids[9990]), DiagramBranch(BranchName("last"), ids[-1])],
            title="t",
        )
    )
    assert len(played.commits) == 10_000
    assert sum(len(parents) == 2 for parents, *_ in played.commits.values()) == 999


HOSTILE = [
    "",
    "main",
    "merge",
    "a b",
    'q"',
    "q'",
    "\\",
    "{x}",
    "x;",
    "%%",
    "<i>",
    "&amp;",
    "é",
    "💥",
    "__proto__",
    "deleted/0000001",
    "#lt;",
]
WORDS = st.sampled_from([*HOSTILE, "%%{init}%%", "style:#1;", "```", "\n---\n", "</script>", "x" * 90]) | st.text(
    max_size=12
)


@st.composite
def conversations(draw_from) -> tuple[list[DiagramCommit], list[DiagramBranch], str]:
    """Up to twelve commits, oldest first, with any earlier or missing parents, and up to six branches at any of them."""
    count = draw_from(st.integers(0, 12))
    ids = [Oid(f"{n:07x}" + "0" * 33) for n in range(count)]
    commits = []
    for n, own in enumerate(ids):
        parents = draw_from(st.lists(st.sampled_from([*ids[max(0, n - 5) : n], Oid("f" * 40)]), max_size=3))
        tags = draw_from(st.lists(WORDS, max_size=1))
        commits.append(DiagramCommit(own, tuple(parents), draw_from(WORDS), highlight=False, tags=tuple(tags)))
    names = [BranchName(name) for name in draw_from(st.lists(WORDS, unique=True, max_size=6))]
    tips = st.sampled_from([*ids, Oid("f" * 40), None])
    origins = st.sampled_from([*names, BranchName("gone"), None])
    branches = [
        DiagramBranch(name, draw_from(tips), draw_from(origins), active=draw_from(st.booleans())) for name in names
    ]
    return commits, branches, draw_from(WORDS)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(conversations())
def test_every_commit_is_written_once_with_each_parent_drawn_or_named(conversation):
    commits, branches, title = conversation
    played = play(mermaid(commits, branches, title=title))
    known = {own.oid[:7] for own in commits}
    assert [name[:7] for name in played.commits] == [own.oid[:7] for own in commits]
    for own, (parents, _, tags, _) in zip(commits, played.commits.values(), strict=True):
        first, *sides = dict.fromkeys(parent[:7] for parent in own.parents) or [""]
        assert [name[:7] for name in parents[:1]] == [first] * (first in known)
        named = {tag.split()[1] for tag in tags[len(own.tags) :]}
        assert {name[:7] for name in parents[1:]} | named == set(sides)
        assert {name[:7] for name in parents[1:]}.isdisjoint(named)


@given(conversations())
def test_every_branch_is_drawn_once_and_ends_at_its_tip(conversation):
    commits, branches, title = conversation
    played = play(mermaid(commits, branches, title=title))
    assert len(played.heads) >= max(len(branches), 1)
    heads = {None if head is None else head[:7] for head in played.heads.values()}
    known = {own.oid for own in commits}
    assert {branch.tip[:7] for branch in branches if branch.tip in known} <= heads


@given(WORDS)
def test_a_label_is_one_quoted_line_of_bounded_length(label):
    line = mermaid([commit("a", label=label)], [branch("main", "a")], title="t").splitlines()[-1]
    assert clean_line(line) == line
    assert "%%" not in line
    shown = re.sub(r"#\w+;", "?", line.removeprefix('    commit id: "aaaaaaa').removesuffix('"')).removeprefix(" ")
    assert len(shown) <= LABEL_LENGTH


def parse_with_mermaid(texts: list[str]) -> list[dict]:
    """Let mermaid play the diagrams; node starts once for all of them."""
    command = ["node", PARSER, MERMAID]
    return json.loads(
        subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True).stdout
    )


def shown(text: str) -> str:
    """The text that mermaid stores for a text with entities."""
    return re.sub(r"#(\d*)(\w*);", lambda entity: f"ﬂ°{'°' if entity[1] else ''}{entity[1]}{entity[2]}¶ß", text)


@pytest.mark.needs_node
@pytest.mark.skipif(not MERMAID, reason="SCOPES_TEST_MERMAID names no folder with @mermaid-js/tiny and jsdom")
def test_mermaid_itself_builds_the_same_history_and_refuses_what_it_should():
    """S4-54; node starts once, which takes longer than all diagrams."""
    texts = [
        mermaid([commit("a")], [branch("trunk", "a"), branch(name, "a", "trunk")], title=name) for name in BARE + QUOTED
    ]
    texts += [mermaid([commit("a", label=label)], [branch("main", "a")], title=label) for label in LABELS]

    @settings(
        max_examples=examples(200), phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck)
    )
    @given(conversations())
    def collect(conversation):
        texts.append(mermaid(conversation[0], conversation[1], title=conversation[2]))

    collect()
    bad = ["gitGraph\n commit\n merge main", "gitGraph\n checkout x", "gitGraph\n branch merge"]
    played_by_mermaid = parse_with_mermaid(texts + bad)
    assert all("error" in built for built in played_by_mermaid[len(texts) :])
    for text, built in zip(texts, played_by_mermaid[: len(texts)], strict=True):
        assert "error" not in built, (built, text)
        played = play(text)
        assert built["main"] == played.main
        assert sorted(built["branches"]) == sorted(played.heads)
        for one, (name, (parents, where, tags, highlighted)) in zip(
            built["commits"], played.commits.items(), strict=True
        ):
            assert one["id"] == shown(name)
            assert (one["parents"], one["branch"], one["tags"]) == ([*map(shown, parents)], where, [*map(shown, tags)])
            assert (one["type"] == HIGHLIGHT) == (highlighted and len(parents) < 2)
