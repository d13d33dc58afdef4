"""Traces written by vendors' own packages, with local fake models."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.runs.bad_server import BadServer, Reply, Request, call, calls, says


def talk_to_openai(instrumentor: Any, exporter: Any) -> None:
    """Send two requests with the OpenAI SDK in one trace, recorded by an instrumentation."""
    import openai
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor.instrument(tracer_provider=provider)
    try:
        with (
            BadServer(_answer) as server,
            openai.OpenAI(api_key="none", base_url=server.url, max_retries=0) as client,
            provider.get_tracer("tests").start_as_current_span("run", attributes={"flow": "water"}),
        ):
            messages: list[Any] = [{"role": "user", "content": "Look at A and B."}]
            said = client.chat.completions.create(model="gpt-4o", messages=messages).choices[0].message
            messages.append(said.model_dump(exclude_none=True))
            messages += [
                {"role": "tool", "tool_call_id": one.id, "content": '{"dry": true}'} for one in said.tool_calls or []
            ]
            client.chat.completions.create(model="gpt-4o", messages=messages)
    finally:
        instrumentor.uninstrument()
        provider.shutdown()


def _answer(request: Request) -> Reply:
    if request.number:
        return says("Done.")
    return calls(call("scan", {"plant": "A"}, id="c1"), call("scan", {"plant": "B"}, id="c2"), text="I look.")


def talk_to_pydantic_ai(file: Path, form: str) -> None:
    """Run a pydantic-ai agent and write its spans to a file, with hexadecimal or base64 ids."""
    from google.protobuf.json_format import MessageToJson  # type: ignore[import-untyped]
    from opentelemetry.exporter.otlp.json.common.trace_encoder import encode_spans as encode_as_json
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from pydantic_ai import Agent, ModelRetry
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.models.instrumented import InstrumentationSettings

    turns: list[list[Any]] = [
        [TextPart("I look."), ToolCallPart("scan", {"plant": "A"}, "c1"), ToolCallPart("scan", {"plant": "B"}, "c2")],
        [ToolCallPart("water", '{"plant": "A"}', "c3"), ToolCallPart("nope", '{"plant": "A"}', "c4")],
        [TextPart("Done.")],
    ]

    def model(messages: list[Any], _: Any) -> ModelResponse:
        return ModelResponse(parts=turns[sum(isinstance(one, ModelResponse) for one in messages)])

    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    agent = Agent(FunctionModel(model))
    agent.instrument = InstrumentationSettings(tracer_provider=provider)

    def scan(plant: str) -> dict[str, bool]:
        return {"dry": plant == "A"}

    def water(plant: str) -> None:
        raise ModelRetry("no water")

    agent.tool_plain(scan)
    agent.tool_plain(water)
    asyncio.run(agent.run("Water A."))
    spans = kept.get_finished_spans()
    text = MessageToJson(encode_spans(spans)) if form == "base64" else json.dumps(encode_as_json(spans).to_dict())
    file.write_text(text, encoding="utf-8")
