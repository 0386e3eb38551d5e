"""What a page sends does not wait for the browser's acknowledgement of what went before."""

import os
import socket

from ui.server import OPEN_FILES, listening_sockets, send_at_once


def test_connections_send_at_once():
    listening = socket.socket(socket.AF_INET)  # as Streamlit makes it, naming no protocol
    with listening, socket.socket() as client:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        send_at_once()
        client.connect(listening.getsockname())
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_only_listening_sockets_are_touched():
    ends = socket.socketpair()
    found = listening_sockets()
    try:
        assert all(s.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) for s in found)
        assert ends[0].getsockname() not in [s.getsockname() for s in found]
    finally:
        for each in (*ends, *found):
            each.close()


def test_nothing_stays_open():
    """A pipe whose writing end were kept would never end for who reads it."""
    reading, writing = os.pipe()
    before = set(os.listdir(OPEN_FILES))
    send_at_once()
    assert set(os.listdir(OPEN_FILES)) <= before | {str(max(map(int, before)) + 1)}
    os.close(writing)
    assert os.read(reading, 1) == b""
    os.close(reading)
