"""Scripts in frameworks and SDKs of several languages; each has a tool read a file, whole and streamed."""

from __future__ import annotations

from collections.abc import Callable

from tests.clients.client import Client, Command
from tests.clients.lab import Lab

TASK = "Read b.txt. What is the harbour?"

_LANGCHAIN = '''\
import sys
from pathlib import Path
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI

def read_file(path: str) -> str:
    """Reads a file."""
    return Path(path).read_text()

for model in (
    ChatAnthropic(model="claude-sonnet-4-5", max_tokens=500),
    ChatOpenAI(model="gpt-5.6"),
    ChatOpenAI(model="gpt-5.6", use_responses_api=True),
    ChatGoogleGenerativeAI(model="gemini-2.5-flash"),
):
    agent = create_agent(model, [read_file])
    task = {"messages": [{"role": "user", "content": sys.argv[1]}]}
    print(agent.invoke(task)["messages"][-1].text)
    print("".join(piece.text for piece, _ in agent.stream(task, stream_mode="messages")))
'''
_SMOLAGENTS = '''\
import sys
from pathlib import Path
from smolagents import LiteLLMModel, OpenAIModel, ToolCallingAgent, tool

@tool
def read_file(path: str) -> str:
    """Reads a file.

    Args:
        path: The file's path.
    """
    return Path(path).read_text()

for model in (OpenAIModel("gpt-5.6"), LiteLLMModel("anthropic/claude-sonnet-4-5", max_tokens=500)):
    for stream in (False, True):
        print(ToolCallingAgent([read_file], model, max_steps=4, stream_outputs=stream).run(sys.argv[1]))
'''
_OPENAI_AGENTS = '''\
import asyncio
import sys
from pathlib import Path
from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool
from openai import AsyncOpenAI

@function_tool
def read_file(path: str) -> str:
    """Reads a file."""
    return Path(path).read_text()

async def main():
    for model in ("gpt-5.6", OpenAIChatCompletionsModel("gpt-5.6", AsyncOpenAI())):
        agent = Agent("reader", instructions="You help.", model=model, tools=[read_file])
        print((await Runner.run(agent, sys.argv[1])).final_output)
        streamed = Runner.run_streamed(agent, sys.argv[1])
        async for _ in streamed.stream_events():
            pass
        print(streamed.final_output)

asyncio.run(main())
'''
_CLAUDE_AGENT_SDK = """\
import asyncio
import sys
from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

async def main():
    options = ClaudeAgentOptions(model="claude-sonnet-4-5", permission_mode="bypassPermissions")
    async for message in query(prompt=sys.argv[1], options=options):
        if isinstance(message, ResultMessage):
            print(message.result)

asyncio.run(main())
"""
_GOOGLE_GENAI = '''\
import sys
from pathlib import Path
from google import genai

def read_file(path: str) -> str:
    """Reads a file."""
    return Path(path).read_text()

client = genai.Client()
for model in ("gemini-2.5-flash", "gemini-3.1-pro-preview"):
    chat = client.chats.create(model=model, config=genai.types.GenerateContentConfig(tools=[read_file]))
    print(chat.send_message(sys.argv[1]).text)
    print("".join(chunk.text or "" for chunk in chat.send_message_stream(sys.argv[1])))
'''
_GOOGLE_GENAI_JS = """\
import { readFileSync } from "node:fs";
import { GoogleGenAI } from "@google/genai";

const name = "read_file";
const parametersJsonSchema = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const config = { tools: [{ functionDeclarations: [{ name, description: "Reads a file", parametersJsonSchema }] }] };
const chat = new GoogleGenAI({}).chats.create({ model: "gemini-2.5-flash", config });
let answer = await chat.sendMessage({ message: process.argv[2] });
while (answer.functionCalls?.length) {
  const message = answer.functionCalls.map(({ id, args }) => ({
    functionResponse: { id, name, response: { output: readFileSync(args.path, "utf8") } },
  }));
  answer = await chat.sendMessage({ message });
}
console.log(answer.text);
for await (const chunk of await chat.sendMessageStream({ message: "say hello" })) console.log(chunk.text);
"""
_VERCEL_AI = """\
import { readFileSync } from "node:fs";
import { anthropic } from "@ai-sdk/anthropic";
import { google } from "@ai-sdk/google";
import { openai } from "@ai-sdk/openai";
import { generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";

const read_file = tool({
  description: "Reads a file",
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ path }) => readFileSync(path, "utf8"),
});
const models = {
  variables: [anthropic("claude-sonnet-4-5"), openai("gpt-5.6"), openai.chat("gpt-5.6")],
  none: [google("gemini-2.5-flash")],
};
for (const model of models[process.argv[3]]) {
  const task = { model, prompt: process.argv[2], tools: { read_file }, stopWhen: isStepCount(5) };
  console.log((await generateText(task)).text);
  console.log(await streamText(task).text);
}
"""
_KEYS = {
    "ANTHROPIC_API_KEY": "any",
    "OPENAI_API_KEY": "any",
    "GEMINI_API_KEY": "any",
    "GOOGLE_GENERATIVE_AI_API_KEY": "any",
    # The Agents SDK sends traces to OpenAI, whatever the base URL.
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    # Claude Code refuses to skip permissions as root.
    "IS_SANDBOX": "1",
}


def _python(name: str, text: str) -> Client:
    """A script in the packages of `name`. It has keys only: `exec` gives it the addresses."""
    return _client(
        name, {"work/agent.py": text}, lambda lab, prompt: [lab.client.program("python"), "agent.py", prompt]
    )


def _node(name: str, text: str, *arguments: str) -> Client:
    """The same in JavaScript."""

    def ask(lab: Lab, prompt: str) -> Command:
        # Node.js looks for packages beside the script.
        (lab.work / "node_modules").symlink_to(lab.client.folder / "node_modules")
        return ["node", "agent.mjs", prompt, *arguments]

    return _client(name, {"work/agent.mjs": text}, ask)


def _client(name: str, files: dict[str, str], ask: Callable[[Lab, str], Command]) -> Client:
    return Client(name=name, env=_KEYS, files=files, ask=ask, again=None, recordings="no/file", first=TASK)


SCRIPTS = (
    _python("langchain", _LANGCHAIN),
    _python("smolagents", _SMOLAGENTS),
    _python("openai-agents", _OPENAI_AGENTS),
    _python("claude-agent-sdk", _CLAUDE_AGENT_SDK),
    _python("google-genai", _GOOGLE_GENAI),
    _node("vercel-ai", _VERCEL_AI, "variables"),
    _node("google-genai-js", _GOOGLE_GENAI_JS),
)
"""Those whose addresses are variables."""
VERCEL_GOOGLE = _node("vercel-ai", _VERCEL_AI, "none")
"""One whose address no variable names."""
