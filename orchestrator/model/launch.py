"""What we ask of a provider, whole: the order that an intent row keeps byte for byte."""

from decimal import Decimal

from orchestrator.model.frozen import Frozen
from orchestrator.model.pools import Pool


class Tags(Frozen):
    """What every instance of ours bears, so that it can be told from everybody else's."""

    installation: str
    job: str
    stage: str
    attempt: int
    rank: int
    intent: str


class BootRecipe(Frozen):
    """What the provider must make the machine run: the agent, told where its control node is.

    `control_url` is `unix:///path/orchd.sock` or `http://127.0.0.1:PORT`. `object_store_url` is
    where checkpoints and logs live (`file:///path` in this version). `bootstrap_token` is an HMAC
    of the installation's key and the intent's id. `bundle_digest` names the agent's bundle
    in the object store (`bundles/<digest>.tar`); it is a SHA-256 in hex, because the machine must
    verify it before anything but Python is there. None means: run the agent from the installed
    environment.
    """

    intent: str
    control_url: str
    object_store_url: str
    bootstrap_token: str
    bundle_digest: str | None = None
    monitor: str = "aws"
    monitor_poll_s: float = 1.0


class LaunchOrder(Frozen):
    """One instance asked for. Idempotent by `token`: the same order again is the same instance.

    `bid_usd_per_hour` is the most we agree to pay; None for on-demand.
    """

    token: str
    pool: Pool
    bid_usd_per_hour: Decimal | None
    tags: Tags
    recipe: BootRecipe
