"""A conversation as one page: it loads and runs nothing but its own script, and no text of a message is markup in it."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.conversation.append import amend, retract
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import new
from scopes.errors import Corrupt, SecretsFound
from scopes.exporters.export import export
from scopes.exporters.html.markdown import MAX_LENGTH, render_markdown
from scopes.exporters.html.parts import PartWriter
from scopes.exporters.html.template import Html, Template, escape, read_file
from scopes.history.names import list_branch_tips
from scopes.importers.import_sample import import_sample
from scopes.model.message import Author, FileTouch, Message, Part
from scopes.store.config import Setting
from scopes.usage.prices import format_money
from tests.exporters.building import call, exported, message, put, result
from tests.support.examples import examples
from tests.support.history import history, say
from tests.support.planted import KINDS
from tests.support.store import FAST, open_store
from tests.usage.answers import answer, count

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style><style>*{display:none}",
    "</article></main><h1>other",
    "[x](javascript:alert(1))",
    "[x](  JaVaScRiPt&colon;alert(1))",
    "![x](https://example.org/spy.png)",
    '<https://example.org/?q="><script>alert(1)</script>',
    "[x]: javascript:alert(1)\n\n[x]",
    "```html\n</code></pre><script>alert(1)</script>\n```",
    "a\x00b\x1b]0;t\x07",
    "safe\u202egnp.exe\u2066x\u200b",
    "&#x202e;&#60;script&#62;",
    "<svg onload=alert(1)>{{title}}{{body}}",
]
EVENTS = re.compile(r"\bon[a-z]+\s*=", re.IGNORECASE)
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e\u2066-\u2069]")
ADDRESSES = {"href", "src", "srcset", "action", "data", "poster", "formaction", "xlink:href"}
VOID = {"meta", "input", "img", "hr", "br"}


class Page(HTMLParser):
    """What a browser would make of a page: its elements, links, and whether they are nested well."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.open, self.badly_nested, self.texts = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attributes]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attributes]

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.badly_nested.append(tag)

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def addresses(self):
        return [(tag, value) for tag, name, value in self.attributes if name in ADDRESSES]

    def is_harmless(self):
        """Return True if nothing in it is loaded or run but its own script."""
        names = {name for _, name, _ in self.attributes}
        schemes = ("#", "https://", "http://", "mailto:")
        return (
            not any(EVENTS.match(f"{name}=") for name in names)
            and "style" not in names
            and all(value.startswith(schemes if tag == "a" else "data:image/") for tag, value in self.addresses)
            and (self.open, self.badly_nested) == ([], [])
            and self.tags.count("script") <= 1
        )


def page(repository, where="conv-001", **options):
    """Return a page as it is parsed, and its text."""
    text = exported(repository, where, "html", **options)
    return Page(text), text


def content(*parts, kind="agent", **fields):
    """Return the content of a message as HTML."""
    return PartWriter(Template("page.html")).write_content(message("b", "", *parts, kind=kind, **fields))


def test_a_page_has_its_messages_with_authors_times_and_places(repository):
    drawn = history(repository, "main: one two")
    found, text = page(repository)
    assert found.is_harmless()
    assert (found.tags.count("article"), text.startswith("<!doctype html>")) == (2, True)
    assert f'id="m-{drawn.ids["one"]}"' in text
    assert [each for each in found.texts if each in {"one", "two"}][-2:] == ["one", "two"]


def test_an_empty_conversation_is_a_page(repository):
    new(repository)
    found, _ = page(repository)
    assert (found.is_harmless(), found.tags.count("article")) == (True, 0)


def test_the_policy_lets_only_the_style_and_the_script_of_the_page_through(repository):
    new(repository)
    _, text = page(repository)
    hashes = [
        b64encode(sha256(re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1].encode()).digest()).decode()
        for tag in ("style", "script")
    ]
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@pytest.mark.parametrize("name", ["page.css", "page.js"])
def test_style_and_script_name_nothing_to_load_and_end_no_element(name):
    assert re.findall(r"url\(|@import|https?:|</|fetch\(|innerHTML|eval\(|:has\(", read_file(name)) == []


def hostile_messages(text):
    """Return messages with a text in every part, field and name, of each kind of author."""
    fields = dict.fromkeys(("text", "name", "output", "path", "op", "patch", "media_type", "data"), text)
    kinds = ("text", "reasoning", "tool_call", "tool_result", "image", "file", "file_ref", "raw")
    parts = [Part(kind, {**fields, "input": {text: text}}) for kind in kinds]
    return [message("b", "", *parts, kind=kind, payload={text: text}) for kind in ("agent", "human", "injected")]


