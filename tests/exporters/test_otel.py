"""Spans of the GenAI conventions in OTLP JSON: OpenTelemetry's own messages parse every line."""

from __future__ import annotations

import json

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes

from scopes.conversation.new_rename_delete import new
from scopes.history.names import list_branch_tips
from scopes.importers.import_sample import import_sample
from scopes.model.message import Author, Message, Part
from tests.exporters.building import call, exported, put, result
from tests.support.history import history

KNOWN = {getattr(gen_ai_attributes, name) for name in dir(gen_ai_attributes) if name.startswith("GEN_AI_")}
SECOND = 1_000_000_000
BEGIN = 1_772_359_200  # 2026-03-01T10:00:00Z


def at_second(identity, seconds, kind="agent", *parts, text="", author=None, **fields):
    """Return a message some seconds after the beginning."""
    content = (Part("text", {"text": text}),) if text else ()
    time = f"2026-03-01T10:00:{seconds:02d}Z"
    return Message(id=identity.ljust(26, "a"), author=Author(author or kind, kind), parts=(*content, *parts), time=time, **fields)  # fmt: skip


def spans_of(repository, *messages):
    """Return the spans that messages are exported as, with their attributes as a mapping."""
    new(repository)
    put(repository, "x", list_branch_tips(repository, "conv-001")["main"], *messages)
    return read(exported(repository, "conv-001/x", "otel"))


def read(text):
    """Parse lines of OTLP JSON, with OpenTelemetry too."""
    found = []
    for line in text.splitlines():
        document = json.loads(line)
        ParseDict(document, TracesData())
        for span in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            values = {each["key"]: next(iter(each["value"].values())) for each in span["attributes"]}
            found.append({**span, "attributes": values})
    return found


def turn(*middle):
    """Return a turn with a prompt, an answer with calls, its results, and the last answer."""
    usage = {"usage": {"input_uncached": 5, "cache_read": 10, "cache_write": 1, "output": 7, "reasoning": 2}}
    return (
        at_second("b", 0, "human", text="fix it"),
        at_second("c", 4, "agent", Part("reasoning", {"text": "hm"}), call("1", input={"command": "ls"}), call("2"), text="I look", author="bot", model="claude-x", extra=usage),
        at_second("d", 9, "tool", result("1", output="a.py", exit_code=2)),
        *middle,
        at_second("e", 20, "agent", text="done", author="bot", model="claude-x", stop_reason="end_turn"),
    )  # fmt: skip


def test_a_turn_is_a_trace_of_an_agent_its_answers_and_its_calls(repository):
    found = spans_of(repository, *turn())
    assert [span["name"] for span in found] == [
        "chat claude-x", "execute_tool Bash", "chat claude-x", "execute_tool Bash", "invoke_agent bot",
    ]  # fmt: skip
    assert len({span["traceId"] for span in found}) == 1
    agent, chat = found[-1], found[0]
    assert [span.get("parentSpanId") for span in found] == [
        agent["spanId"], chat["spanId"], agent["spanId"], chat["spanId"], None,
    ]  # fmt: skip
    assert [span["kind"] for span in found] == [3, 1, 3, 1, 1]
    assert {len(span["traceId"]) for span in found} == {32}
    assert len({span["spanId"] for span in found}) == 5
    assert {len(span["spanId"]) for span in found} == {16}


def test_a_span_lasts_from_the_message_before_it_and_a_call_until_its_result(repository):
    found = spans_of(repository, *turn())
    lasts = [tuple(int(span[f"{end}TimeUnixNano"]) // SECOND - BEGIN for end in ("start", "end")) for span in found]
    assert lasts == [(0, 4), (4, 9), (9, 20), (4, 4), (0, 20)]


def test_an_answer_has_its_model_provider_tokens_and_output(repository):
    first, *_, last, _, _ = spans_of(repository, *turn())
    values = first["attributes"]
    assert values["gen_ai.operation.name"] == "chat"
    assert (values["gen_ai.provider.name"], values["gen_ai.response.model"]) == ("anthropic", "claude-x")
    assert [values[f"gen_ai.usage.{name}"] for name in ("input_tokens", "output_tokens", "cache_read.input_tokens", "cache_creation.input_tokens", "reasoning.output_tokens")] == ["16", "7", "10", "1", "2"]  # fmt: skip
    assert json.loads(values["gen_ai.output.messages"]) == [
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "hm"},
                {"type": "text", "content": "I look"},
                {"type": "tool_call", "id": "1", "name": "Bash", "arguments": {"command": "ls"}},
                {"type": "tool_call", "id": "2", "name": "Bash", "arguments": None},
            ],
            "finish_reason": "tool_call",
        }
    ]
    assert last["attributes"]["gen_ai.response.finish_reasons"] == {"values": [{"stringValue": "stop"}]}


