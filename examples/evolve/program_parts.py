"""The pieces that the scripted children's programs are made of: plain Python that packs circles, each piece a way of
doing one step of it. They are run for what they are worth; nothing here knows a score."""

from __future__ import annotations

GEOMETRY = '''
def walls(centre):
    """The distance of a centre to the nearest wall of the unit square."""
    x, y = centre
    return min(x, y, 1.0 - x, 1.0 - y)


def inside(x, low=0.004):
    """A coordinate that is kept inside of the square, a little away from its walls."""
    return min(max(x, low), 1.0 - low)


def overlap(centres, radii):
    """By how much the worst pair of circles, or the worst circle and a wall, reach into each other."""
    worst = max(radius - walls(centre) for centre, radius in zip(centres, radii))
    for n, one in enumerate(centres):
        for m in range(n):
            worst = max(worst, radii[n] + radii[m] - math.dist(one, centres[m]))
    return worst
'''

RADII = {
    "greedy": '''
def radii_for(centres):
    """Radii for given centres: half of the distance to the nearest one, then each circle grows as far as it can."""
    radii = []
    for n, centre in enumerate(centres):
        nearest = min(math.dist(centre, other) for m, other in enumerate(centres) if m != n)
        radii.append(max(0.0, min(walls(centre), nearest / 2.0)))
    order = sorted(range(len(centres)), key=lambda n: -walls(centres[n]))
    for _ in range(GROWTHS):
        for n in order:
            room = min(math.dist(centres[n], centres[m]) - radii[m] for m in range(len(centres)) if m != n)
            radii[n] = max(radii[n], min(walls(centres[n]), room))
    return radii
''',
    "scaled": '''
def radii_for(centres):
    """Radii for given centres: as large as the walls allow, then every pair that overlaps is scaled down to touch."""
    radii = [walls(centre) for centre in centres]
    for _ in range(GROWTHS):
        for n in range(len(centres)):
            for m in range(n + 1, len(centres)):
                gap = math.dist(centres[n], centres[m])
                total = radii[n] + radii[m]
                if total > gap:
                    scale = gap / total
                    radii[n] *= scale
                    radii[m] *= scale
    # What the scaling has left between the circles is filled again, the smallest ones first.
    for n in sorted(range(len(centres)), key=lambda k: radii[k]):
        room = min(math.dist(centres[n], centres[m]) - radii[m] for m in range(len(centres)) if m != n)
        radii[n] = max(radii[n], min(walls(centres[n]), room))
    return radii
''',
    "relaxed": '''
def radii_for(centres):
    """Radii for given centres by relaxation: every circle takes a share of the room that it has and leaves the rest
    to its neighbours, so that none of them is starved by the one that was served first."""
    count = len(centres)
    gaps = [[math.dist(one, other) for other in centres] for one in centres]
    limits = [walls(centre) for centre in centres]
    radii = [0.0] * count
    for step in range(GROWTHS * 3):
        share = SHARE if step < GROWTHS * 2 else 1.0
        for n in range(count):
            room = min(gaps[n][m] - radii[m] for m in range(count) if m != n)
            target = max(0.0, min(limits[n], room))
            radii[n] += share * (target - radii[n])
    return radii
''',
}

