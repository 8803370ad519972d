"""Export format `html`: a conversation as one page that loads nothing, to read on any screen and to print.

Its policy lets only its own style and script through. Messages are written as they are read; the head of the page has
the prompts, the branches and the tokens, for which all messages are read once before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from scopes.clock import in_seconds
from scopes.conversation.show import ConversationView
from scopes.exporters.html.graph import draw_graph
from scopes.exporters.html.messages import MessageWriter, branch_anchor, message_anchor
from scopes.exporters.html.template import EMPTY, Html, Template, join, policy_hash, read_file
from scopes.exporters.html.usage_chart import UsageCounter, name_of_model, show_usage
from scopes.exporters.json_export import utf8
from scopes.exporters.selection import ExportSelection, Transcript, read_transcript
from scopes.history.handles import typed_text
from scopes.history.messages import read_body
from scopes.ids import BranchName, Oid
from scopes.result import plural
from scopes.secrets.gates import gate_of
from scopes.store.repository import Repository
from scopes.usage.prices import configured_prices

_MOST_PROMPTS: Final = 400  # that the contents list
_MOST_SHOWN: Final = 120  # characters of one
_MOST_READ: Final = 1_000
_COMMENT: Final = re.compile(r"^\s*//.*\n", re.MULTILINE)


def write_html(repository: Repository, selection: ExportSelection) -> Iterator[bytes]:
    """Yield the page of a conversation."""
    yield from write_page(
        repository, selection, Overview(UsageCounter(configured_prices(repository.config))), home=False
    )


@dataclass(slots=True)
class Overview:
    """What the head of a page says about all messages; it is complete when the first piece of the page is there.

    title: the title of the conversation, or else the beginning of its first prompt, as in a list of conversations
    prompts: places and beginnings of what people wrote, of which `more` are left out
    """

    usage: UsageCounter
    title: str = ""
    prompts: list[tuple[str, str]] = field(default_factory=list)
    more: int = 0

    def read(self, repository: Repository, selection: ExportSelection) -> None:
        """Read the messages of a selection, whose texts are redacted meanwhile, unlike the subjects of commits."""
        for head in selection.heads:
            if head.author_kind != "human":
                self.usage.add(repository, head, selection.root or Oid(""))
            elif len(self.prompts) < _MOST_PROMPTS:
                text = read_body(repository, head).text
                self.prompts.append((message_anchor(head.id), _beginning(typed_text(text) or text)))
            else:
                self.more += 1
        self.title = selection.view.title or _read_opening(repository, selection.view) or selection.view.id


def _read_opening(repository: Repository, view: ConversationView) -> str:
    """Return the beginning of the first prompt without secrets; the prompt itself may not be among what is exported."""
    return _beginning(gate_of(repository, "redact").clear_name(view.opening or "", "the first prompt"))


def _beginning(text: str) -> str:
    words = " ".join(text[:_MOST_READ].split())
    return f"{words[:_MOST_SHOWN]}…" if len(words) > _MOST_SHOWN else words


def write_page(
    repository: Repository, selection: ExportSelection, overview: Overview, *, home: bool
) -> Iterator[bytes]:
    """Yield the page; with `home` it leads back to the index of a site. `overview` is filled at its beginning."""
    template, transcript = Template("page.html"), read_transcript(repository, selection)
    overview.read(repository, selection)
    by_model, by_day = overview.usage.count(selection.view.id)
    before, after = template.split(
        "page",
        "messages",
        **page_frame(overview.title, "page.css", "page.js"),
        home=template.fill("home") if home else EMPTY,
        title=overview.title,
        facts=_facts(template, selection, [name_of_model(row) for row in by_model.rows]),
        contents=_contents(template, overview),
        graph=draw_graph(template, selection.view.branches, lambda name: _anchor_in(transcript, name)),
        usage=show_usage(template, by_model, by_day),
    )
    yield utf8(before)
    writer = MessageWriter(template, repository, transcript)
    for number, branch_slice in enumerate(selection.slices):
        for piece in writer.write_slice(selection, branch_slice, number):
            yield utf8(f"{piece}\n")
    yield utf8(f"{after}\n")


def page_frame(title: str, style_file: str, script_file: str) -> dict[str, Html]:
    """Return the head of a page, whose policy allows nothing but its style and its script, and that script."""
    style, script = read_file(style_file), _COMMENT.sub("", read_file(script_file))
    policy = (
        f"default-src 'none'; style-src {policy_hash(style)}; script-src {policy_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = Template("head.html").fill("head", title=title, style=Html(style), policy=Html(policy))
    return {"head": head, "script": Html(script)}


def _anchor_in(transcript: Transcript, name: BranchName) -> str | None:
    number = transcript.branch_numbers.get(name)
    return None if number is None else branch_anchor(number)


def _facts(template: Template, selection: ExportSelection, models: list[str]) -> Html:
    view, branch = selection.view, selection.slices[0].branch
    facts = {
        "Conversation": view.id,
        "Branch": branch.name if branch is not None else "",
        "Messages": f"{selection.size:,}",
        "Participants": ", ".join(view.participants),
        "Begun": _minutes(view.created_at),
        "Last": _minutes(view.last_activity),
        "Project": project_of(view),
        "Imported from": view.source or "",
        plural(len(models or view.models), "Model"): ", ".join(models or view.models),
    }
    return join([template.fill("fact", name=name, value=value) for name, value in facts.items() if value])


def project_of(view: ConversationView) -> str:
    """Return the name of a conversation's directory without its path, which is not put into pages."""
    return (view.project or view.directory or "").rstrip("/\\").replace("\\", "/").rpartition("/")[2]


def _minutes(time: str | None) -> str:
    return in_seconds(time or "").removesuffix("Z").replace("T", " ")[:16]


def _contents(template: Template, overview: Overview) -> Html:
    """Return links to what people wrote."""
    if len(overview.prompts) < 2:
        return EMPTY
    rows = [template.fill("contents_row", anchor=anchor, text=text or "(no text)") for anchor, text in overview.prompts]
    rows += [template.fill("contents_more", text=f"and {overview.more:,} more")] if overview.more else []
    return template.fill("contents", count=f"{len(overview.prompts) + overview.more:,}", rows=join(rows))
