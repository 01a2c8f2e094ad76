"""A job's detail as the daemon tells it, for the demo's tests."""

from typing import Any

Json = dict[str, Any]


def instance(**changes: Any) -> Json:
    told: Json = {
        "id": "i-1",
        "pool": "local/local-a/local.gpu-1/spot",
        "phase": "running",
        "usd_per_hour": "1.3500",
        "notice": None,
    }
    return told | changes


def attempt(number: int, **changes: Any) -> Json:
    told: Json = {
        "number": number,
        "outcome": None,
        "replaces": None,
        "told_run_at": "2026-01-01T00:00:01+00:00",
        "first_step_at": None,
        "base_step": None,
        "committed_step": None,
        "reached_step": None,
        "instances": [instance()],
    }
    return told | changes


def accounts(**changes: Any) -> Json:
    told: Json = {
        "cost_usd": "0.02110",
        "on_demand_usd": "0.05200",
        "attempts": 4,
        "reclaims": 3,
        "steps": 900,
        "steps_redone": 13,
        "steps_redone_with_notice": 0,
        "notice_to_replacement_s": [0.05, 0.06],
        "final_to_step_s": [1.1, 1.2],
    }
    return told | changes


def job(*attempts: Json, **changes: Any) -> Json:
    told: Json = {
        "name": "digits",
        "state": "running",
        "reason": "It trains.",
        "cost_usd": "0.01234",
        "total_steps": 900,
        "metrics": {"loss": 0.42, "accuracy": 0.913},
        "stages": [
            {
                "name": "preprocess",
                "state": "running",
                "shards": {"total": 6, "done": 2, "running": 3},
                "attempts": [attempt(1)],
            },
            {"name": "train", "state": "running", "shards": None, "attempts": list(attempts)},
        ],
        "accounts": accounts(),
    }
    return told | changes


def event(seq: int, name: str, reason: str) -> Json:
    return {"seq": seq, "at": "2026-01-01T00:00:02.500000+00:00", "name": name, "reason": reason}