def test_a_call_has_its_arguments_result_and_failure(repository):
    span = spans_of(repository, *turn())[1]
    values = span["attributes"]
    assert [values[f"gen_ai.tool.{name}"] for name in ("name", "type", "call.id", "call.arguments", "call.result")] == [
        "Bash", "function", "1", '{"command":"ls"}', "a.py",
    ]  # fmt: skip
    assert (span["status"], values[error_attributes.ERROR_TYPE]) == (
        {"code": 2, "message": "exit code 2"},
        "exit code 2",
    )


def test_the_agent_has_what_it_was_asked_and_its_last_words(repository):
    injected = at_second("x", 10, "injected", text="a rule")
    agent = spans_of(repository, *turn(injected))[-1]["attributes"]
    assert json.loads(agent["gen_ai.input.messages"]) == [
        {"role": "user", "parts": [{"type": "text", "content": "fix it"}]},
        {"role": "system", "parts": [{"type": "text", "content": "a rule"}]},
    ]
    (last,) = json.loads(agent["gen_ai.output.messages"])
    assert (last["parts"], agent["gen_ai.agent.name"]) == ([{"type": "text", "content": "done"}], "bot")


def test_every_name_is_one_of_the_conventions(repository):
    found = spans_of(repository, *turn(at_second("x", 10, "tool", result("9", output="late", is_error=True))))
    names = {name for span in found for name in span["attributes"]}
    assert {name for name in names if name.startswith("gen_ai.")} <= KNOWN
    assert {name for name in names if not name.startswith("gen_ai.")} == {
        "error.type", "scopes.message.id", "scopes.commit.id", "scopes.branch",
    }  # fmt: skip


def test_each_prompt_begins_a_trace_and_all_have_the_conversation(repository):
    found = spans_of(repository, *turn(), at_second("f", 30, "human", text="more"), at_second("g", 31, text="ok"))
    assert len({span["traceId"] for span in found}) == 2
    assert len({span["attributes"]["gen_ai.conversation.id"] for span in found}) == 1


def test_messages_without_times_and_with_times_that_go_back_have_spans_that_do_not(repository):
    backwards = at_second("b", 30, "human", text="a"), at_second("c", 10, text="b"), at_second("d", 5, text="c")
    for span in spans_of(repository, *backwards):
        assert int(span["endTimeUnixNano"]) >= int(span["startTimeUnixNano"])


@pytest.mark.parametrize(
    ("model", "provider"),
    [("gpt-5", "openai"), ("google/gemini-3", "gcp.gemini"), ("my-model", "unknown"), (None, "unknown")],
)
def test_the_provider_is_known_from_the_model(repository, model, provider):
    (chat, _) = spans_of(repository, at_second("b", 1, text="x", model=model))
    assert chat["attributes"]["gen_ai.provider.name"] == provider
    assert ("gen_ai.request.model" in chat["attributes"]) is (model is not None)


def test_a_long_turn_is_written_in_several_lines(repository):
    new(repository)
    calls = [call(str(number)) for number in range(250)]
    root = list_branch_tips(repository, "conv-001")["main"]
    put(repository, "main", root, at_second("b", 1, "agent", *calls, *(result(str(number)) for number in range(250))), at_second("c", 2, text="x"))  # fmt: skip
    text = exported(repository, "conv-001", "otel")
    assert (len(text.splitlines()), len(read(text))) == (2, 253)


def test_all_branches_have_their_own_traces(repository):
    history(repository, "main: a b", "fix@a: c")
    found = read(exported(repository, "conv-001", "otel", all_branches=True))
    assert {span["attributes"]["scopes.branch"] for span in found} == {"main", "fix"}


def test_the_sample_gives_the_same_spans_every_time(repository):
    import_sample(repository)
    text = exported(repository, "conv-001", "otel")
    assert (text, bool(read(text))) == (exported(repository, "conv-001", "otel"), True)
