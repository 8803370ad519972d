"""Sub-agents whose records are in the file of the session that started them."""

from __future__ import annotations

from tests.importers.formats.claude_code.logs import Log, call, drafts, name_of, text, tree


def spawning(*prompts):
    log = Log()
    log.user("Sell tea")
    for number, prompt in enumerate(prompts):
        log.answer(
            "m1", call(f"c{number}", "Task", subagent_type=f"seller-{number}", prompt=prompt, description="Sell")
        )
    return log


def side(log, prompt, agent=None, **fields):
    fields = {"isSidechain": True, "parent": None} | ({} if agent is None else {"agentId": agent}) | fields
    return log.user(prompt, **fields)


def test_a_side_line_starts_at_its_call():
    log = spawning("Look for tea")
    line = log.last
    side(log, "Look for tea", "a1")
    log.answer("s1", text("Found"), isSidechain=True, agentId="a1")
    log.result("c0", parent=line)
    log.answer("m2", text("Done"))
    assert tree(log) == [("u000", None), ("m1", "u000"), ("u002", None), ("s1", "u002"), ("u004", "m1"), ("m2", "u004")]
    begin, answer = drafts(log)[2:4]
    assert (begin.side, begin.spawned_by, answer.side, answer.spawned_by) == ("a1", {"call_id": "c0"}, "a1", None)
    assert (begin.kind, begin.author.kind, answer.author.name) == ("prompt", "injected", "seller-0")


def test_side_lines_without_an_agent_id_are_separated_by_their_links():
    log = spawning("Look for tea", "Look for coffee")
    first = side(log, "Look for coffee", uuid="11111111-aaaa")
    second = side(log, "Look for tea", uuid="22222222-bbbb")
    log.answer("s1", text("Coffee"), isSidechain=True, parent=first)
    log.answer("s2", text("Tea"), isSidechain=True, parent=second)
    found = drafts(log)[2:]
    assert [(draft.side, draft.spawned_by) for draft in found] == [
        ("11111111", {"call_id": "c1"}), ("22222222", {"call_id": "c0"}), ("11111111", None), ("22222222", None),
    ]  # fmt: skip
    assert [draft.author.name for draft in found[2:]] == ["seller-1", "seller-0"]


def test_a_link_from_one_line_into_another_is_not_followed():
    log = spawning("Look")
    main = log.last
    inside = side(log, "Look", "a1", parent=main)
    log.user("Thanks", parent=inside)
    assert tree(log)[2:] == [("u002", None), ("u003", "m1")]


def test_in_the_file_of_an_agent_another_agent_is_a_side_line():
    log = Log()
    log.user("Look", isSidechain=True, agentId="a1")
    log.user("Look there", isSidechain=True, agentId="a2", parent=None)
    log.answer("m1", text("Done"), isSidechain=True, agentId="a1", parent="u000", attributionAgent="seller")
    assert [(name_of(draft), draft.side, draft.author.name) for draft in drafts(log)] == [
        ("u000", None, "user"), ("u001", "a2", "user"), ("m1", None, "seller"),
    ]  # fmt: skip
