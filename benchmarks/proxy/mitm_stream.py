"""An addon for mitmdump: passes chunks through as they come and keeps a copy, as a recording proxy must."""


def responseheaders(flow):  # type: ignore[no-untyped-def]
    """Stream the answer."""
    kept = flow.metadata["kept"] = []

    def passed(data):  # type: ignore[no-untyped-def]
        kept.append(data)
        return data

    flow.response.stream = passed
