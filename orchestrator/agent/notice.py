"""A notice, and when to stop for it. Pure; times are of the monotonic clock."""

from dataclasses import dataclass

MARGIN_S = 5.0  # for what nobody measured: a slow poll, a last scan, the commit itself
KILL_BEFORE_S = 2.0  # the least between the trainer's end by force and the deadline
LONGEST_GRACE_S = 30.0  # for a stop without a deadline


@dataclass(frozen=True)
class Notice:
    """The instance will be taken at `deadline_mono`."""

    source: str
    deadline_mono: float

    def left_s(self, now_mono: float) -> float:
        return self.deadline_mono - now_mono


def stop_at(notice: Notice, save_p90_s: float | None, upload_p90_s: float | None) -> float:
    """When the trainer must get its stop signal; at once (0) while saving or upload is unmeasured."""
    if save_p90_s is None or upload_p90_s is None:
        return 0.0
    return notice.deadline_mono - (save_p90_s + upload_p90_s + MARGIN_S)


def kill_at(notice: Notice | None, stopped_mono: float, upload_p90_s: float | None) -> float:
    """When a trainer that has not ended by itself is ended by force."""
    if notice is None:
        return stopped_mono + LONGEST_GRACE_S
    return max(stopped_mono, notice.deadline_mono - max(KILL_BEFORE_S, (upload_p90_s or 0.0) + 1.0))
