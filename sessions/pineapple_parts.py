"""Functions that a model would write for the circle packing search, with places for its numbers."""

SEEDS = (
    '''
def hexagonal_centres(rows={rows}, jitter={jitter}):
    """Centres on a staggered grid, every second row shifted by half a step, with a little noise."""
    rng = np.random.default_rng(SEED)
    points = []
    step = 1.0 / rows
    for row in range(rows):
        shift = 0.25 * step if row % 2 else -0.25 * step
        for column in range(rows):
            x = (column + 0.5) * step + shift
            y = (row + 0.5) * step
            points.append((min(max(x, MARGIN), 1 - MARGIN), min(max(y, MARGIN), 1 - MARGIN)))
    extra = rng.uniform(0.2, 0.8, size=(max(0, N - len(points)), 2))
    centres = np.vstack([np.array(points), extra])[:N]
    return np.clip(centres + rng.normal(0, jitter, centres.shape), MARGIN, 1 - MARGIN)
''',
    '''
def ring_centres(inner={inner}, outer={outer}):
    """One circle in the middle, a ring around it, a second ring, and the corners filled last."""
    points = [(0.5, 0.5)]
    for count, radius, turn in ((inner, {r1}, 0.0), (outer, {r2}, math.pi / outer)):
        for i in range(count):
            angle = 2 * math.pi * i / count + turn
            points.append((0.5 + radius * math.cos(angle), 0.5 + radius * math.sin(angle)))
    corners = [({c}, {c}), (1 - {c}, {c}), ({c}, 1 - {c}), (1 - {c}, 1 - {c})]
    points = points[: N - len(corners)] + corners
    while len(points) < N:
        points.append((0.5, {c} + 0.1 * (N - len(points))))
    return np.clip(np.array(points[:N]), MARGIN, 1 - MARGIN)
''',
    '''
def boundary_first_centres(per_side={per_side}):
    """Large circles along the four sides, the rest on a coarse lattice inside."""
    side = np.linspace({c}, 1 - {c}, per_side)
    points = [(x, {c}) for x in side] + [(x, 1 - {c}) for x in side]
    points += [({c}, y) for y in side[1:-1]] + [(1 - {c}, y) for y in side[1:-1]]
    inside = math.ceil(math.sqrt(max(1, N - len(points))))
    lattice = np.linspace(0.3, 0.7, inside)
    points += [(x, y) for y in lattice for x in lattice]
    return np.array(points[:N], dtype=float)
''',
)

RADII = (
    '''
def best_radii(centres):
    """The radii of the largest sum for fixed centres: a linear programme over pair and wall distances."""
    rows, bounds = [], []
    for i in range(N):
        for j in range(i + 1, N):
            row = np.zeros(N)
            row[i] = row[j] = 1.0
            rows.append(row)
            bounds.append(np.linalg.norm(centres[i] - centres[j]))
    walls = np.minimum.reduce([centres[:, 0], centres[:, 1], 1 - centres[:, 0], 1 - centres[:, 1]])
    answer = linprog(-np.ones(N), A_ub=np.array(rows), b_ub=np.array(bounds), bounds=[(0, w) for w in walls])
    return answer.x if answer.success else np.zeros(N)
''',
    '''
def grow_radii(centres, rounds={rounds}):
    """Grow every circle a little at a time until it touches a neighbour or a wall; cheap, and never invalid."""
    radii = np.full(N, 1e-4)
    walls = np.minimum.reduce([centres[:, 0], centres[:, 1], 1 - centres[:, 0], 1 - centres[:, 1]])
    gaps = np.linalg.norm(centres[:, None] - centres[None, :], axis=-1)
    np.fill_diagonal(gaps, np.inf)
    for _ in range(rounds):
        for i in range(N):
            free = np.min(gaps[i] - radii)
            radii[i] = max(radii[i], min(walls[i], free) * {growth})
    return radii
''',
)

