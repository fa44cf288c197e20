"""`mzu explain --serve` with browsers that go, stay silent, or come all at once."""

import concurrent.futures
import contextlib
import socket
import threading
import time
import urllib.request

import pytest

from mzu.explain import server
from mzu.explain.toy import toy_system


@contextlib.contextmanager
def served():
    """The pages of a small world -> their port."""
    with server.make_server(server.Explainer(toy_system())) as serving:
        thread = threading.Thread(target=serving.serve_forever, daemon=True)
        thread.start()
        try:
            yield serving.server_port
        finally:
            serving.shutdown()
            thread.join()


def page(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/?episode=0&step=0", timeout=600) as answer:
        return answer.status, len(answer.read())


@pytest.mark.parametrize("count", [pytest.param(20, id="share"), pytest.param(200, id="all", marks=pytest.mark.slow)])
def test_many_browsers_at_once_all_get_their_page(count, capfd):
    with served() as port, concurrent.futures.ThreadPoolExecutor(count) as browsers:
        answers = list(browsers.map(page, [port] * count))
    assert {status for status, _ in answers} == {200} and len(set(answers)) == 1
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("count", [pytest.param(20, id="share"), pytest.param(200, id="all", marks=pytest.mark.slow)])
def test_silent_connections_hold_up_nobody_and_are_closed(count, monkeypatch, capfd):
    monkeypatch.setattr(server._Handler, "timeout", 1.0)
    with served() as port, contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(count)]
        assert page(port)[0] == 200
        for connection in silent:
            connection.settimeout(30)
            assert connection.recv(1) == b""  # closed by the server
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("count", [pytest.param(10, id="share"), pytest.param(200, id="all", marks=pytest.mark.slow)])
def test_a_browser_that_goes_before_its_page_is_no_error(count, capfd):
    with served() as port:
        for number in range(count):
            with socket.create_connection(("127.0.0.1", port)) as connection:
                request = b"GET /?episode=0&step=0 HTTP/1.1\r\nHost: localhost\r\n\r\n"
                connection.sendall(request[: 10 + 7 * (number % 8)] if number % 2 else request)
                if number % 3:  # a hard end, which the other side sees as a reset
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        assert page(port)[0] == 200
        time.sleep(0.5)
    assert capfd.readouterr().err == ""
