"""A Tapo plug, emulated: a real HTTP server that speaks KLAP, as python-kasa's transport has it."""

import hashlib
import json
import secrets
import struct
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from ecv_core.energy import real_meters as metering
from ecv_core.energy.real_meters import Sampler, check_meter, device_from_text
from ecv_core.records.errors import InputError

ACCOUNT = ("me@example.org", "correct horse")


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


class Plug:
    """A P110 whose power rises from 100 W by 1 W a second."""

    def __init__(self):
        user, word = (hashlib.sha1(text.encode()).digest() for text in ACCOUNT)
        self.owner, self.begun = sha256(user, word), time.perf_counter()
        self.seen = b""
        """All that came over the line."""

    def watts(self):
        return 100 + (time.perf_counter() - self.begun)

    def answer(self, path, sent):
        """Status and content."""
        self.seen += sent
        if path.path == "/app/handshake1":
            self.local, self.remote = sent, secrets.token_bytes(16)
            return 200, self.remote + sha256(self.local, self.remote, self.owner)
        seeds = (self.local, self.remote, self.owner)
        if path.path == "/app/handshake2":
            return (200 if sent == sha256(self.remote, self.local, self.owner) else 403), b""
        seq = struct.pack(">l", int(parse_qs(path.query)["seq"][0]))
        text = self._aes(seeds, seq, sent[32:], decrypt=True)
        assert sent[:32] == sha256(sha256(b"ldk", *seeds)[:28], seq, sent[32:])
        said = json.dumps(self.said(json.loads(text))).encode()
        sealed = self._aes(seeds, seq, said)
        return 200, sha256(sha256(b"ldk", *seeds)[:28], seq, sealed) + sealed

    @staticmethod
    def _aes(seeds, seq, data, *, decrypt=False):
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        key, vector = sha256(b"lsk", *seeds)[:16], sha256(b"iv", *seeds)[:12] + seq
        cipher = Cipher(algorithms.AES(key), modes.CBC(vector))
        if decrypt:
            one = cipher.decryptor()
            plain = one.update(data) + one.finalize()
            return plain[: -plain[-1]]
        one, pad = cipher.encryptor(), 16 - len(data) % 16
        return one.update(data + bytes([pad]) * pad) + one.finalize()

    def said(self, asked):
        """As the device's own program answers."""
        if asked["method"] == "multipleRequest":
            of = [self.said(one) for one in asked["params"]["requests"]]
            return {"result": {"responses": of}, "error_code": 0}
        parts = {"device": 2, "energy_monitoring": 1}
        known = {
            "component_nego": {
                "component_list": [{"id": n, "ver_code": v} for n, v in parts.items()]
            },
            "get_device_info": {
                "device_id": "1",
                "type": "SMART.TAPOPLUG",
                "model": "P110",
                "device_on": True,
            },
            "get_energy_usage": {"current_power": round(1000 * self.watts()), "today_energy": 1},
        }
        result = known.get(asked["method"])
        told = {"error_code": 0, "result": result} if result else {"error_code": -1}
        return {"method": asked["method"]} | told


@contextmanager
def serving(plug):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            sent = self.rfile.read(int(self.headers["Content-Length"]))
            status, content = plug.answer(urlsplit(self.path), sent)
            self.send_response(status)
            self.send_header("Set-Cookie", "TP_SESSIONID=1;TIMEOUT=86400")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *said):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"tapo:127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def account(monkeypatch):
    pytest.importorskip("kasa", reason="python-kasa is not installed: pip install 'e-fold[plugs]'")
    for name, value in zip(metering.TAPO_ACCOUNT, ACCOUNT, strict=True):
        monkeypatch.setenv(name, value)


def test_the_integral_of_a_tapo_plug_is_within_one_percent(account):
    plug = Plug()
    with serving(plug) as name:
        one = device_from_text(name)
        one.read()  # connects
        sampler = Sampler("tapo", one, 0.1)
        sampler.start()
        time.sleep(1.0)
        sampler.end()
        reading = sampler.reading(time.perf_counter() + 5)
        one.close()
    begin, end = sampler.span
    truth = (end - begin) * (100 + (begin + end) / 2 - plug.begun)
    assert reading.joules == pytest.approx(truth, rel=0.01)
    assert reading.source == "plug"
    assert not any(word.encode() in plug.seen for word in ACCOUNT)


def test_a_wrong_password_is_one_sentence_without_it(account, monkeypatch, caplog):
    monkeypatch.setenv("KASA_PASSWORD", "wrong staple")
    with serving(Plug()) as name:
        with pytest.raises(InputError) as refused:
            check_meter(name)
        assert str(refused.value) == (
            f"the meter '{name}' cannot be read: it refuses the account of KASA_USERNAME and "
            "KASA_PASSWORD"
        )
    assert "staple" not in caplog.text


def test_without_an_account_or_the_library_it_is_said(monkeypatch):
    monkeypatch.setattr(metering, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'e-fold\[plugs\]'"):
        device_from_text("tapo:10.0.0.9")
    monkeypatch.setattr(metering, "find_spec", lambda name: object())
    monkeypatch.delenv("KASA_USERNAME", raising=False)
    with pytest.raises(InputError, match="KASA_USERNAME and KASA_PASSWORD"):
        device_from_text("tapo:10.0.0.9")
    with pytest.raises(InputError, match="is not the address of a Tapo plug"):
        device_from_text("tapo:http://10.0.0.9")
