"""The dashboard as a free host starts it: for the public, without the models that need PyTorch.

docs/deploy.md, On a free host, says how. What the host has in its environment comes first.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("ECV_MODE", "public")
os.environ.setdefault("ECV_PUBLIC_ALGORITHMS", "popular,bias,sgd-mf")

import streamlit as st
from starlette.middleware import Middleware
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from pages.shared.live.server import end_where_settings_are_wrong, lifespan, middleware, routes

PROXIES = ["127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]
"""Networks of the host alone: what they say of a visitor's address is believed."""

end_where_settings_are_wrong()
app = st.App(
    str(ROOT / "pages" / "main.py"),
    routes=routes(),
    middleware=[Middleware(ProxyHeadersMiddleware, trusted_hosts=PROXIES), *middleware()],
    lifespan=lifespan,
)