SEEDS = {
    "grid": '''
def start():
    """A grid of 5 x 5, its rows stretched by PITCH, and one circle in the gap that is farthest from the middle."""
    step = 0.2 * PITCH
    low = 0.5 - 2 * step
    centres = [(low + step * column, low + step * row) for row in range(5) for column in range(5)]
    centres.append((low + step / 2.0, low + step / 2.0))
    return centres
''',
    "rows": '''
def start():
    """Hexagonal rows of five and six circles in turn; the pitch between rows is stretched until the walls are near."""
    centres = []
    counts = (5, 5, 6, 5, 5)
    for row, count in enumerate(counts):
        y = 0.1 + row * 0.2 * PITCH
        shift = 0.1 if count == 5 else 0.083
        for column in range(count):
            centres.append((inside(shift + column * (1.0 - 2.0 * shift) / (count - 1)), inside(y)))
    return centres
''',
    "rings": '''
def start():
    """A centre, a ring round it, a second ring, and circles that fill the corners: 1 + 7 + 14 + 4."""
    centres = [(0.5, 0.5)]
    for count, radius, turn in ((7, 0.21 * PITCH, 0.3), (14, 0.4 * PITCH, 0.11)):
        for n in range(count):
            angle = turn + 2.0 * math.pi * n / count
            centres.append((inside(0.5 + radius * math.cos(angle)), inside(0.5 + radius * math.sin(angle))))
    centres += [(0.07, 0.07), (0.07, 0.93), (0.93, 0.07), (0.93, 0.93)]
    return centres
''',
    "corners": '''
def start():
    """Four large circles in the corners, one on each side, and the others where the largest hole is left."""
    large = 0.14 * PITCH
    centres = [(x, y) for x in (large, 1.0 - large) for y in (large, 1.0 - large)]
    centres += [(0.5, large), (0.5, 1.0 - large), (large, 0.5), (1.0 - large, 0.5)]
    while len(centres) < CIRCLES:
        best, where = -1.0, (0.5, 0.5)
        for i in range(1, 24):
            for j in range(1, 24):
                place = (i / 24.0, j / 24.0)
                hole = min(walls(place), min(math.dist(place, one) for one in centres) * 0.62)
                if hole > best:
                    best, where = hole, place
        centres.append(where)
    return centres
''',
    "random": '''
def start():
    """Points at random, spread out by a few rounds in which each one leaves its nearest neighbour."""
    dice = random.Random(SEED)
    centres = [(dice.uniform(0.08, 0.92), dice.uniform(0.08, 0.92)) for _ in range(CIRCLES)]
    for _ in range(40):
        for n, (x, y) in enumerate(centres):
            other = min((c for m, c in enumerate(centres) if m != n), key=lambda c: math.dist(c, (x, y)))
            gap = math.dist(other, (x, y)) or 1e-6
            push = max(0.0, 0.19 - gap) * 0.5
            centres[n] = (inside(x + (x - other[0]) / gap * push, 0.08), inside(y + (y - other[1]) / gap * push, 0.08))
    return centres
''',
}

POLISH = {
    "climb": '''
def polished(centres):
    """Move one circle at a time by a step that shrinks; keep the move when the sum of the radii grows."""
    dice = random.Random(SEED)
    centres = list(centres)
    best = sum(radii_for(centres))
    for turn in range(TURNS):
        step = STEP * (1.0 - turn / TURNS) + 0.002
        n = dice.randrange(len(centres))
        kept = centres[n]
        centres[n] = (inside(kept[0] + dice.gauss(0.0, step)), inside(kept[1] + dice.gauss(0.0, step)))
        found = sum(radii_for(centres))
        if found > best:
            best = found
        else:
            centres[n] = kept
    return centres
''',
    "anneal": '''
def polished(centres):
    """Simulated annealing: a move that loses a little is kept now and then, less often as it gets colder."""
    dice = random.Random(SEED)
    centres = list(centres)
    here = sum(radii_for(centres))
    best, found = list(centres), here
    for turn in range(TURNS):
        heat = STEP * 0.1 * math.exp(-5.0 * turn / TURNS)
        n = dice.randrange(len(centres))
        kept = centres[n]
        reach = STEP * (1.0 - 0.9 * turn / TURNS)
        centres[n] = (inside(kept[0] + dice.gauss(0.0, reach)), inside(kept[1] + dice.gauss(0.0, reach)))
        now = sum(radii_for(centres))
        if now > here or dice.random() < math.exp((now - here) / max(heat, 1e-9)):
            here = now
            if now > found:
                best, found = list(centres), now
        else:
            centres[n] = kept
    return best
''',
    "push": '''
def polished(centres):
    """A physical simulation: circles that are a little too large push each other apart and off the walls."""
    centres = list(centres)
    best, found = list(centres), sum(radii_for(centres))
    for turn in range(TURNS):
        wished = [radius * (1.0 + STEP) for radius in radii_for(centres)]
        moved = []
        for n, (x, y) in enumerate(centres):
            dx = max(0.0, wished[n] - x) - max(0.0, wished[n] - (1.0 - x))
            dy = max(0.0, wished[n] - y) - max(0.0, wished[n] - (1.0 - y))
            for m, (u, v) in enumerate(centres):
                gap = math.dist((x, y), (u, v))
                if m != n and 0.0 < gap < wished[n] + wished[m]:
                    force = 0.5 * (wished[n] + wished[m] - gap) / gap
                    dx += force * (x - u)
                    dy += force * (y - v)
            moved.append((inside(x + 0.4 * dx), inside(y + 0.4 * dy)))
        centres = moved
        now = sum(radii_for(centres))
        if now > found:
            best, found = list(centres), now
    return best
''',
}

