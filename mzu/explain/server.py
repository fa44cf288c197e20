"""A local page on which one walks through the episodes of a run, step by step, at one checkpoint or between two.

    /?episode=3&step=137&checkpoint=latest&compare=200

It listens on 127.0.0.1 only, and answers only those who call it by that name or `localhost`: a web page from elsewhere
that has its own name lead here learns nothing.
"""

import functools
import sys
import threading
import urllib.parse
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from mzu.explain.explanation import Explanation, explain_position
from mzu.explain.page import mistake_html, page_html
from mzu.explain.system import System, open_system
from mzu.training.run_folder import RunFolder

ADDRESS, NAMES = "127.0.0.1", ("127.0.0.1", "localhost")
OPEN_AT_ONCE = 4  # checkpoints; each has a replay of its own in memory
KEPT = 16  # explanations, so that many who ask for one page, or go before they have it, cost one search
WAITING = 256  # connections that may wait to be taken
SILENCE = 30.0  # seconds after which a connection that asks nothing is closed
CHOICES = {"episode": "0", "step": "0", "checkpoint": "latest", "compare": ""}


class Explainer:
    """Pages of a run: its folder, or anything else that `open_system` takes. A checkpoint is opened once."""

    def __init__(self, run, **choices):
        """`choices` are what is shown where an address does not say: CHOICES and their defaults."""
        self.run = run
        self.choices = CHOICES | {name: str(value) for name, value in choices.items() if value is not None}
        self._open = functools.lru_cache(maxsize=OPEN_AT_ONCE)(functools.partial(open_system, run))
        self._explain = functools.lru_cache(maxsize=KEPT)(self._explain_anew)
        self._one_at_a_time = threading.Lock()

    def page(self, query: str) -> tuple[int, str]:
        """Status and HTML of an address's query, such as "episode=3&step=137"."""
        chosen = self.choices | dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        walk = chosen | {"checkpoints": self.checkpoints(), "episodes": None, "steps": None}
        try:
            with self._one_at_a_time:
                return HTTPStatus.OK, self._explained(chosen, walk)
        except (ValueError, OSError) as error:
            return HTTPStatus.BAD_REQUEST, mistake_html(str(error), walk)
        except MemoryError:
            return HTTPStatus.INSUFFICIENT_STORAGE, mistake_html("Memory ran out while this page was made", walk)

    def checkpoints(self) -> list[int]:
        """The learner steps that can be chosen; a run that goes on gets new ones."""
        return RunFolder(self.run).checkpoints() if isinstance(self.run, str | Path) else []

    def system(self, checkpoint: str) -> System:
        """The run at a checkpoint."""
        return self._open(self._by_step(checkpoint))

    def _by_step(self, checkpoint: str) -> str:
        """The latest checkpoint by its step, since it is another one later."""
        steps = self.checkpoints()
        return str(steps[-1]) if checkpoint == "latest" and steps else checkpoint

    def _explained(self, chosen: dict, walk: dict) -> str:
        unknown = sorted(chosen.keys() - CHOICES.keys())
        if unknown:
            raise ValueError(f"An address cannot choose '{unknown[0]}', only {', '.join(CHOICES)}")
        episode, step = (_number(name, chosen[name]) for name in ("episode", "step"))
        system = self.system(chosen["checkpoint"])
        walk |= {"episodes": len(system.episodes)}
        explanation = self._explain(*map(self._by_step, (chosen["checkpoint"], chosen["compare"])), episode, step)
        steps = explanation.position["episode_steps"]
        return page_html(explanation, walk | {"episode": episode, "step": step, "steps": steps})

    def _explain_anew(self, checkpoint: str, compare: str, episode: int, step: int) -> Explanation:
        other = self.system(compare) if compare else None
        return explain_position(self.system(checkpoint), episode, step, other)


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"The {name} is '{text}', but must be a whole number, counted from 0") from None


def make_server(explainer: Explainer, port: int = 0) -> ThreadingHTTPServer:
    """A server of the explainer's pages, which waits for `serve_forever`; port 0 takes a free one."""
    handler = functools.partial(_Handler, explainer)
    try:
        server = _Server((ADDRESS, port), handler)
    except (OSError, OverflowError) as error:
        raise ValueError(f"Port {port} cannot be used ({error}); choose another one, or 0 for any free one") from None
    return server


def serve(run, port: int = 0, checkpoint: str = "latest", episode: int = 0, step: int = 0, compare=None) -> None:
    """Serves a run's pages until Ctrl-C. What does not exist is refused before."""
    explainer = Explainer(run, checkpoint=checkpoint, episode=episode, step=step, compare=compare)
    explainer.system(checkpoint).game(episode, step)
    with make_server(explainer, port) as server:
        query = urllib.parse.urlencode({name: value for name, value in explainer.choices.items() if value})
        print(f"http://{ADDRESS}:{server.server_port}/?{query}  (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # a page that is still being made does not hold up Ctrl-C
    request_queue_size = WAITING

    def handle_error(self, request, client_address) -> None:
        """Says nothing of a browser that has gone before it had all of its page; everything else is a mistake here."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    timeout = SILENCE

    def __init__(self, explainer: Explainer, *arguments):
        self.explainer = explainer
        super().__init__(*arguments)

    def do_GET(self):
        """One page; everything else is not found."""
        address = urllib.parse.urlsplit(self.path)
        if self.headers.get("Host", "").rsplit(":", 1)[0] not in NAMES:
            self._answer(HTTPStatus.FORBIDDEN, mistake_html(f"Only {' and '.join(NAMES)} are answered here"))
        elif address.path != "/":
            self._answer(HTTPStatus.NOT_FOUND, mistake_html("There is one page here: /"))
        else:
            self._answer(*self.explainer.page(address.query))

    def _answer(self, status: int, page: str) -> None:
        content = page.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments) -> None:
        """Says nothing: the address that was printed stays in sight."""
