"""Benchmarks of the proof: what it notices, and that nothing is left to find in the built-in worlds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from benchmarks.claims import Claim
from corepath import world
from corepath.files.lookup import all_sources
from corepath.verification.narrowing import Notice, challenge, total_notices
from corepath.verification.verdict import Verdict
from corepath.verification.verify import verify

NODES = 3_000
SEEDS = 3


def proofs() -> Iterator[Claim]:
    """Change all procedures and count what the proof notices; then search three variants of every task."""
    ids = [source.id for source in all_sources([])]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        notices = total_notices(notice for found in pool.map(_challenge, ids) for notice in found)
        for narrows, least in ((True, 95), (False, 98)):
            chosen = [notice for notice in notices if notice.narrows is narrows]
            yield _share(f"{'right ways deleted' if narrows else 'wrong ways added'}: {least} % noticed", chosen, least)
        for notice in notices:
            yield _share(f"  {notice.kind}", [notice], 0)
        verdicts = list(pool.map(_verify, ids, chunksize=1))
    found = [verdict for some in verdicts for verdict in some]
    failures = [f"{verdict.task} seed {verdict.seed}: {failure}" for verdict in found for failure in verdict.failures]
    searched = f"{len(found)} variants, {sum(verdict.nodes for verdict in found):,} nodes of at most {NODES:,} each"
    yield Claim(
        "no right way is rejected, no wrong one accepted", f"{searched}: {len(failures)} failures", not failures
    )
    whole = sum(verdict.depth is not None for verdict in found)
    yield Claim(
        "every order of the golden calls was searched", f"{whole} of {len(found)} variants, moves in the others"
    )


def _challenge(name: str) -> list[Notice]:
    place, _, short = name.partition("/")
    return challenge(world(place), short, NODES)


def _verify(name: str) -> list[Verdict]:
    place, _, short = name.partition("/")
    return [verify(world(place), short, seed, NODES) for seed in range(SEEDS)]


def _share(what: str, notices: list[Notice], least: int) -> Claim:
    changes, noticed = sum(one.changes for one in notices), sum(one.noticed for one in notices)
    share = 100 * noticed / max(changes, 1)
    return Claim(what, f"{noticed:,} of {changes:,}, {share:.1f} %", share >= least)
