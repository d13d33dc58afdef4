"""The scores of coded episodes: plain Python over flat arrays of numbers, which Cython can compile as it is.

`kernel.pxd` gives the types. Compiled or not, this file computes the same bits. Nothing is matched or looked up here:
`automaton.flat` turns automata and calls into numbers, and `measure` decides what is computed here.

An automaton is one array `graph`. Its first numbers are a header:
    0 number of symbols, 1 number of nodes, 2 node of the start state, 3 length of the longest golden path,
    4 number of listed golden paths, then the places where the parts begin:
    5 per state: accepting or not, 6 missing steps, 7 node, 8 where its loop actions begin, 9 whether it has any loop,
    10 symbols of loop actions, 11 per node: where its incoming edges begin, 12 accepting or not,
    13 edges: pairs of an earlier node and a symbol, 14 per length: the longest golden path that is not longer,
    15 per listed path: where its symbols begin, 16 symbols of the listed paths;
    17 whether every accepted path is golden, 18 whether the nodes and edges are there.

x is the agent's condensed path, in which all calls that fit no action are one symbol above all others. A call is coded
as the place of its row in `rows`: its symbol, then for each state the next state, or -1 - k for harm of kind k.
"""

from __future__ import annotations

OUT_OF_ORDER = 4
REPEATED = 3
STEP = 9
"""Stands in `rows` for a step at the wrong time, which is repeated if it was done before and out of order otherwise."""
UNFILLED = -100
"""Stands in `rows` for a state in which a call was not met yet."""
WIDTH = 12
"""Numbers per episode in `out`: PC, PC-KTC, Prefix Criticality, harm rate, efficiency, directness, PC+HLR, number of
harms, length of x, accepted or not, missing steps, and what is left to do: 1 for PC, 2 for PC-KTC, 4 for PC+HLR."""


def similarity(distance, mine, theirs):
    """1 − NLD(x, y), NLD = 2·LD / (|x| + |y| + LD); 1 when both are empty."""
    return 1.0 - 2.0 * distance / (mine + theirs + distance) if mine + theirs else 1.0


def condense(rows, codes, first, last, state, x, harm, before, mark, done):
    """Run an automaton on the calls `first` to `last`, and return the length of x and the last state.

    `mark` gets 0 for a self-loop, 1 for progress, and 2 + k for harm of kind k. `done` counts the steps done. If a row
    is not filled yet, return -1 and the place in `rows` instead.
    """
    n = 0
    unfilled = -1
    for k in range(first, last):
        row = codes[k]
        after = rows[row + 1 + state]
        if after == state:
            mark[k] = 0
            continue
        if after == UNFILLED:
            unfilled = row + 1 + state
            break
        symbol = rows[row]
        x[n] = symbol
        before[n] = state
        if after < 0:
            harm[n] = 1
            kind = -1 - after
            if kind == STEP:
                kind = REPEATED if done[symbol] else OUT_OF_ORDER
            mark[k] = 2 + kind
        else:
            harm[n] = 0
            mark[k] = 1
            done[symbol] += 1
            state = after
        n += 1
    for k in range(n):
        done[x[k]] = 0
    if unfilled >= 0:
        return -1, unfilled
    return n, state


def prefix_criticality(harm, n, beta):
    """PrefixCrit (Eq. 6): 1 − (1−β)/(1−β^M)·Σ m_k β^k; 1 when the condensed path is empty."""
    if n == 0:
        return 1.0
    weight = 1.0
    total = 0.0
    for k in range(n):
        if harm[k]:
            total += weight
        weight *= beta
    if total == 0.0:
        return 1.0
    found = 1.0 - (1.0 - beta) / (1.0 - weight) * total
    return found if found > 0.0 else 0.0


def composite(pc, inversions, matched, lam, fallback):
    """λ·PC + (1−λ)·τ⁺. Without a pair of matches, τ⁺ is the fallback, or PC if the fallback is negative."""
    if matched > 1:
        return lam * pc + (1.0 - lam) * (1.0 - inversions / (matched * (matched - 1) / 2.0))
    return lam * pc + (1.0 - lam) * (pc if fallback < 0 else fallback)


