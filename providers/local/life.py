"""What becomes of an instance: pure decisions over its record and a monotonic time."""

from dataclasses import dataclass

from providers.local.record import Reclaim

# Restarting a crashed agent: fast at first, so that a kill costs little; bounded, so that a broken
# one does not load the machine.
_FIRST_RESTART_S = 0.1
_LONGEST_RESTART_S = 5.0
_SOUND_AFTER_S = 10.0

RECLAIMED = "reclaimed"
TERMINATED = "terminated by user"
HOST_DIED = "host died"
HOST_STOPPED = "host stopped"


@dataclass(frozen=True)
class Ending:
    """Why the instance must end now."""

    reason: str
    reclaimed: bool


def ending(reclaim: Reclaim | None, terminate_asked: bool, now_mono: float) -> Ending | None:
    """Whether it must end now. A reclaim that is due goes first: the provider was quicker."""
    if reclaim is not None and reclaim.due(now_mono):
        return Ending(RECLAIMED, reclaimed=True)
    if terminate_asked:
        return Ending(TERMINATED, reclaimed=False)
    return None


def ending_without_init(reclaim: Reclaim | None, terminate_asked: bool, now_mono: float) -> Ending:
    """How an instance ended whose init is dead and wrote nothing down."""
    return ending(reclaim, terminate_asked, now_mono) or Ending(HOST_DIED, reclaimed=False)


@dataclass(frozen=True)
class Restarts:
    """How often in a row the agent died young."""

    crashes: int = 0

    def after(self, ran_s: float) -> "Restarts":
        return Restarts(1 if ran_s >= _SOUND_AFTER_S else self.crashes + 1)

    def pause_s(self) -> float:
        if self.crashes == 0:
            return 0.0
        return min(_FIRST_RESTART_S * 2.0 ** (min(self.crashes, 16) - 1), _LONGEST_RESTART_S)


def sooner(there: Reclaim | None, new: Reclaim) -> Reclaim:
    """Of two reclaims of one instance the earlier holds: an announced moment never moves away."""
    if there is not None and there.take_mono <= new.take_mono:
        return there
    return new