def test_hostile_text_stays_text_wherever_it_stands():
    for text in HOSTILE:
        for each in hostile_messages(text):
            shown = PartWriter(Template("page.html")).write_content(each)
            assert Page(shown).is_harmless()
            assert HIDDEN.search(shown) is None
            assert not {"script", "style", "svg", "h1", "main"} & set(Page(shown).tags)


def test_hostile_titles_and_names_stay_text(repository):
    new(repository, title="</title><script>alert(1)</script>\u202e")
    texts = [text for text in HOSTILE if text.isprintable()]
    root = list_branch_tips(repository, "conv-001")["main"]
    messages = [
        message(f"{chr(98 + number)}x", text, model=text, status=text, to=("x", text), reply_to=text)
        for number, text in enumerate(texts)
    ]
    put(repository, "main", root, *messages)
    found, whole = page(repository)
    assert found.is_harmless()
    assert HIDDEN.search(whole) is None
    assert [found.tags.count(tag) for tag in ("article", "style", "script", "h1", "title")] == [len(texts), 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("[a](https://example.org/x?y=1&z)", ["https://example.org/x?y=1&z"]),
        ("[a](mailto:a@example.org)", ["mailto:a@example.org"]),
        ("[a](src/main.py)", []),
        ("[a](data:text/html,x)", []),
        ("[a](file:///etc/passwd)", []),
        ("![a](https://example.org/x.png)", []),
    ],
)
def test_links_lead_to_the_web_and_nothing_is_loaded(text, links):
    assert [value for _, value in Page(render_markdown(text)).addresses] == links
    assert "a" in "".join(Page(render_markdown(text)).texts)


def test_markdown_of_an_answer_is_rendered_and_a_prompt_is_shown_as_typed():
    text = "# Head\n\n- **b** `c`\n\n|a|\n|-|\n|1|\n\n~~d~~"
    assert {"h1", "li", "strong", "code", "table", "s"} <= set(Page(content(Part("text", {"text": text}))).tags)
    assert Page(content(Part("text", {"text": text}), kind="human")).texts == [text]


@pytest.mark.parametrize("text", ["x" * (MAX_LENGTH + 1), "> " * 40 + "deep"])
def test_a_text_that_is_too_long_or_too_deep_is_shown_as_it_is(text):
    assert render_markdown(text) == f'<div class="plain" dir="auto">{escape(text)}</div>'


def test_injected_text_is_folded():
    assert "<summary><b>Context</b>" in content(Part("text", {"text": "rules"}), kind="injected")


def test_a_result_is_named_after_its_call_and_says_how_it_failed():
    shown = content(call("1", "Read"), result("1", output="x", exit_code=2), result("9", output="y", is_error=True))
    assert ("<b>Result of Read</b>" in shown, "<b>Result</b>" in shown) == (True, True)
    assert re.findall(r'class="outcome bad">([^<]*)', shown) == ["exit code 2", "error"]
    assert "outcome" not in content(call("1"), result("1", output="x", exit_code=0, is_error=False))


def test_the_arguments_of_an_edit_are_marked():
    shown = content(call("1", "Edit", input={"file_path": "a.py", "old_string": "x", "new_string": "y"}))
    assert '<pre class="del" dir="auto">x</pre>' in shown
    assert '<pre class="ins" dir="auto">y</pre>' in shown
    assert '<p class="key">file_path <code dir="auto">a.py</code></p>' in shown


@pytest.mark.parametrize(
    ("fields", "is_shown"),
    [
        ({"media_type": "image/png", "data": "aaaa"}, True),
        ({"media_type": "image/svg+xml", "data": "aaaa"}, False),
        ({"media_type": "image/png", "data": 'aa" onload="x'}, False),
        ({"media_type": "image/png", "path": "https://example.org/a.png"}, False),
    ],
)
def test_only_images_within_the_message_are_shown(fields, is_shown):
    assert ("img" in Page(content(Part("image", fields))).tags) is is_shown
    block = {"type": "image", "source": {"type": "base64", **fields}}
    assert ("img" in Page(content(result("1", output=[block]))).tags) is is_shown


