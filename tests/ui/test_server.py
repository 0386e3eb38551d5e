"""What a page sends does not wait for the browser's acknowledgement of what went before."""

import asyncio
import socket

from ui.server import listening_sockets, without_delay


def test_connections_send_at_once():
    listening = socket.socket(socket.AF_INET)  # as Streamlit makes it, naming no protocol
    with listening, socket.socket() as client:
        listening.bind(("127.0.0.1", 0))
        listening.listen()

        async def served() -> int:
            async with without_delay(None):
                client.connect(listening.getsockname())
                accepted, _ = listening.accept()
                with accepted:
                    return accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

        assert asyncio.run(served())


def test_only_listening_sockets_are_touched():
    ends = socket.socketpair()
    found = listening_sockets()
    try:
        assert all(s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) for s in found)
        assert ends[0].getsockname() not in [s.getsockname() for s in found]
    finally:
        for each in (*ends, *found):
            each.close()