def compare_by_bits(graph, begin, m, n, place):
    """Compare x with the golden path of `m` symbols at `begin`: return the distance, the matches and the inversions.

    A column of the Levenshtein table is two words of bits (Myers, Hyyrö): where it goes up by one from the cell before,
    and where down. `place` holds a word for each symbol: the places where x has it. Each symbol of the path is matched
    with the first equal token of x that is still unmatched.
    """
    one = 1  # a word, and not an int of C
    mask = (one << n) - 1
    up = mask
    down = 0
    used = 0
    distance = m
    matched = 0
    inversions = 0
    for j in range(begin, begin + m):
        same = place[graph[j]]
        free = same & ~used
        if free:
            bit = free & -free
            matched += 1
            later = used & -bit
            used |= bit
            while later:
                later &= later - 1
                inversions += 1
        vertical = same | down
        horizontal = (((same & up) + up) ^ up) | same
        more = down | ~(horizontal | up)
        less = up & horizontal
        more = (more << 1) | 1
        up = ((less << 1) | ~(vertical | more)) & mask
        down = more & vertical & mask
    while up:
        up &= up - 1
        distance += 1
    while down:
        down &= down - 1
        distance -= 1
    return distance, matched, inversions


def list_by_bits(graph, x, n, lam, fallback, place, out, o):
    """PC and PC-KTC over the listed golden paths, for an x of at most 62 tokens.

    A path of the same length is skipped if it is not closer to x than the best one so far, and has as many matches and
    no fewer inversions: it cannot score higher. If all paths have one length, the search ends at a path that keeps
    every known token of x, in order: none can be closer.
    """
    best = -1.0
    both = -1.0
    one = 1
    known = 0
    for i in range(n):
        place[x[i]] |= one << i
        if x[i] < graph[0]:
            known += 1
    longest = graph[3]
    closest = -1
    if longest and graph[graph[14] + longest - 1] < 0:
        closest = (n if n > longest else longest) - (known if known < longest else longest)
    length = -1
    least = 0
    most = 0
    fewest = 0
    symbols = graph[16]
    for g in range(graph[15], graph[15] + graph[4]):
        begin = graph[g]
        m = graph[g + 1] - begin
        distance, matched, inversions = compare_by_bits(graph, symbols + begin, m, n, place)
        if m == length and matched == most and distance >= least and inversions >= fewest:
            continue
        pc = similarity(distance, n, m)
        value = composite(pc, inversions, matched, lam, fallback)
        if pc > best:
            best = pc
        if value > both:
            both = value
            length = m
            least = distance
            most = matched
            fewest = inversions
        if distance == closest and inversions == 0:
            break
    for i in range(n):
        place[x[i]] = 0
    out[o] = best
    out[o + 1] = both


def list_by_cells(graph, x, n, lam, fallback, column, used, out, o):
    """PC and PC-KTC over the listed golden paths, with a column of the Levenshtein table in `column`."""
    starts = graph[15]
    best = -1.0
    both = -1.0
    for g in range(graph[4]):
        begin = graph[16] + graph[starts + g]
        m = graph[starts + g + 1] - graph[starts + g]
        for i in range(n + 1):
            column[i] = i
        for j in range(m):
            symbol = graph[begin + j]
            corner = column[0]
            column[0] = j + 1
            for i in range(1, n + 1):
                cost = corner if x[i - 1] == symbol else corner + 1
                corner = column[i]
                if corner + 1 < cost:
                    cost = corner + 1
                if column[i - 1] + 1 < cost:
                    cost = column[i - 1] + 1
                column[i] = cost
        pc = similarity(column[n], n, m)
        matched = 0
        inversions = 0
        for j in range(m):
            used[j] = 0
        for i in range(n):
            symbol = x[i]
            for j in range(m):
                if used[j] == 0 and graph[begin + j] == symbol:
                    used[j] = 1
                    matched += 1
                    for k in range(j + 1, m):
                        inversions += used[k]
                    break
        value = composite(pc, inversions, matched, lam, fallback)
        if pc > best:
            best = pc
        if value > both:
            both = value
    out[o] = best
    out[o + 1] = both