REFINE = (
    '''
def overlap_penalty(values, weight={weight}):
    """Sum of radii to be maximised, less the squared overlaps and the squared distance outside the square."""
    centres, radii = values[: 2 * N].reshape(N, 2), values[2 * N :]
    gaps = np.linalg.norm(centres[:, None] - centres[None, :], axis=-1)
    need = radii[:, None] + radii[None, :]
    over = np.triu(np.maximum(0.0, need - gaps), k=1)
    low = np.maximum(0.0, radii[:, None] - centres)
    high = np.maximum(0.0, centres + radii[:, None] - 1.0)
    return -radii.sum() + weight * ((over**2).sum() + (low**2).sum() + (high**2).sum())
''',
    '''
def polish(centres, radii, iterations={iterations}):
    """Sequential quadratic programming over centres and radii together, every distance a constraint."""
    start = np.concatenate([centres.ravel(), radii])
    pairs = [(i, j) for i in range(N) for j in range(i + 1, N)]

    def slack(values):
        c, r = values[: 2 * N].reshape(N, 2), values[2 * N :]
        apart = [np.hypot(*(c[i] - c[j])) - r[i] - r[j] for i, j in pairs]
        inside = np.concatenate([c[:, 0] - r, 1 - c[:, 0] - r, c[:, 1] - r, 1 - c[:, 1] - r])
        return np.concatenate([apart, inside]) - {tolerance}

    found = minimize(
        lambda v: -v[2 * N :].sum(),
        start,
        method="SLSQP",
        constraints=[{{"type": "ineq", "fun": slack}}],
        bounds=[(0, 1)] * (2 * N) + [(0, 0.5)] * N,
        options={{"maxiter": iterations, "ftol": 1e-10}},
    )
    return found.x[: 2 * N].reshape(N, 2), found.x[2 * N :]
''',
    '''
def anneal(centres, steps={steps}, hot={hot}, cold={cold}):
    """Move one centre at a time; keep a worse packing with a probability that falls with the temperature."""
    rng = np.random.default_rng(SEED + 1)
    best = current = centres.copy()
    best_sum = current_sum = grow_radii(current).sum()
    for step in range(steps):
        temperature = hot * (cold / hot) ** (step / steps)
        trial = current.copy()
        k = rng.integers(N)
        trial[k] = np.clip(trial[k] + rng.normal(0, 0.05 * temperature / hot + 0.002, 2), MARGIN, 1 - MARGIN)
        total = grow_radii(trial).sum()
        if total > current_sum or rng.random() < math.exp((total - current_sum) / temperature):
            current, current_sum = trial, total
            if total > best_sum:
                best, best_sum = trial, total
    return best
''',
    '''
def swap_smallest(centres, radii, tries={tries}):
    """Take out the smallest circle and put it where the most room is left, as long as the sum grows."""
    rng = np.random.default_rng(SEED + 2)
    total = radii.sum()
    for _ in range(tries):
        k = int(np.argmin(radii))
        others = np.delete(np.arange(N), k)
        spots = rng.uniform(MARGIN, 1 - MARGIN, size=({spots}, 2))
        room = np.min(np.linalg.norm(spots[:, None] - centres[others][None], axis=-1) - radii[others], axis=1)
        trial = centres.copy()
        trial[k] = spots[int(np.argmax(room))]
        fresh = best_radii(trial)
        if fresh.sum() > total + 1e-9:
            centres, radii, total = trial, fresh, fresh.sum()
    return centres, radii
''',
    '''
def repel(centres, steps={steps}, force={force}):
    """Push neighbours apart by an inverse power of their distance and away from the walls, damped over time."""
    for step in range(steps):
        apart = centres[:, None] - centres[None, :]
        far = np.linalg.norm(apart, axis=-1) + np.eye(N)
        push = (apart / far[..., None] ** {power}).sum(axis=1)
        walls = 1.0 / np.maximum(centres, 1e-3) ** 2 - 1.0 / np.maximum(1 - centres, 1e-3) ** 2
        centres = np.clip(centres + force * (push + 0.1 * walls) / (1 + step), MARGIN, 1 - MARGIN)
    return centres
''',
    '''
def symmetric_pairs(centres, axis={axis}):
    """Mirror the better half onto the other one: good packings of even counts are often nearly symmetric."""
    order = np.argsort(centres[:, axis])
    half = centres[order[: N // 2]].copy()
    mirrored = half.copy()
    mirrored[:, axis] = 1 - mirrored[:, axis]
    return np.vstack([half, mirrored])[:N]
''',
)
