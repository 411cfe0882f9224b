"""Claude on Amazon Bedrock, as the offline provider answers: `-m tests.clients.bedrock_front PORT TO`.

`POST /model/ID/invoke` and `invoke-with-response-stream` are the Messages API's requests without model and stream,
which the provider on the port TO is asked; its stream comes back in Amazon's framing.
"""

from __future__ import annotations

import json
import sys

import aiohttp
from aiohttp import web

from ctxtui.wire.sse import parse_stream
from tests.cases import amazon_stream as amazon

MODEL = "claude-sonnet-4-5"
"""What the provider is asked for, whichever is."""


async def answer(request: web.Request) -> web.Response:
    """The answer to one request."""
    call = request.path.rpartition("/")[2]
    if not call.startswith("invoke"):
        return web.json_response({"message": "not served"}, status=404)
    body = {**await request.json(), "model": MODEL, "stream": call != "invoke"}
    headers = {"x-api-key": "any", "anthropic-version": "2023-06-01"}
    headers["anthropic-beta"] = ",".join(body.pop("anthropic_beta", []))
    del body["anthropic_version"]
    url = f"http://127.0.0.1:{sys.argv[2]}/v1/messages"
    async with aiohttp.ClientSession() as session, session.post(url, json=body, headers=headers) as answered:
        raw = await answered.read()
        if answered.status != 200 or not body["stream"]:
            return web.Response(body=raw, status=answered.status, content_type="application/json")
    events = [json.loads(event.data) for event in parse_stream(raw)]
    return web.Response(body=amazon.invoke(events), content_type="application/vnd.amazon.eventstream")


if __name__ == "__main__":
    app = web.Application(client_max_size=1 << 26)
    app.router.add_route("*", "/{path:.*}", answer)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
