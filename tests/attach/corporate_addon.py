"""An addon for mitmdump in the part of a company's proxy: names that only it knows lead to a server of this machine;
what it lets through it writes to a file (``--set seen=FILE --set to=PORT``)."""

# mypy: ignore-errors
from mitmproxy import ctx


def load(loader):
    loader.add_option("seen", str, "", "where what goes by is written down")
    loader.add_option("to", int, 0, "the port of the server")


def responseheaders(flow):
    flow.response.stream = True


def request(flow):
    with open(ctx.options.seen, "a") as file:
        file.write(f"{flow.request.method} {flow.request.scheme}://{flow.request.host}{flow.request.path}\n")
    flow.request.scheme, flow.request.host, flow.request.port = "http", "127.0.0.1", ctx.options.to
