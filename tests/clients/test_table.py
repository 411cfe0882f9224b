"""What holds of the clients without running them: their list, their records, the table's shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients import registry, table
from tests.clients.client import COLUMNS, packages
from tests.clients.registry import CLIENTS
from tests.clients.wire import said


def test_the_clients_that_are_installed_are_those_that_are_tested() -> None:
    assert [*(client.name for client in CLIENTS), *registry.FRAMEWORKS] == list(packages())


def test_the_table_has_a_row_for_each_client_in_its_version() -> None:
    rows = table.rows(table.region())
    assert {name: row["version"] for name, row in rows.items()} == {one.name: one.version for one in CLIENTS}
    assert all(list(row) == ["version", *COLUMNS] for row in rows.values())


def test_a_cell_says_yes_or_no_and_what_does_not_apply_has_a_reason() -> None:
    for client in CLIENTS:
        row = table.rows(table.region())[client.name]
        never = {cell for cell in COLUMNS if row[cell] == table.NEVER}
        assert never == set(client.lacks), client.name
        assert {row[cell] for cell in COLUMNS} <= {table.YES, table.NO, table.NEVER}, client.name


def test_what_stands_in_the_document_is_what_a_run_would_write() -> None:
    assert table.made(CLIENTS, {}, table.rows(table.region())) == table.region()


def test_a_run_writes_what_it_found_and_leaves_the_other_rows(tmp_path: Path) -> None:
    document = tmp_path / "formats.md"
    document.write_text(f"before\n{table.BEGIN}{table.region()}{table.END}\nafter\n")
    first, second = CLIENTS[0], CLIENTS[1]
    open_cell = next(cell for cell in COLUMNS if cell not in first.lacks)
    was = table.rows(table.region())
    table.write(table.made(CLIENTS, {(first.name, open_cell): "no"}, was), document)
    now = table.rows(table.region(document))
    assert now[first.name][open_cell] == "no"
    assert now[second.name] == was[second.name]
    assert document.read_text().startswith("before\n") and document.read_text().endswith("\nafter\n")


@pytest.mark.parametrize(("given", "out"), [("", False), ("none", True), ("pi codex", True), ("codex", False)])
def test_clients_are_left_out_by_name(given: str, out: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIENTS", given)
    assert registry.left_out("pi") is out


def test_a_name_that_no_client_has_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIENTS", "codex cdx")
    assert registry.strangers() == ["cdx"]
    monkeypatch.setenv("CLIENTS", "none")
    assert registry.strangers() == []


def test_texts_are_compared_however_a_dialect_spells_them() -> None:
    chat = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"function": {"name": "read", "arguments": '{"a":"x"}'}}],
    }
    messages = {"role": "assistant", "content": [{"type": "tool_use", "name": "read", "input": {"a": "x"}}]}
    responses = {"type": "function_call", "name": "read", "arguments": '{"a":"x"}'}
    assert [list(said(one)) for one in (chat, messages, responses)] == [["x"]] * 3
