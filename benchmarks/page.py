"""A rerun of the Plan page beside an empty page that shows the same charts as static figures.

    python benchmarks/page.py        exit status 1 when a goal is missed

A rerun that has seen everything before, and one with a new context, whose figures must be drawn;
beside figures made beforehand, and beside the same figures drawn in each run.

Each page has a real server of its own, and one client that asks all of them in turns: seconds from
the message that asks for a rerun to the last one of its answer. Needs the extra `app`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count, cycle
from pathlib import Path

from ratios import Ratio, medians_in_turns, table
from served import Server
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

GOAL = 2
ROUNDS = 100
EMPTY = "benchmarks/empty/app.py"


class Visitor:
    """A browser without a screen: one session of a server, which keeps what it was sent.

    What is large is sent once: a browser keeps it and says so, and then it is named by its hash.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.kept: dict[str, ForwardMsg] = {}
        self.rerun()

    def rerun(self, **typed: str) -> None:
        """One rerun, with text in inputs that are known by their keys."""
        message = BackMsg()
        message.rerun_script.query_string = ""
        message.rerun_script.cached_message_hashes.extend(self.kept)
        for key, text in typed.items():
            state = message.rerun_script.widget_states.widgets.add()
            state.id, state.string_value = self._id_of(key), text
        self.socket.send(message.SerializeToString())
        self.elements = list(self._until_finished())
        assert not any(element.HasField("exception") for element in self.elements)

    def _until_finished(self) -> Iterator[Element]:
        message, used = ForwardMsg(), {}
        while message.WhichOneof("type") != "script_finished":
            message = ForwardMsg.FromString(self.socket.recv(timeout=60))
            message = self.kept.get(message.ref_hash, message)
            if message.metadata.cacheable:
                used[message.hash] = message
            if message.delta.HasField("new_element"):
                yield message.delta.new_element
        self.kept = used

    def _id_of(self, key: str) -> str:
        ids = (element.text_input.id for element in self.elements)
        return next(name for name in ids if name.endswith(f"-{key}"))

    def charts(self) -> list[str]:
        """The specifications of the charts that it was sent."""
        return [e.plotly_chart.spec for e in self.elements if e.HasField("plotly_chart")]


@contextmanager
def visitor(app: str = "app.py", **environment: str) -> Iterator[Visitor]:
    with Server(app, **environment) as server:
        address = server.url.replace("http", "ws") + "/_stcore/stream"
        with connect(address, subprotocols=[Subprotocol("streamlit")], max_size=None) as socket:
            yield Visitor(socket)


def measured(charts: Path) -> list[Ratio]:
    with ExitStack() as stack:
        plan = stack.enter_context(visitor())
        plan.rerun(context="20000")
        specifications = plan.charts()
        charts.write_text(f"[{','.join(specifications)}]", encoding="utf-8")
        told = {"KVCALC_CHARTS": str(charts)}
        beforehand = stack.enter_context(visitor(EMPTY, **told))
        drawn = stack.enter_context(visitor(EMPTY, **told, KVCALC_DRAWN="1"))
        assert traces(beforehand) == traces(drawn) == traces(plan) > 0
        seen, new = cycle(["8192", "16384"]), count(20_001)
        took = medians_in_turns(
            lambda: plan.rerun(context=next(seen)),
            lambda: plan.rerun(context=str(next(new))),
            beforehand.rerun,
            drawn.rerun,
            rounds=ROUNDS,
        )
    beside = f"an empty page, the same {len(specifications)} charts"
    old, fresh = "rerun, a context seen before", "rerun, a new context"
    return [
        Ratio(old, took[0], f"{beside} made beforehand", took[2], GOAL),
        Ratio(fresh, took[1], f"{beside} made beforehand", took[2], GOAL),
        Ratio(fresh, took[1], f"{beside} drawn in each run", took[3], GOAL),
    ]


def traces(there: Visitor) -> int:
    return sum(len(json.loads(text)["data"]) for text in there.charts())


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="kvcalc-page-") as folder:
        ratios = measured(Path(folder) / "charts.json")
    print(table(ratios))
    return 0 if all(ratio.holds for ratio in ratios) else 1


if __name__ == "__main__":
    sys.exit(main())