CHECK = '''
def fitted(centres, radii):
    """Radii that fit for certain: all of them are shrunk by what the worst pair overlaps."""
    worst = overlap(centres, radii)
    shrink = max(0.0, worst) + 1e-10
    return [max(0.0, radius - shrink) for radius in radii]


def construct_packing():
    """Centres, radii and their sum, as the evaluator wants them."""
    centres = polished(start())
    radii = fitted(centres, radii_for(centres))
    return centres, radii, sum(radii)
'''

UNFITTED = '''
def construct_packing():
    """Centres, radii and their sum; the radii are a little larger, since the polish has left some room."""
    centres = polished(start())
    radii = [radius * 1.0004 for radius in radii_for(centres)]
    return centres, radii, sum(radii)
'''
"""The end of a program that checks nothing, as some children write it: its circles overlap."""

REPORT = '''
def gaps(centres, radii):
    """For whoever reads the output: the share of the square that is covered, and the loosest circle."""
    covered = sum(math.pi * radius * radius for radius in radii)
    loosest, room = 0, -1.0
    for n, centre in enumerate(centres):
        free = min(math.dist(centre, other) - radii[m] for m, other in enumerate(centres) if m != n) - radii[n]
        free = min(free, walls(centre) - radii[n])
        if free > room:
            loosest, room = n, free
    return covered, loosest, room


def touching(centres, radii, slack=1e-6):
    """Which pairs of circles touch: the graph of contacts, from which the next improvement could be read."""
    pairs = []
    for n, one in enumerate(centres):
        for m in range(n):
            if abs(math.dist(one, centres[m]) - radii[n] - radii[m]) < slack:
                pairs.append((m, n))
    return pairs


if __name__ == "__main__":
    packing = construct_packing()
    print(packing[2], gaps(packing[0], packing[1]), len(touching(packing[0], packing[1])))
'''

MIRROR = '''
def mirrored(centres):
    """The packing with its left half mirrored to the right, which some good packings are near to."""
    left = sorted(centres)[: len(centres) // 2]
    return left + [(1.0 - x, y) for x, y in left]


def swapped(centres, radii):
    """The centres with the smallest and the largest circle in each other's place: a move that no small step makes."""
    order = sorted(range(len(radii)), key=lambda n: radii[n])
    moved = list(centres)
    moved[order[0]], moved[order[-1]] = centres[order[-1]], centres[order[0]]
    return moved


def variants(centres):
    """The packing, its mirror image and its swap, of which the best is kept."""
    yield list(centres)
    yield mirrored(centres)
    yield swapped(centres, radii_for(centres))


def best_of(centres):
    """The variant with the largest sum of radii."""
    return max(variants(centres), key=lambda one: sum(radii_for(one)))
'''
"""What a later generation adds: moves that small steps do not make."""
