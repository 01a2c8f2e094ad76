"""What truly happened, and the invariants that it must keep."""

from dataclasses import dataclass, field

from orchestrator.sim.cloud import Machine


class Broken(AssertionError):
    """An invariant does not hold; the sentence says which, and where."""


@dataclass
class Truth:
    """Kept by cloud and agents, unseen by control."""

    training: set[str] = field(default_factory=set)
    rank_of: dict[str, tuple[str, str, int]] = field(default_factory=dict)
    commits: list[int] = field(default_factory=list)
    restores: list[int] = field(default_factory=list)
    most_alive: int = 0

    def trainer_began(self, machine: str) -> None:
        """Never two trainers a rank."""
        mine = self.rank_of[machine]
        others = [other for other in self.training if other != machine and self.rank_of[other] == mine]
        if others:
            raise Broken(f"{machine} begins to train {mine} while {others[0]} trains it")
        self.training.add(machine)

    def trainer_ended(self, machine: str) -> None:
        self.training.discard(machine)

    def committed(self, machine: str, step: int) -> None:
        """A commit never goes back behind an earlier one."""
        if self.commits and step < max(self.commits):
            raise Broken(f"{machine} commits step {step} after step {max(self.commits)} was committed")
        self.commits.append(step)

    def restored(self, machine: str, step: int) -> None:
        """Never a stale checkpoint: what was committed last is what is restored."""
        if self.commits and step < max(self.commits):
            raise Broken(f"{machine} restores step {step}, but step {max(self.commits)} was committed")
        self.restores.append(step)

    def machine_changed(self, machine: Machine, machines: dict[str, Machine]) -> None:
        """Never more than two instances a node."""
        tags = machine.order.tags
        self.rank_of[machine.id] = (tags.job, tags.stage, tags.rank)
        mine = self.rank_of[machine.id]
        alive = [m for m in machines.values() if m.alive and self.rank_of[m.id] == mine]
        self.most_alive = max(self.most_alive, len(alive))
        if len(alive) > 2:
            raise Broken(f"{len(alive)} instances of {self.rank_of[machine.id]} are alive at once")
