"""What the demo came to, from the job's accounts and two digests. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from orchestrator.cli.failures import Failure
from orchestrator.model import exits


@dataclass(frozen=True)
class Summary:
    """The keys of `orch demo --json`. Money in USD; the lists have an entry a hand-over."""

    attempts: int
    reclaims: int
    steps: int
    steps_redone_with_notice: int
    steps_redone: int
    weights_sha256: str
    undisturbed_weights_sha256: str
    cost_usd: Decimal
    on_demand_usd: Decimal
    notice_to_replacement_s: tuple[float, ...]
    final_to_step_s: tuple[float, ...]
    leaked_instances: int


def summarise(accounts: Mapping[str, Any], weights: str, undisturbed: str, leaked: int) -> Summary:
    """`accounts` as in the job's detail."""
    counts = {name: int(accounts[name]) for name in ("attempts", "reclaims", "steps", "steps_redone")}
    return Summary(
        **counts,
        steps_redone_with_notice=int(accounts["steps_redone_with_notice"]),
        weights_sha256=weights,
        undisturbed_weights_sha256=undisturbed,
        cost_usd=Decimal(accounts["cost_usd"]),
        on_demand_usd=Decimal(accounts["on_demand_usd"]),
        notice_to_replacement_s=tuple(accounts["notice_to_replacement_s"]),
        final_to_step_s=tuple(accounts["final_to_step_s"]),
        leaked_instances=leaked,
    )


def as_json(summary: Summary) -> dict[str, Any]:
    """Money as numbers, so that a script can compare it."""
    return {name: float(value) if isinstance(value, Decimal) else value for name, value in asdict(summary).items()}


def lines(summary: Summary) -> list[str]:
    """The summary for people."""
    return [
        f"{_attempts(summary)}: {_times(summary.reclaims, 'instance was', 'instances were')} taken away.",
        f"{summary.steps} steps done; {summary.steps_redone} of them twice, "
        f"{summary.steps_redone_with_notice} after a notice.",
        f"Replacement asked {_seconds(summary.notice_to_replacement_s)} after the notice; "
        f"next step {_seconds(summary.final_to_step_s)} after the old trainer's last save.",
        _money(summary),
        _weights(summary),
        _leaks(summary),
    ]


def failure(summary: Summary, log: str) -> Failure | None:
    """What the demo promised and did not keep, if anything."""
    broken = []
    if summary.weights_sha256 != summary.undisturbed_weights_sha256:
        broken.append("the weights are not those of the undisturbed run")
    if summary.leaked_instances:
        broken.append(_leaks(summary))
    return Failure(exits.FAILED, *broken, f"the daemon's log: {log}") if broken else None


def _attempts(summary: Summary) -> str:
    return _times(summary.attempts, "attempt", "attempts")


def _times(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _seconds(durations: Sequence[float]) -> str:
    return " and ".join(f"{one:.1f} s" for one in durations) or "(none)"


def _money(summary: Summary) -> str:
    spent = f"Spot cost ${summary.cost_usd:.4f}; on-demand would have cost ${summary.on_demand_usd:.4f}"
    if not summary.on_demand_usd:
        return f"{spent}."
    share = 1 - summary.cost_usd / summary.on_demand_usd
    return f"{spent}: {share:.0%} saved, after what the losses wasted."


def _weights(summary: Summary) -> str:
    ours, theirs = summary.weights_sha256, summary.undisturbed_weights_sha256
    if ours == theirs:
        return f"The weights are those of an undisturbed run, byte for byte: sha256 {ours}"
    return f"The weights differ from those of an undisturbed run: sha256 {ours}, undisturbed {theirs}"


def _leaks(summary: Summary) -> str:
    if not summary.leaked_instances:
        return "Nothing is leaked: the cloud's own ledger knows of no living instance."
    return f"{_times(summary.leaked_instances, 'instance is', 'instances are')} still alive."
