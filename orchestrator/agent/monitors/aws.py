"""AWS: IMDSv2, `spot/instance-action` and `events/recommendations/rebalance`.

https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
"""

import json

import httpx

from orchestrator.agent.monitors.metadata import Heard, Metadata, MonitorError, left_s


class AwsMonitor:
    """A rebalance recommendation is advice: it announces nothing."""

    name = "aws"

    def __init__(self, url: str) -> None:
        self._metadata = Metadata(url, "X-aws-ec2-metadata-token", "X-aws-ec2-metadata-token-ttl-seconds")

    def poll(self) -> Heard:
        action = self._metadata.page("/latest/meta-data/spot/instance-action")
        if action is not None:
            # What is certain must not wait for, or fail with, what is only advice.
            return Heard(left_s=_left_s(action))
        advice = self._metadata.page("/latest/meta-data/events/recommendations/rebalance")
        return Heard(advised=advice is not None)


def _left_s(action: httpx.Response) -> float:
    try:
        moment = json.loads(action.text)["time"]
    except (ValueError, KeyError, TypeError) as error:
        raise MonitorError(f"spot/instance-action is not what it should be: {error}") from error
    return left_s(str(moment), action)
