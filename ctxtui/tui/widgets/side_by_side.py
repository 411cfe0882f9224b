"""Painting what changed of panes that stand side by side: of a frame only the lines that are to be painted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

Places = Sequence[tuple[Region, Widget]]


class SideBySide(Compositor):
    """Textual's compositor, which goes for each frame through all lines of all panes near what is to be painted, and
    looks at each of them what lies over what. Where no pane lies over another, only those lines are gone through."""

    def __init__(self) -> None:
        super().__init__()
        self._known: tuple[object, Places] = None, ()

    def render_partial_update(self) -> ChopsUpdate | None:
        """What is to be painted, as Textual says it, without the pieces that are not."""
        dirty, places, height = sorted(self._dirty_regions), self._places(), self.size.height
        found = [next((one for one in places if one[0].contains_region(region)), None) for region in dirty]
        if not dirty or None in found:
            # The ground behind the panes, or one pane over another.
            return super().render_partial_update()
        self._dirty_regions.clear()
        chops: list[dict[int, Strip | None]] = [{} for _ in range(height)]
        ends: list[dict[int, int]] = [{} for _ in range(height)]
        for region, (place, widget) in zip(dirty, filter(None, found), strict=True):
            x, y, width, _ = place
            lines = widget.render_lines(Region(0, region.y - y, width, region.height))
            for at, strip in enumerate(lines, region.y):
                chops[at][x], ends[at][x] = strip, x + width
        return ChopsUpdate(chops, [*self._regions_to_spans(dirty)], [[*line.values()] for line in ends])

    def _places(self) -> Places:
        """Where each pane stands; none of them where one lies over another, or reaches out of the screen."""
        there = self.visible_widgets
        if self._known[0] is not there:
            self._known = there, _apart(there, self.size.region)
        return self._known[1]


def _apart(there: Mapping[Widget, tuple[Region, Region]], screen: Region) -> Places:
    # The ground is as large as the screen and lies under all of them.
    panes = [(region, clip, widget) for widget, (region, clip) in there.items() if widget.parent in there]
    for at, (region, clip, _) in enumerate(panes):
        covered = any(region.overlaps(other) for other, _, _ in panes[:at])
        if covered or not (clip.contains_region(region) and screen.contains_region(region)):
            return ()
    return [(region, widget) for region, _, widget in panes]