def follow_graph(graph, node, x, first, n, edge, hit, drop, columns, live):
    """Compute a column for each node after `node`, whose column is there. Return the lowest cost at an accepting node.

    A node's column holds the lowest cost of aligning each prefix of x, from `first` on, with a path that leads to the
    node. `live` says which nodes can be reached.
    """
    into = graph[11]
    ends = graph[12]
    edges = graph[13]
    width = n - first + 1
    best = -1
    found = False
    for u in range(node + 1, graph[1]):
        live[u] = 0
    live[node] = 1
    for u in range(node, graph[1]):
        own = u * width
        if u != node:
            for e in range(edges + 2 * graph[into + u], edges + 2 * graph[into + u + 1], 2):
                v = graph[e]
                if v < node or live[v] == 0:
                    continue
                symbol = graph[e + 1]
                other = v * width
                is_new = live[u] == 0
                live[u] = 1
                cost = columns[other] + edge
                if is_new or cost < columns[own]:
                    columns[own] = cost
                for i in range(1, width):
                    cost = columns[other + i] + edge
                    diagonal = columns[other + i - 1] + (hit if x[first + i - 1] == symbol else edge)
                    if diagonal < cost:
                        cost = diagonal
                    if is_new or cost < columns[own + i]:
                        columns[own + i] = cost
            if live[u] == 0:
                continue
            for i in range(1, width):
                cost = columns[own + i - 1] + drop
                if cost < columns[own + i]:
                    columns[own + i] = cost
        if graph[ends + u] and (not found or columns[own + width - 1] < best):
            best = columns[own + width - 1]
            found = True
    return best


def follow_repairs(graph, x, stays, before, first, n, edge, hit, drop, place, columns, own):
    """Advance the column at `own` over the repaired path: progress stays, harm is left out or becomes a self-loop."""
    width = n - first + 1
    for j in range(first, n):
        bad = stays[j]
        state = before[j]
        fits = False
        if bad:
            if graph[graph[9] + state] == 0:
                continue
            for k in range(graph[10] + graph[graph[8] + state], graph[10] + graph[graph[8] + state + 1]):
                if place[graph[k]]:
                    fits = True
        corner = columns[own]
        if bad == 0 or edge < 0:
            columns[own] = corner + edge
        for i in range(1, width):
            old = columns[own + i]
            token = x[first + i - 1]
            if bad:
                cost = corner + edge
                if fits:
                    for k in range(graph[10] + graph[graph[8] + state], graph[10] + graph[graph[8] + state + 1]):
                        if graph[k] == token:
                            cost = corner + hit
            else:
                cost = corner + (hit if token == x[j] else edge)
            if old + edge < cost:
                cost = old + edge
            if bad and old < cost:
                cost = old
            left = columns[own + i - 1] + drop
            columns[own + i] = cost if cost < left else left
            corner = old


def find_closest(graph, node, x, stays, before, n, repairs, more, place, columns, live):
    """1 − NLD of the closest reference: a golden path from `node`, with `repairs` after the repaired path.

    Minimises the ratio d / (n + ℓ) by Dinkelbach's method, as `alignment` describes it. A reference is at most `more`
    tokens longer than the longest golden path. Every repaired path begins as x does, up to the first harm: those
    tokens are hits.
    """
    first = 0
    if repairs:
        while first < n and stays[first] == 0:
            first += 1
    scale = graph[3] + more + 1
    a = 0
    b = 1
    distance = -1
    length = 0
    width = n - first + 1
    for i in range(first, n):
        place[x[i]] = 1
    while True:
        edge = (b - a) * scale - 1
        hit = -a * scale - 1
        drop = b * scale
        for i in range(width):
            columns[node * width + i] = first * hit + i * drop
        if repairs:
            follow_repairs(graph, x, stays, before, first, n, edge, hit, drop, place, columns, node * width)
        value = follow_graph(graph, node, x, first, n, edge, hit, drop, columns, live)
        found = (value + a * scale * scale + scale - 1) // scale - a * scale  # never divides a number below zero
        theirs = found * scale - value
        if a:
            found = (found + a * theirs) // b
        if distance >= 0 and found * (n + length) >= distance * (n + theirs):
            break
        distance = found
        length = theirs
        if distance == 0 or (a == 0 and (distance + 1) * (n + length) >= distance * (n + scale - 1)):
            break
        a = distance
        b = n + length
    for i in range(first, n):
        place[x[i]] = 0
    return similarity(distance, n, length)


