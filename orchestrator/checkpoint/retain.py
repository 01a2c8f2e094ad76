"""Giving old checkpoints up: `retire` first, then the chunks that only retired entries name."""

from orchestrator.checkpoint.history import History
from orchestrator.checkpoint.log import StageLog


def retain(log: StageLog, keep: int) -> int:
    """Keep the newest `keep` of the path, retire the others; how many chunks were deleted.

    Only the running attempt calls this. Raises Fenced, Unavailable.
    """
    kept = {one.seq for one in log.history.path[-keep:]}
    surplus = [one.seq for one in log.history.unretired if one.seq not in kept]
    if not surplus:
        return 0
    log.append_retire(surplus)
    return collect(log)


def collect(log: StageLog) -> int:
    """Delete chunks that nothing alive names: those of retired entries, and what lower epochs left.

    A chunk of our own epoch that no entry names yet may be part of a commit in the making: it stays.
    """
    history = log.history
    alive = _alive(history)
    retired = {key for one in history.retired for file in one.entry.files for key in file.chunks}
    doomed = [key for key in _listed(log) if key not in alive and (key in retired or _is_older(log, key))]
    for key in doomed:
        log.store.delete(f"{log.prefix}/{key}")
    return len(doomed)


def _alive(history: History) -> set[str]:
    files = [file for one in history.unretired for file in one.entry.files]
    if history.complete is not None:
        files.extend(history.complete.files)
    return {key for file in files for key in file.chunks}


def _listed(log: StageLog) -> list[str]:
    return [key.removeprefix(f"{log.prefix}/") for key in log.store.list(f"{log.prefix}/chunks/")]


def _is_older(log: StageLog, key: str) -> bool:
    return int(key.split("/")[1]) < log.epoch
