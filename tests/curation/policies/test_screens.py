"""A screen as JSON in a message, as LLuMa's document prints it and as others spell it: compacted, and told in lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxtui.curation.apply.compact_json import compact
from ctxtui.curation.policies.builtin.trim_old_turns import fill_template
from tests.cases import systems

ARCHIVE = {
    "name": "Archive",
    "full_label": "Archive | hint=NEW | section=Umamusume",
    "bounds": [907, 418, 193, 49],
    "metadata": {"hint": "NEW", "section": "Umamusume"},
    "region": "menus",
}
PROFILE = {**ARCHIVE, "name": "Profile", "full_label": "Profile", "metadata": {}}
MENU = {
    "is_usable": True,
    "selected_tab": "Menu",
    "tabs": [{"name": "Jukebox", "is_selected": False, "availability": "available"}],
    "available_tabs": ["Jukebox", "Menu"],
}
BAR = {"track_bounds": [1, 2, 3, 4], "thumb_bounds": [1, 2, 3, 4], "can_scroll_up": True, "can_scroll_down": False}
OPTION_A = {
    "drop": ["full_label", "bounds", "section", "track_bounds", "thumb_bounds", "thumb_ratio", "is_usable", "tabs"],
    "rename": {
        "metadata": "meta", "can_scroll_up": "up", "can_scroll_down": "down", "selected_tab": "tab",
        "available_tabs": "available",
    },
    "flatten": ["metadata"],
}  # fmt: skip
LINES = """Turn {turn_id} ({timestamp})
Buttons: {buttons.name}
Menu: tab={selected_tab}, available={available_tabs}
Scrollbar: {scrollbar}"""
TOLD = """Turn turn_000005 (2025-11-01T18:15:22)
Buttons: Archive, Profile
Menu: tab=Menu, available=[Jukebox, Menu]
Scrollbar: none"""


def screen(**more: Any) -> dict[str, Any]:
    return {"buttons": [ARCHIVE, PROFILE], "scrollbar": None, "menu_state": MENU, **more}


@pytest.mark.parametrize("indent", [None, 2])
def test_option_a_of_the_document(indent: int | None) -> None:
    made = compact(f"Screen:\n{json.dumps(screen(scrollbar=BAR), indent=indent)}\nGo on.", OPTION_A)
    assert made == (
        'Screen:\n{"buttons":[{"name":"Archive","meta":"hint=NEW","region":"menus"},{"name":"Profile","region":"menus"}],'
        '"scrollbar":{"up":true,"down":false},"menu_state":{"tab":"Menu","available":["Jukebox","Menu"]}}\nGo on.'
    )


def test_members_are_dropped_and_renamed_inside_what_is_flattened() -> None:
    text = json.dumps({"rows": [{"info": {"size": 3, "path": "/a/long/path/to/it", "note": ""}, "id": 1}] * 3})
    given = {"drop": ["path"], "rename": {"size": "n", "info": "i"}, "flatten": ["info"]}
    assert compact(text, given) == '{"rows":[{"i":"n=3","id":1},{"i":"n=3","id":1},{"i":"n=3","id":1}]}'
    bare = {"drop": ["path", "size"], "flatten": ["info"]}
    assert compact(text, bare) == '{"rows":[{"id":1},{"id":1},{"id":1}]}', "what says nothing goes"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"turn_id": "turn_000005", "timestamp": "2025-11-01T18:15:22", **screen()}),
        f"Turn ID: turn_000005\nTimestamp: 2025-11-01T18:15:22\n\n{json.dumps(screen(), indent=2)}\n<todo.md>\nx",
        f"- **turn_id**: turn_000005\n- **Timestamp** = 2025-11-01T18:15:22  \n```json\n{json.dumps(screen())}\n```",
    ],
)
def test_the_four_lines_of_the_document(text: str) -> None:
    assert fill_template(LINES, 3, text) == TOLD


@pytest.mark.parametrize("spelling", systems.SCREENS)
def test_a_screen_is_told_however_it_is_spelled(spelling: str) -> None:
    template = "{buttons.name|elements.text} / {selected_tab|tab|menu} / {available_tabs|available|menu}"
    names, tab, available = fill_template(template, 3, systems.screen(3, spelling)).split(" / ")
    assert names == "button 0, button 1, button 2"
    if spelling in ("lines", "numbered"):
        assert tab == available == "tab=Menu, available=[Jukebox, Menu]"
    else:
        assert tab == "Menu" and available == ("tab=Menu" if spelling in ("elements", "small") else "[Jukebox, Menu]")


def test_a_name_is_found_however_its_parts_are_joined() -> None:
    for name in ("turn_id", "turnId", "turn-id", "TURN_ID", "Turn ID"):
        assert fill_template("{turn_id}", 1, json.dumps({"seen": {name: "t5", "more": "x" * 40}})) == "t5"
        assert fill_template("{turn_id}", 1, f"**{name}**: t5\nGo on.") == "t5"
    assert fill_template("{turn_id}", 1, "turned: t5\nreturn id: t6") == "none"
    assert fill_template("{todo}", 1, "Todo:\n\n* rest\n* race\n\nno item") == "rest, race"
    assert fill_template("{todo}", 1, "Todo:\n\nno item") == "none"


def test_what_a_message_does_not_say_is_none() -> None:
    told = fill_template(
        "{turn} {nothing} {buttons.price} {scrollbar} {note}", 4, json.dumps(screen(scrollbar=BAR)) + "\nNote:\n"
    )
    bar = "track_bounds=[1, 2, 3, 4], thumb_bounds=[1, 2, 3, 4], can_scroll_up=true, can_scroll_down=false"
    assert told == f"4 none none {bar} none"
