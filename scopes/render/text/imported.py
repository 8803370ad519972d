"""What was brought in, for people."""

from __future__ import annotations

from scopes.conversation.import_sample import SampleImported
from scopes.render.text.dispatch import render_text
from scopes.render.text.wording import counted, say_outcome
from scopes.render.view import Span, View


@render_text.register(SampleImported)
def sample_imported(result: SampleImported, view: View) -> None:
    """Say where the sample is."""
    name = Span(result.conversation, "id")
    extent = f"{counted(result.messages, 'message')} on {counted(result.branches, 'branch')}"
    if result.operation is None:
        say_outcome(view, name, "the sample is here already: ", name, f", {extent}")
    else:
        say_outcome(view, name, "brought in the sample as ", name, f": {extent}", operation=result.operation)
