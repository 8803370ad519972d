"""Settings of real agents for a model server on the loopback interface: each function writes those of one agent.

They are written into a home directory, and the environment variables that the agent needs as well are returned.
"""

from __future__ import annotations

import json


def configure_opencode(home, port):
    options = {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "stub"}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "stub",
        "options": options,
        "models": {"stub-model": {"name": "stub"}},
    }
    config = {
        "provider": {"stub": provider},
        "model": "stub/stub-model",
        "small_model": "stub/stub-model",
        "autoupdate": False,
    }
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "opencode.json").write_text(json.dumps(config))
    return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}


def configure_gemini(home, port):
    folder = home / ".gemini"
    folder.mkdir(exist_ok=True)
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": False}}
    (folder / "settings.json").write_text(json.dumps(settings))
    return {
        "GEMINI_API_KEY": "stub",
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def configure_codex(home, port, name="stub-model"):
    folder = home / ".codex"
    folder.mkdir(exist_ok=True)
    provider = f'name = "stub"\nbase_url = "http://127.0.0.1:{port}/v1"\nwire_api = "responses"\nrequires_openai_auth = false\n'
    (folder / "config.toml").write_text(
        f'model = "{name}"\nmodel_provider = "stub"\n[model_providers.stub]\n{provider}'
    )
    return {}


def configure_pi(home, port):
    """Add a provider of models; the agent takes it by its name."""
    model = {
        "id": "stub-model",
        "name": "stub",
        "reasoning": False,
        "input": ["text"],
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        "contextWindow": 100_000,
        "maxTokens": 4_000,
    }
    provider = {
        "baseUrl": f"http://127.0.0.1:{port}/v1",
        "api": "openai-completions",
        "apiKey": "stub",
        "models": [model],
    }
    folder = home / ".pi" / "agent"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "models.json").write_text(json.dumps({"providers": {"stub": provider}}))
    return {"PI_OFFLINE": "1"}


def configure_llm(home, port):
    """Add a model, and make it the default one."""
    folder = home / "llm"
    folder.mkdir(exist_ok=True)
    base = f"http://127.0.0.1:{port}/v1"
    (folder / "extra-openai-models.yaml").write_text(
        f"- model_id: stub\n  model_name: stub-model\n  api_base: {base}\n  supports_tools: true\n"
    )
    (folder / "default_model.txt").write_text("stub")
    return {"LLM_USER_PATH": str(folder), "OPENAI_API_KEY": "stub"}


def configure_qwen(home, port):
    """Return the environment; it needs no file."""
    del home
    base = f"http://127.0.0.1:{port}/v1"
    return {"OPENAI_API_KEY": "stub", "OPENAI_BASE_URL": base, "OPENAI_MODEL": "stub-model"}
