"""Laws that hold for every Result."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scopes.agents
import scopes.check
import scopes.code_links
import scopes.collaboration
import scopes.context
import scopes.conversation
import scopes.exporters
import scopes.facts
import scopes.handover
import scopes.hosts
import scopes.importers
import scopes.live
import scopes.memory
import scopes.merge
import scopes.proposals
import scopes.purge
import scopes.search
import scopes.secrets
import scopes.server
import scopes.server.acp
import scopes.server.mcp
import scopes.sync
import scopes.tokens
import scopes.usage
from scopes.conversation.merge import Merged
from scopes.conversation.rebase import Replayed
from scopes.render.table import VIEWS
from scopes.result import RawDocument, Result
from tests.render.hostile import ANY_COLORS, PAYLOADS, forbidden
from tests.render.rendering import document, json_text, piped, seen, with_texts
from tests.render.results import SAMPLES
from tests.render.with_options import unwrap
from tests.support.examples import examples

MODULES = [
    importlib.import_module(f"{package.__name__}.{module.name}")
    for package in (
        scopes.agents,
        scopes.code_links,
        scopes.context,
        scopes.conversation,
        scopes.exporters,
        scopes.collaboration,
        scopes.facts,
        scopes.check,
        scopes.importers,
        scopes.merge,
        scopes.memory,
        scopes.search,
        scopes.secrets,
        scopes.tokens,
        scopes.usage,
        scopes.proposals,
        scopes.live,
        scopes.server,
        scopes.server.acp,
        scopes.server.mcp,
        scopes.hosts,
        scopes.handover,
        scopes.sync,
        scopes.purge,
    )
    for module in pkgutil.iter_modules(package.__path__)
]
EVERY_SAMPLE = {f"{noun} {name}": result for noun, results in SAMPLES.items() for name, result in results.items()}


BASES = {Merged.__base__, Replayed.__base__}  # of which no operation returns an instance
KINDS = [
    thing
    for module in MODULES
    for thing in vars(module).values()
    if isinstance(thing, type) and issubclass(thing, Result) and thing.__module__ == module.__name__
    if thing not in BASES
    if not issubclass(thing, RawDocument)  # which is its own rendering
]
NULLS = {"context", "changes", "cherry_pick", "conflicts", "merge", "merge_requests", "proposals", "rebase"}
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
each_noun = pytest.mark.parametrize("noun", SAMPLES)


@each_kind
def test_every_result_has_a_view_or_describes_itself(kind):
    views = [VIEWS[each.__name__] for each in kind.__mro__ if each.__name__ in VIEWS]
    described = kind.columns or kind.sentence is not Result.sentence or kind.answer is not Result.answer
    assert bool(views) != bool(described)
    for module, _, function in (view.partition(".") for view in views):
        assert callable(getattr(importlib.import_module(f"scopes.render.{module}"), function))


def test_no_two_results_have_the_same_name():
    """Views are found by the names of the Result classes."""
    assert len({kind.__name__ for kind in KINDS}) == len(KINDS)


@each_kind
def test_every_result_has_a_sample(kind):
    assert any(isinstance(unwrap(sample)[0], kind) for sample in EVERY_SAMPLE.values())


def test_every_name_in_the_table_is_that_of_a_result():
    assert set(VIEWS) <= {kind.__name__ for kind in KINDS}


def hostile_samples(noun):
    """The samples of a noun with every payload at the end of every text."""
    return [with_texts(result, lambda text: text + "".join(PAYLOADS)) for result in SAMPLES[noun].values()]


@each_noun
@pytest.mark.parametrize("width", [40, 200])
@pytest.mark.cases(24)
def test_no_result_can_control_a_terminal(noun, width, at_one_moment):
    """H-71, through every renderer."""
    for hostile in hostile_samples(noun):
        assert forbidden(ANY_COLORS.sub("", seen(hostile, width, color=True))) == []


@each_noun
def test_no_result_writes_control_characters_to_a_pipe(noun, at_one_moment):
    for hostile in hostile_samples(noun):
        assert forbidden(piped(hostile).replace("\t", "")) == []


@each_noun
@pytest.mark.cases(24)
def test_a_line_of_json_is_one_safe_line(noun):
    for hostile in hostile_samples(noun):
        line = json_text(hostile)
        assert forbidden(line) == []
        assert line.count("\n") == 1
        assert json.loads(line)["kind"]


@each_noun
def test_a_document_begins_with_its_version_and_kind(noun):
    for result in SAMPLES[noun].values():
        assert json.dumps(document(result)).startswith('{"scopes": 1, "kind": "')


@each_noun
def test_what_is_unknown_is_absent(noun):
    """Only changes and conflicts have nulls: for no value before, or a side without positions (S4-12, S4-49).

    A context has all its fields, because scripts rely on them.
    """
    for result in SAMPLES[noun].values():
        for path, value in walk(document(result)):
            assert value is not None or noun in NULLS, path


def walk(value, path=""):
    """Every value in a JSON document with its path."""
    yield path, value
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from walk(item, f"{path}.{key}")


@each_noun
def test_every_time_is_in_utc_and_every_id_is_whole(noun):
    for path, value in walk([document(result) for result in SAMPLES[noun].values()]):
        if isinstance(value, str) and re.search(r"\.(time|created_at|last_activity|last_touch|first|last)$", path):
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value), path
        if isinstance(value, str) and re.search(r"\.(oid|tip|commit|fork)$", path):
            assert re.fullmatch(r"[0-9a-f]{40}", value), path


@given(st.integers(30, 250))
@settings(max_examples=examples(15), deadline=None)
def test_no_row_of_a_box_is_wider_than_the_terminal(width):
    for name, result in EVERY_SAMPLE.items():
        for line in seen(result, width).splitlines():
            if line.startswith(("│ ", "╭", "├─", "╰")) and "graph" not in name and "show" not in name:
                assert len(line) <= width


@each_noun
def test_hints_can_be_switched_off(noun):
    for result in SAMPLES[noun].values():
        assert " with: scopes" not in seen(result, hints=False)


def test_a_pipe_needs_no_library_of_the_terminal():
    """Only terminals import rich; the start-up budget of `list` and `log` has no room for it."""
    program = """
import sys
from scopes.render.table import render_text
from scopes.render.view import View
from tests.render.results import SAMPLES
from tests.render.with_options import unwrap
for noun, results in SAMPLES.items():
    for name, result in results.items():
        if not name.startswith("graph"):
            result, options = unwrap(result)
            render_text(result, View(lambda text: None, options=options))
print({name.partition(".")[0] for name in sys.modules} & {"rich", "markdown_it", "asyncio"} or "none")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "none\n"
