"""Alibaba Cloud: `instance/spot/termination-time`, behind a token of its own.

https://www.alibabacloud.com/help/en/ecs/user-guide/query-the-interruption-events-of-preemptible-instances
"""

from orchestrator.agent.monitors.metadata import Heard, Metadata, left_s


class AliyunMonitor:
    """It has no advice to give."""

    name = "aliyun"

    def __init__(self, url: str) -> None:
        self._metadata = Metadata(url, "X-aliyun-ecs-metadata-token", "X-aliyun-ecs-metadata-token-ttl-seconds")

    def poll(self) -> Heard:
        found = self._metadata.page("/latest/meta-data/instance/spot/termination-time")
        return Heard(left_s=None if found is None else left_s(found.text, found))