def test_everything_else_of_a_message_is_shown():
    shown = "".join(
        Page(
            content(
                Part("file_ref", {"path": "a.py", "op": "edit", "patch": "+x"}),
                Part("file", {"path": "notes.txt"}),
                Part("new", {"json": {"k": [1]}}),
                result("1", output={"n": 3}),
                result("2", output_text="1.0"),
                files=(FileTouch("b.py", "rename", None, "c.py"),),
                payload={"topic": "db"},
            )
        ).texts
    )
    for text in ("a.py", "+x", "[file notes.txt]", '"k"', '"n": 3', "1.0", "c.py → b.py", '"topic": "db"'):
        assert text in shown
    assert "(no text)" in content()


def test_amended_and_retracted_messages_link_to_what_replaced_them(repository):
    drawn = history(repository, "main: old wrong last")
    changed = amend(repository, "conv-001", drawn.ids["old"], "new", author=Author("bot"))
    retract(repository, "conv-001", drawn.ids["wrong"], "no", author=Author("bot"))
    _, text = page(repository)
    assert re.findall(r'class="flag">([^<]*)', text) == ["amended", "retracted"]
    assert f'<a href="#m-{changed.id}">' in text


def test_all_branches_have_a_heading_and_a_track_in_the_picture(repository):
    history(repository, "main: a b c", "fix@b: d e")
    found, text = page(repository, all_branches=True)
    assert re.findall(r'<h2 id="(b-\d)"[^>]*>(\w+)', text) == [("b-0", "main"), ("b-1", "fix")]
    assert found.tags.count("circle") == 4
    assert [value for tag, value in found.addresses if value.startswith("#b-")] == ["#b-0", "#b-1", "#b-1"]
    tracks = re.findall(r'class="track" x1="([\d.]+)%" y1="(\d+)" x2="([\d.]+)%"', text)
    assert tracks == [("2.00", "28", "73.25"), ("49.50", "68", "97.00")]


def test_one_branch_alone_has_a_picture_of_the_others_without_links(repository):
    history(repository, "main: a b", "fix@a: c")
    found, _ = page(repository, "conv-001/fix")
    assert found.tags.count("circle") == 4
    assert [value for _, value in found.addresses if value.startswith("#b-")] == ["#b-0"]


def test_where_a_merged_branch_begins_and_ends_is_marked(repository):
    history(repository, "main: a b", "fix@a: c")
    merge(repository, "conv-001", "fix")
    _, text = page(repository)
    assert re.findall(r'class="mark"><b>([^<]*)', text) == ["Parallel branch fix", "End of branch fix"]


