"""Run the benchmarks and print each claim with its measurement; exit with 1 if a claim does not hold.

`--long` takes the largest inputs: a million lines, ten million episodes. They take many minutes and some GB of disk.
"""

from __future__ import annotations

import sys

from benchmarks import (
    batch,
    browser,
    earlier,
    equality,
    imports,
    kernel,
    learn,
    learn_against,
    learn_speed,
    proofs,
    report,
    rules,
    runs,
    spans,
    task_sets,
)
from benchmarks.claims import Claim

BENCHMARKS = {
    "listing": kernel.against_listing,
    "growth": kernel.growth_of_all_scores,
    "sizes": kernel.large_tasks,
    "exact": kernel.share_that_is_exact,
    "import": kernel.import_time,
    "agents": runs.built_in_agents,
    "models": runs.harness_of_models,
    "drawings": report.drawings,
    "explanations": report.explanations,
    "pages": report.pages,
    "paints": browser.paints,
    "large": report.large_runs,
    "large_scores": report.large_scores,
    "score_tables": report.score_tables,
    "imports": imports.large_files,
    "exports": imports.exported_observations,
    "speed": imports.speed_of_conversations,
    "spans": spans.overlapping_files,
    "shards": spans.cost_of_shards,
    "proofs": proofs.proofs,
    "rules": rules.rules_over_long_traces,
    "coded": batch.kernel_alone,
    "score": batch.score_against_listing,
    "files": batch.end_to_end,
    "batches": batch.growth_of_batches,
    "processes": batch.two_processes,
    "earlier": earlier.large_tasks_before,
    "equality": equality.same_values,
    "repetition": equality.repetition,
    "tasks": task_sets.large_task_sets,
    "learn": learn.learned_worlds,
    "learn_tau": learn.learned_conversations,
    "learn_peers": learn_against.learned_peers,
    "learn_speed": learn_speed.learned_speed,
    "learn_odd": learn_speed.learned_odd_runs,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there is {', '.join(BENCHMARKS)}")
        return 2
    claims: list[Claim] = []
    for name in names or BENCHMARKS:
        print(f"\n{name}: {BENCHMARKS[name].__doc__}")
        for claim in BENCHMARKS[name]():
            claims.append(claim)
            print(f"  {claim}", flush=True)
    failed = [claim for claim in claims if not claim.holds]
    print(f"\n{len(claims) - len(failed)} of {len(claims)} claims hold")
    return bool(failed)


sys.exit(main([name for name in sys.argv[1:] if name != "--long"]))
