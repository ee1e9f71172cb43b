"""The reference page of the gateway in Chromium: it lists the routes, and asks nobody else for anything.

Chromium is large: only `make check-suites` has it, by SBR_BROWSER=1."""
import html
import json
import os
import re
import subprocess
import tempfile

import gateway
import support

PROGRAM = os.environ.get("SBR_BROWSER_PROGRAM", "/usr/bin/chromium")
QUIET = ["--headless", "--disable-gpu", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run", "--no-pings",
         "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-sync",
         "--disable-domain-reliability", "--disable-features=OptimizationHints,MediaRouter,Translate"]
WINDOW = (1100, 2400)


def browse(folder, *words):
    """What Chromium printed, with a profile of its own."""
    return subprocess.run([PROGRAM, *QUIET, f"--user-data-dir={folder}/profile", *words], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=support.DEADLINE, env={**os.environ, "HOME": str(folder)}).stdout


def asked(log):
    """What the page asked for, itself and whatever it names.  The browser has errands of its own."""
    requests = [event["params"] for event in json.loads(log.read_text())["events"] if "method" in event.get("params", {})]
    return {request["url"] for request in requests if "//127.0.0.1" in request.get("network_isolation_key", "")}


def test_the_page_lists_the_routes_and_asks_nobody_else(tmp_path):
    document = json.loads(subprocess.run([gateway.PROGRAM, "--openapi"], check=True, stdout=subprocess.PIPE).stdout)
    routes = {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods
              if method in ("get", "put", "post", "delete")}
    with gateway.Gateway(tmp_path / "g") as running, tempfile.TemporaryDirectory(prefix="sbr-browser-") as folder:
        page, log, picture = f"http://{running.address}/docs", tmp_path / "net.json", tmp_path / "page.png"
        shown = html.unescape(browse(folder, f"--log-net-log={log}", "--dump-dom", page).decode())
        browse(folder, f"--screenshot={picture}", "--window-size={},{}".format(*WINDOW), page)
    listed = {route.replace("...}", "}") for route in re.findall(r"<code>((?:GET|PUT|POST|DELETE) /[^<]*)</code>", shown)}
    assert routes <= listed, routes - listed
    urls = asked(log)
    assert page in urls and all(url.startswith(f"http://{running.address}/") for url in urls), urls
    assert picture.read_bytes().startswith(b"\x89PNG")
    if "SBR_PICTURES" in os.environ:
        os.replace(picture, os.path.join(os.environ["SBR_PICTURES"], "docs.png"))