def count_calls(graph, harm, stays, n, calls, end, beta, out, o):
    """Compute the scores that need no reference: how many calls were harm, progress or neither."""
    harms = 0
    progress = 0
    for k in range(n):
        harms += harm[k]
        progress += 1 - stays[k]
    accepted = graph[graph[5] + end]
    reached = graph[graph[14] + (calls if calls < graph[3] else graph[3])]
    out[o + 2] = prefix_criticality(harm, n, beta)
    out[o + 3] = 1.0 * harms / n if n else 0.0
    if calls:
        out[o + 4] = -1.0 if reached < 0 else 1.0 * reached / calls
        out[o + 5] = 1.0 * progress / calls
    else:
        out[o + 4] = -1.0 if reached < 0 else 1.0
        out[o + 5] = 1.0 if accepted else -1.0
    out[o + 7] = harms
    out[o + 8] = n
    out[o + 9] = accepted
    out[o + 10] = graph[graph[6] + end]
    out[o + 11] = 0
    return progress


def measure(graph, x, harm, stays, before, n, calls, end, options, place, columns, live, out, o):
    """Compute all scores of one condensed path into `out`, from `o` on.

    `options` holds λ, β, the fallback of τ⁺, whether PC+HLR looks at golden paths too, the most cells to compute, and
    the longest x for columns of bits. What would take more cells is left to do.
    """
    lam = options[0]
    fallback = options[2]
    most = options[4]
    progress = count_calls(graph, harm, stays, n, calls, end, options[1], out, o)
    if out[o + 7] == 0 and out[o + 9] and graph[17]:
        out[o] = 1.0
        out[o + 1] = composite(1.0, 0, n, lam, fallback)
        out[o + 6] = 1.0
        return
    missing = graph[graph[6] + end]
    todo = 0
    work = 1.0 * graph[1] * (n + 1) if graph[18] else most + 1.0
    if graph[4] and n <= options[5]:
        list_by_bits(graph, x, n, lam, fallback, place, out, o)
    elif graph[4] and graph[18] and 1.0 * graph[4] * graph[3] * (n + 1) <= most:
        list_by_cells(graph, x, n, lam, fallback, columns, live, out, o)
    elif graph[4] or work > most:
        todo = 3
    else:
        out[o] = find_closest(graph, graph[2], x, stays, before, n, False, 0, place, columns, live)
        todo = 2
    if progress == n and graph[17]:
        out[o + 6] = similarity(missing, n, n + missing)
    elif work + 1.0 * n * n > most:
        todo |= 4
    else:
        # Progress and what is left to do are a golden path together. Only harm that becomes a self-loop is more.
        node = graph[graph[7] + end]
        out[o + 6] = find_closest(graph, node, x, stays, before, n, True, n - progress, place, columns, live)
    if options[3] and todo & 5 == 0 and out[o] > out[o + 6]:
        out[o + 6] = out[o]
    out[o + 11] = todo


def score_episodes(
    graph, rows, start, codes, offsets, which, options, x, harm, before, mark, place, columns, live, out
):
    """Score the episodes numbered in `which`, whose calls begin at `offsets` in `codes`, on one automaton.

    Stop at a row that is not filled yet, and return its place and the number of episodes done. The place is -1 at the
    end.
    """
    width = WIDTH
    for w in range(len(which)):
        e = which[w]
        first = offsets[e]
        last = offsets[e + 1]
        n, end = condense(rows, codes, first, last, start, x, harm, before, mark, place)
        if n < 0:
            return end, w
        measure(graph, x, harm, harm, before, n, last - first, end, options, place, columns, live, out, width * e)
    return -1, len(which)