def with_usage(repository, *days):
    """Write an answer of two models on each of some days."""
    new(repository)
    answers = []
    for number, day in enumerate(days):
        for model, output in (("large", 30), ("small", 10)):
            usage = {"input_uncached": 5, "cache_read": 1000, "output": output}
            name = ("b" if model == "large" else "c") + chr(97 + number // 26) + chr(97 + number % 26) + "x"
            answers.append(Message(id=name.ljust(26, "a"), author=Author("bot"), parts=(), time=f"{day}T10:00:00Z", model=model, extra={"usage": usage}))  # fmt: skip
    put(repository, "main", list_branch_tips(repository, "conv-001")["main"], *answers)
    return page(repository)[1]


def test_tokens_are_shown_by_day_and_model(repository):
    text = with_usage(repository, "2026-03-01", "2026-03-03")
    assert re.findall(r"<title>(2026[^<]*)</title>", text) == [
        "2026-03-01: large, 35 tokens", "2026-03-01: small, 15 tokens",
        "2026-03-03: large, 35 tokens", "2026-03-03: small, 15 tokens",
    ]  # fmt: skip
    assert "<td>2</td><td>10</td><td>2.0k</td><td>60</td><td>?</td>" in text
    assert 'class="prices"' not in text


def test_many_days_are_shown_as_months(repository):
    days = [f"2026-{month:02d}-{day:02d}" for month in (1, 2, 3) for day in range(1, 23)]
    text = with_usage(repository, *days)
    assert re.findall(r"<title>(2026-\d\d): large, 770 tokens", text) == ["2026-01", "2026-02", "2026-03"]
    assert "1.1k a month at most, without cached" in text


def test_the_page_has_the_tokens_and_the_cost_of_the_command(repository):
    """An answer on two branches, and one that was copied, count once; a model without a price has no cost."""
    history(repository, "main: a")
    for where, text in (("conv-001", "b"), ("conv-001", "b again")):
        answer(repository, where, text)
    answer(repository, "conv-001", "c", model="gpt-5.4", output=1000, time="2026-01-06T10:00:00.5Z")
    answer(repository, "conv-001", "d", model="stub", time="2026-01-07T10:00:00.5Z")
    found = count(repository, "model")
    _, text = page(repository)
    cells = [re.findall("<td>([^<]*)</td>", row) for row in re.findall("<tr><td>.*</tr>", text)]
    assert [(int(row[0]), row[4]) for row in cells] == [
        (row.answers, "?" if row.cost_micros is None else format_money(row.cost_micros, "USD")) for row in found.rows
    ]
    assert [row[0] for row in cells] == ["1", "1", "1"]
    total = format_money(found.total.cost_micros, "USD")
    assert f'Cost <span class="n">{total}+</span>' in text
    assert f"List prices of {found.prices.date}; + lacks 1 of 3 answers, whose price is not known." in text


def test_prices_are_those_of_the_configuration_and_a_page_does_not_name_their_file(repository, tmp_path):
    path = tmp_path / "private" / "prices.json"
    path.parent.mkdir()
    models = [{"models": ["claude*"], "input": 1_000_000, "output": 10_000_000}]
    path.write_text(json.dumps({"currency": "EUR", "source": "<our> contract", "models": models}))
    history(repository, "main: a")
    answer(repository, "conv-001", "b", input_uncached=2_000_000)
    setting = {"scopes.prices": Setting("scopes.prices", str(path), "flag")}
    _, text = page(open_store(repository.path, {**FAST, **setting}))
    assert 'Cost <span class="n">€2.00</span>' in text
    assert '<p class="prices" title="&lt;our&gt; contract">List prices.</p>' in text
    assert "private" not in text


def test_prompts_are_listed_with_links(repository):
    new(repository)
    asked = [say(repository, "conv-001", text, author={"name": "carol", "kind": "human"}) for text in ("why?", "how?")]
    _, text = page(repository)
    assert re.findall(r'<li dir="auto"><a href="#m-(\w+)">([^<]*)', text) == [
        (each.id, words) for each, words in zip(asked, ("why?", "how?"), strict=True)
    ]


def test_the_sample_is_a_page(repository):
    import_sample(repository)
    found, _ = page(repository, all_branches=True)
    assert found.is_harmless()
    assert found.tags.count("article") == 15


def test_a_page_passes_the_gate_for_secrets(repository):
    new(repository)
    secret = KINDS[1][1]
    say(repository, "conv-001", f"the key is `{secret}`")
    with pytest.raises(SecretsFound):
        export(repository, "conv-001", format_name="html")
    text = exported(repository, "conv-001", "html", secrets="redact")
    assert (secret in text, "[redacted:" in text) == (False, True)


def test_a_template_without_a_value_is_an_error():
    with pytest.raises(Corrupt, match="the section fact of a template has no value"):
        Template("page.html").fill("fact", name="x")


def test_a_value_is_escaped_unless_it_is_html():
    fill = Template("page.html").fill
    assert fill("fact", name="<b>", value=Html("<b>")) == "<div><dt>&lt;b&gt;</dt><dd><b></dd></div>"


@given(text=st.text(max_size=200), kind=st.sampled_from(["agent", "human", "injected"]))
@settings(max_examples=examples(200), deadline=None)
def test_any_text_is_harmless(text, kind):
    shown = content(Part("text", {"text": text}), call("1", text, input={text: text}), kind=kind)
    assert Page(shown).is_harmless()
    assert HIDDEN.search(shown) is None


marks = st.text(alphabet="[]()<>!*_`#-|~&;:\"'\\ \nahrefscript/:", max_size=120)


@given(text=marks)
@settings(max_examples=examples(400), deadline=None)
def test_any_markdown_is_harmless(text):
    assert Page(render_markdown(text)).is_harmless()


def test_a_branch_without_the_first_prompt_is_exported_though_that_has_a_secret(repository):
    new(repository)
    root = list_branch_tips(repository, "conv-001")["main"]
    put(repository, "main", root, message("b", f"the key is {KINDS[1][1]}", author="carol", kind="human"))
    put(repository, "other", root, message("c", "no key", author="carol", kind="human"))
    found, text = page(repository, "conv-001/other")
    assert "<title>the key is [redacted:github-token:" in text
    assert (KINDS[1][1] in text, "no key" in found.texts) == (False, True)
    with pytest.raises(SecretsFound):
        page(repository, "conv-001/main")
