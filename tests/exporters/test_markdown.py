"""A transcript that reads well, says what became of each message, and cannot be forged from inside."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.conversation.amend import amend, retract
from scopes.conversation.branch import branch
from scopes.conversation.import_sample import import_sample
from scopes.conversation.new import new
from scopes.history.revparse import list_branch_tips
from tests.exporters.building import call, exported, message, put, result
from tests.exporters.sections import definitions, foreign_html, html_of, is_balanced, sections
from tests.exporters.test_markdown_escape import TEXTS
from tests.support.history import history, say


def transcript(repository, where="conv-001", **options):
    """Return a Markdown export."""
    return exported(repository, where, "markdown", **options)


def heading(text, identity):
    """Return the line that begins the section of a message."""
    return next(line for line in text.splitlines() if f'id="m-{identity[:8]}"' in line)


def test_a_transcript_looks_as_agreed(repository, golden):
    import_sample(repository)
    golden("sample.md", transcript(repository))


def test_a_transcript_of_all_branches_looks_as_agreed(repository, golden):
    import_sample(repository)
    retract(repository, "conv-001", "main~2", "not any more", author="general-purpose")
    golden("sample-all.md", transcript(repository, all_branches=True))


def test_every_message_is_a_section_of_its_own(repository):
    drawn = history(repository, "main: a b c", "fix@b: d e")
    assert sections(transcript(repository)) == [drawn.ids[word][:8] for word in "abc"]
    assert sections(transcript(repository, "conv-001/fix")) == [drawn.ids[word][:8] for word in "abde"]
    assert sections(transcript(repository, all_branches=True)) == [drawn.ids[word][:8] for word in "abcde"]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_hostile_parts_stay_in_their_message(repository, data):
    """Every text that a message holds, in every place where it can stand."""
    draw = lambda: data.draw(TEXTS)  # noqa: E731
    if not repository.find_ref("refs/heads/conv-001/main"):
        new(repository)
    root = list_branch_tips(repository, "conv-001")["main"]
    parts = (
        call("1", draw(), input={"x": draw()}), result("1", output=draw(), exit_code=1), call("2", draw(), input_text=draw()),
        result("2", output_text=draw(), is_error=True),
    )  # fmt: skip
    more = [message("f", draw(), kind="human", author="carol"), message("g", "", *parts, model=draw(), to=(draw(),))]
    put(repository, "hostile", root, message("h", draw(), *parts, author=draw()), *more)
    text = transcript(repository, "conv-001/hostile")
    assert sections(text) == ["haaaaaaa", "faaaaaaa", "gaaaaaaa"]
    assert (foreign_html(text), definitions(text), is_balanced(text)) == ([], {}, True)


def test_an_imitated_heading_is_no_section(repository):
    drawn = history(repository, "main: a")
    fake = say(repository, "conv-001", 'x\n\n---\n\n**carol** <sub id="m-fakefake">2026</sub>\n\nI agree')
    text = transcript(repository)
    assert sections(text) == [drawn.ids["a"][:8], fake.id[:8]]
    assert '**carol** &lt;sub id="m-fakefake">2026&lt;/sub>' in text


def test_the_title_the_conversation_and_its_source_are_said(repository):
    new(repository, title="About `x`\n# and <b>", participants=("carol",))
    lines = transcript(repository).splitlines()
    assert lines[0] == r"# About \`x\` \# and \<b\>"
    assert lines[2].startswith("- Conversation: conv-001 (`")
    assert lines[3:5] == ["- Branch: main", "- Participants: carol"]
    assert sections("\n".join(lines)) == []


def test_a_message_says_who_when_and_to_whom(repository):
    first = history(repository, "main: a").ids["a"]
    fields = {
        "to": ["dave", "erin"],
        "reply_to": first,
        "model": "m_1",
        "status": "interrupted",
        "time": "2026-01-31T09:30:00+01:00",
    }
    said = say(repository, "conv-001", "hello", kind="answer", author="bot*", **fields)
    assert heading(transcript(repository), said.id) == (
        rf'**bot\*** <sub id="m-{said.id[:8]}">2026-01-31T09:30:00+01:00 · answer · {said.id[:8]} · to dave, erin · '
        rf"reply to [{first[:8]}](#m-{first[:8]}) · m\_1 · interrupted</sub>"
    )


def test_a_message_from_the_harness_says_so(repository):
    new(repository)
    said = say(repository, "conv-001", "limits", author={"name": "user", "kind": "injected"})
    assert " · injected · " in heading(transcript(repository), said.id)


def test_an_amended_and_a_retracted_message_name_what_did_it(repository):
    drawn = history(repository, "main: a b c")
    better = amend(repository, "conv-001", drawn.ids["a"], "better", author="dave")
    gone = retract(repository, "conv-001", drawn.ids["b"], "wrong", author="dave")
    text = transcript(repository)
    assert f"· **amended by [{better.id[:8]}](#m-{better.id[:8]})**</sub>" in heading(text, drawn.ids["a"])
    assert f"· **retracted by [{gone.id[:8]}](#m-{gone.id[:8]})**</sub>" in heading(text, drawn.ids["b"])
    assert "**" not in heading(text, drawn.ids["c"]).removeprefix("**carol**")
    assert f"amends [{drawn.ids['a'][:8]}]" in heading(text, better.id)
    assert f"retracts [{drawn.ids['b'][:8]}]" in heading(text, gone.id)


def test_what_was_retracted_on_another_branch_is_marked_where_that_branch_is_shown(repository):
    drawn = history(repository, "main: a", "fix:")
    retract(repository, "conv-001/fix", drawn.ids["a"], "", author="dave")
    assert "retracted" not in transcript(repository)
    assert "**retracted by" in heading(transcript(repository, all_branches=True), drawn.ids["a"])


def test_branches_are_named_where_they_begin(repository):
    history(repository, "main: a b", "fix@a: c", "try@a:")
    assert "\n\n<sub>branches begin here: fix, try</sub>\n\n---\n" in transcript(repository)
    assert "\n\n<sub>branches begin here: try</sub>\n" in transcript(repository, "conv-001/fix")
    every = transcript(repository, all_branches=True)
    assert "\n\n<sub>branches begin here: [fix](#b-1), [try](#b-2)</sub>\n" in every


def test_a_further_branch_says_where_it_began_and_what_for(repository):
    drawn = history(repository, "main: a b")
    branch(repository, "conv-001", purpose="analysis", agent="code_analyzer", start=drawn.oids["a"], switch=False)
    text = transcript(repository, all_branches=True)
    link = f"[{drawn.ids['a'][:8]}](#m-{drawn.ids['a'][:8]})"
    assert (
        rf'## analysis/code\_analyzer <sub id="b-1">from {link} · analysis · code\_analyzer · active · '
        "no messages that are not above</sub>"
    ) in text


def test_a_compaction_and_a_sub_agent_are_noted(repository):
    new(repository)
    root = list_branch_tips(repository, "conv-001")["main"]
    put(repository, "main", root, message("b", "do it"), message("c", "in short", kind="compaction"))
    helper = message(
        "d", "helping", extra={"context_root": True, "spawned_by": {"message": "b".ljust(26, "a"), "call_id": "1"}}
    )
    put(repository, "helper", root, helper)
    text = transcript(repository, all_branches=True)
    assert text.count("<sub>the model's context begins here: what came before was compacted</sub>") == 1
    assert "called by [baaaaaaa](#m-baaaaaaa)" in heading(text, "daaaaaaa")


def test_a_message_without_anything_says_so(repository):
    new(repository)
    root = list_branch_tips(repository, "conv-001")["main"]
    put(repository, "main", root, message("b"))
    assert transcript(repository).endswith("</sub>\n\n*(no text)*\n")


def test_half_a_surrogate_pair_is_written_as_its_escape(repository):
    new(repository)
    say(repository, "conv-001", "half \ud800 pair")
    assert "half \\ud800 pair" in transcript(repository)


@pytest.mark.parametrize("text", ["```\nopen", "<details>", "[x]: y", "- ```\n  x", "> <!--"])
def test_folded_reasoning_cannot_unfold_itself(repository, text):
    new(repository)
    say(repository, "conv-001", "x", parts=[{"type": "reasoning", "text": text}])
    say(repository, "conv-001", "y")
    assert [html for html in html_of(transcript(repository)) if "details" in html][1:] == ["</details>"]
    assert len(sections(transcript(repository))) == 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"), ("a\x00b\x7f\x9b", "a␀b␡[U+009B]"), ("\u202eabc", "[U+202E]abc"),
        ("a\r\nb\tc", "a\nb\tc"), ("👩\u200d💻", "👩\u200d💻"),
    ],
)  # fmt: skip
def test_a_transcript_cannot_act_on_a_terminal(repository, text, shown):
    """Command line, terminal safety: a transcript is printed with cat."""
    new(repository)
    tip = list_branch_tips(repository, "conv-001")["main"]
    put(repository, "x", tip, message("h", text), message("i", "", result("1", output=text)))
    found = transcript(repository, "conv-001/x")
    assert found.count(shown) >= 2
    assert not set(found) & set("\x00\x07\x1b\x7f\x9b\r\u202e")
