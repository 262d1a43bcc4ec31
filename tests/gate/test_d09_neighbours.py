"""D9: no sandbox reaches another, the host's own ports, or the server's API."""

import os
from urllib.parse import urlparse

from names import HOST


def test_neighbours_and_the_server(create, refused):
    one, other = create(), create()
    other.commands.run("cd /tmp; exec python3 -m http.server 8000", background=True)
    port = urlparse(os.environ["E2B_API_URL"]).port
    for url in [
        "http://192.0.0.2:8000/",
        f"http://{other.sandbox_id}:8000/",
        "http://192.0.0.1:8000/",
        "http://192.0.0.1:1/",
        "http://192.0.0.3/",
        f"http://127.0.0.1:{port}/health",
        f"http://{HOST}:{port}/health",
        f"http://[::1]:{port}/health",
        f"http://[::ffff:{HOST}]:{port}/health",
    ]:
        refused(one, url)
