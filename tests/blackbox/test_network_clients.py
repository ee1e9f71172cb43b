"""Real clients inside, over HTTP and HTTPS, with names that are listed and names that are not."""
import base64
import hashlib
import io
import json
import tarfile
import zipfile

import pytest

from network_cases import listed

LISTED = listed("web.example.org", "v6.example.org")
CA = "/lab/ca.pem"
PAGES = ("http://web.example.org/", "https://web.example.org/", "https://v6.example.org/")
CLOSED = ("http://web.example.net/", "https://other.example.org/", "http://10.7.0.5/")


def inside(lab, *words, options=LISTED, **kwargs):
    return lab.result(words[0], "--volume", f"{lab.ca}:{CA}:ro", *options, "--timeout", "30s",
                      *words[1:], **kwargs)


def expected(url):
    return url.split("/")[2]


def test_curl(lab, caller):
    script = "".join(f"curl -sS --cacert {CA} {url} || echo refused\n" for url in (*PAGES, *CLOSED))
    result = inside(lab, "run", "--lang", "sh", "--code", script, caller=caller)
    lines = result["stdout"].splitlines()
    assert [line.split()[-1] for line in lines] == [
        *map(expected, PAGES), *["refused"] * len(CLOSED)], result


URLLIB = '''
import ssl, sys, urllib.request
context = ssl.create_default_context(cafile="%s")
for url in sys.argv[1:]:
    try: print(urllib.request.urlopen(url, timeout=6, context=context).read().decode().split()[-1])
    except OSError: print("refused")
''' % CA
REQUESTS = '''
import requests, sys
for url in sys.argv[1:]:
    try: print(requests.get(url, timeout=6, verify="%s").text.split()[-1])
    except requests.RequestException: print("refused")
''' % CA
FETCH = '''
for (const url of process.argv.slice(2)) {
    try { console.log((await (await fetch(url)).text()).trim().split(' ').pop()); }
    catch (problem) { console.log('refused'); }
}
'''
GO = '''package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	pem, _ := os.ReadFile("%s")
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	http.DefaultTransport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: pool}
	for _, url := range os.Args[1:] {
		answer, err := http.Get(url)
		if err != nil {
			fmt.Println("refused")
			continue
		}
		body, _ := io.ReadAll(answer.Body)
		words := strings.Fields(string(body))
		fmt.Println(words[len(words)-1])
	}
}
''' % CA

PROGRAMS = {
    "urllib": ("python", URLLIB, ()),
    "requests": ("python", REQUESTS, ()),
    "Node's fetch": ("javascript", FETCH, ("--env", f"NODE_EXTRA_CA_CERTS={CA}")),
}


def run_client(lab, language, code, *options, **kwargs):
    result = inside(lab, "run", *options, "--lang", language, "--code", code, "--", *PAGES, *CLOSED,
                    **kwargs)
    assert result["stdout"].split() == [*map(expected, PAGES), *["refused"] * len(CLOSED)], result
    assert {denial["target"] for denial in result["denials"]} == {
        "web.example.net", "other.example.org", "10.7.0.5:80"}


@pytest.mark.parametrize("client", PROGRAMS)
def test_a_program_with(lab, client, caller):
    language, code, options = PROGRAMS[client]
    run_client(lab, language, code, *options, caller=caller)


def test_a_program_in_go(lab):
    """For one caller: to make Go ready takes a while, for each anew."""
    run_client(lab, "go", GO, timeout=300)


# ---- package managers ----------------------------------------------------------------------------


def wheel():
    """The smallest package that pip installs."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("tiny.py", "ANSWER = 42\n")
        archive.writestr("tiny-1.0.dist-info/METADATA",
                         "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        archive.writestr("tiny-1.0.dist-info/WHEEL",
                         "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.0.dist-info/RECORD", "tiny.py,,\n")
    return data.getvalue()


def tarball():
    """And the smallest that npm does."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name, text in (("package.json", '{"name": "tiny", "version": "1.0.0", "main": "i.js"}'),
                           ("i.js", "module.exports = 42;\n")):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return data.getvalue()


PIP = ("python3 -m pip install --quiet --disable-pip-version-check --no-cache-dir --retries 0"
       f" --cert {CA} --index-url https://registry.example.net/simple --target /work/packages tiny\n"
       "PYTHONPATH=/work/packages python3 -c 'import tiny; print(tiny.ANSWER)'\n")
NPM = (f"npm install --silent --no-audit --no-fund --no-update-notifier --fetch-retries=0 --cafile={CA}"
       " --registry=https://registry.example.net/npm tiny\n"
       "node -p 'require(\"tiny\")'\n")


@pytest.fixture
def registry(lab):
    content = wheel()
    digest = hashlib.sha256(content).hexdigest()
    lab.serve("simple/tiny/index.html",
              f'<a href="/wheels/tiny-1.0-py3-none-any.whl#sha256={digest}">tiny</a>'.encode())
    lab.serve("wheels/tiny-1.0-py3-none-any.whl", content)
    package = tarball()
    integrity = "sha512-" + base64.b64encode(hashlib.sha512(package).digest()).decode()
    version = {"name": "tiny", "version": "1.0.0", "dist": {
        "tarball": "https://registry.example.net/npm/tiny-1.0.0.tgz", "integrity": integrity}}
    lab.serve("npm/tiny-1.0.0.tgz", package)
    lab.serve("npm/tiny", json.dumps({"name": "tiny", "dist-tags": {"latest": "1.0.0"},
                                      "versions": {"1.0.0": version}}).encode())
    return lab


@pytest.mark.parametrize("script", [PIP, NPM], ids=["pip", "npm"])
def test_a_package_is_fetched_through_the_list(registry, script, caller):
    for options, works in ((listed("registry.example.net:443"), True), (LISTED, False)):
        result = inside(registry, "run", "--memory", "1g", "--pids", "200", "--lang", "bash", "--code",
                        script, options=options, caller=caller)
        assert (result["stdout"].strip() == "42") == works, result
    assert [denial["target"] for denial in result["denials"]] == ["registry.example.net"]
