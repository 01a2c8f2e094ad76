"""Both metadata dialects, over real sockets."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.local.metadata import ALIYUN, AWS, DIALECTS, Dialect, Shown, Tokens, serve, whole_seconds

ACTION = "/latest/meta-data/spot/instance-action"
REBALANCE = "/latest/meta-data/events/recommendations/rebalance"
TERMINATION = "/latest/meta-data/instance/spot/termination-time"
INSTANCE_ID = "/latest/meta-data/instance-id"


@dataclass
class Service:
    http: httpx.Client
    shown: list[Shown] = field(default_factory=lambda: [Shown("i-1")])

    def token(self, dialect: Dialect, ttl: str = "60") -> httpx.Response:
        return self.http.put("/latest/api/token", headers={dialect.ttl_header: ttl})

    def get(self, path: str, dialect: Dialect) -> httpx.Response:
        return self.http.get(path, headers={dialect.token_header: self.token(dialect).text})


@pytest.fixture
def service() -> Iterator[Service]:
    shown = [Shown("i-1")]
    server = serve(lambda: shown[-1])
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    with httpx.Client(base_url=f"http://127.0.0.1:{server.server_port}", trust_env=False) as http:
        yield Service(http, shown)
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_without_a_token_nothing_is_told(service: Service, dialect: Dialect) -> None:
    assert service.http.get(INSTANCE_ID).status_code == 401
    assert service.http.get(INSTANCE_ID, headers={dialect.token_header: "made up"}).status_code == 401
    assert service.get(INSTANCE_ID, dialect).text == "i-1"


def test_a_token_of_one_dialect_is_worth_nothing_in_the_other(service: Service) -> None:
    token = service.token(AWS).text
    assert service.http.get(INSTANCE_ID, headers={ALIYUN.token_header: token}).status_code == 401


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("ttl", ["0", "21601", "-1", "soon", ""])
def test_a_token_needs_a_lifetime_that_the_clouds_allow(service: Service, dialect: Dialect, ttl: str) -> None:
    assert service.token(dialect, ttl).status_code == 400
    assert service.http.put("/latest/api/token").status_code == 400


def test_tokens_expire() -> None:
    now = [100.0]
    tokens = Tokens(clock=lambda: now[0])
    token = tokens.new(AWS, 60)
    now[0] = 159.9
    assert tokens.valid(AWS, token)
    now[0] = 160.0
    assert not tokens.valid(AWS, token)


def test_b025_no_notice_is_a_404_and_a_notice_is_a_200(service: Service) -> None:
    assert service.get(ACTION, AWS).status_code == 404
    assert service.get(TERMINATION, ALIYUN).status_code == 404
    service.shown.append(Shown("i-1", take_at=1420480920.9))
    assert service.get(ACTION, AWS).json() == {"action": "terminate", "time": "2015-01-05T18:02:00Z"}
    assert service.get(TERMINATION, ALIYUN).text == "2015-01-05T18:02:00Z"


def test_b029_advice_shows_beside_a_quiet_notice_and_clears(service: Service) -> None:
    service.shown.append(Shown("i-1", advised_at=1420480920.0))
    assert service.get(REBALANCE, AWS).json() == {"noticeTime": "2015-01-05T18:02:00Z"}
    assert service.get(ACTION, AWS).status_code == 404
    service.shown.append(Shown("i-1"))
    assert service.get(REBALANCE, AWS).status_code == 404


def test_a_dialect_does_not_know_the_paths_of_the_other(service: Service) -> None:
    service.shown.append(Shown("i-1", take_at=1420480920.0))
    assert service.get(TERMINATION, AWS).status_code == 404
    assert service.get(ACTION, ALIYUN).status_code == 404


def test_the_date_header_is_the_time_now(service: Service) -> None:
    said = parsedate_to_datetime(service.token(AWS).headers["Date"])
    assert abs((datetime.now(timezone.utc) - said).total_seconds()) < 2.0


def test_many_requests_pass_through_one_connection(service: Service) -> None:
    ports = {service.get(INSTANCE_ID, AWS).extensions["network_stream"].get_extra_info("client_addr") for _ in range(5)}
    assert len(ports) == 1


@given(st.floats(min_value=0, max_value=4e9))
def test_never_more_time_is_promised_than_is_left(take_at: float) -> None:
    shown = datetime.strptime(whole_seconds(take_at), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    assert take_at - 1 < shown.timestamp() <= take_at


def test_what_aws_tells_is_json(service: Service) -> None:
    service.shown.append(Shown("i-1", take_at=1.5, advised_at=2.5))
    assert json.loads(service.get(ACTION, AWS).text)["action"] == "terminate"
