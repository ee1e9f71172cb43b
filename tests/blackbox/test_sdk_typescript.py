"""The SDK for TypeScript: compiled, packed, installed in a clean directory, and used from there."""
import json
import os
import shutil
import subprocess

import pytest

import engine
import flaky_service
import gateway
import oci_images
import registry_packages
import support
import test_sdk_python

SDK = support.REPO / "sdk" / "typescript"
NODE_ONLY = {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}
# The example of the README of those who call us by this interface, and everything that the types promise.
TYPED = """
import { DockerSandboxExecutor, SandboxExecutor, type ISandboxExecutor, type ExecutionResult, type MountedFile,
  type ResourceStats, type SandboxConfig, NotFoundError, SandboxError } from "sandbox-run";
const box: ISandboxExecutor = new SandboxExecutor();
const config: SandboxConfig = { image: "x", timeout: 1, cpuLimit: "0.5", memoryLimit: "1tb", workdir: "/app",
  networkMode: "none", readOnly: true, env: { A: "b" } };
const docker: ISandboxExecutor = new DockerSandboxExecutor("/var/run/docker.sock");
const files: MountedFile[] = [{ path: "a", content: new Uint8Array(1), mode: 0o755 }, { path: "b", hostPath: "/b" }];
const result: Promise<ExecutionResult> = box.execute("true", config, files);
const healthy: Promise<boolean> = box.healthCheck();
const stats: ResourceStats | undefined = (await result).resourceUsage;
const peak: number | undefined = stats?.maxMemoryMb;
const known: SandboxError = new NotFoundError("x");
// @ts-expect-error: a time is a number
const wrong: SandboxConfig = { timeout: "5s" };
export { docker, healthy, known, peak, wrong };
"""


def install(place):
    """What `npm pack` makes of the sources, in a directory with nothing else."""
    modules = registry_packages.npm("sdk-typescript", SDK)
    subprocess.run(["cp", "-r", SDK, place / "source"], check=True)
    shutil.rmtree(place / "source" / "dist", ignore_errors=True)
    (place / "source" / "node_modules").symlink_to(modules)
    env = {**NODE_ONLY, "HOME": str(place), "npm_config_cache": str(place / "cache"), "npm_config_loglevel": "error"}
    # As a user does it: the package is compiled by `npm pack` itself.
    subprocess.run(["npm", "pack", "--pack-destination", place], cwd=place / "source", check=True, env=env,
                   stdout=subprocess.DEVNULL)
    archive, = place.glob("*.tgz")
    home = place / "node_modules" / "sandbox-run"
    home.mkdir(parents=True)
    subprocess.run(["tar", "-xzf", archive, "--strip-components=1", "-C", home], check=True)
    (place / "package.json").write_text('{"type": "module"}')
    return place


@pytest.fixture(name="installed", scope="module")
def sdk_installed(tmp_path_factory):
    return install(tmp_path_factory.mktemp("sdk"))


@pytest.fixture(name="service", scope="module")
def http_service(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("http") / "g") as running:
        yield {"baseUrl": f"http://{running.address}", "token": running.token("sdk", "--network", "full")}


@pytest.fixture(name="play", params=["local", "http"])
def player(request, installed, service, folder):
    """Runs a program that uses the SDK and gives what it printed, as JSON.  HERE is where it runs programs."""
    def play(code, **more):
        program = installed / "client.mjs"
        here = service if request.param == "http" else {}
        program.write_text('import * as sdk from "sandbox-run";\nconst { SandboxExecutor } = sdk;\n'
                           "const print = (value) => console.log(JSON.stringify(value));\n"
                           f"const HERE = {json.dumps(here)};\n" + code)
        env = support.surroundings(None, {"SANDBOX_RUN_BINARY": str(support.SANDBOX_RUN),
                                          "SANDBOX_RUN_STATE": str(folder / "state"), **more})
        done = subprocess.run(["node", program], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=support.DEADLINE, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)
    return play


def test_the_types_are_those_of_the_service():
    if not gateway.PROGRAM.exists():
        pytest.skip("the gateway was left out of this build")
    document = subprocess.run([gateway.PROGRAM, "--openapi"], check=True, stdout=subprocess.PIPE).stdout
    made = subprocess.run([SDK / "generate_types.py"], input=document, check=True, stdout=subprocess.PIPE).stdout
    assert made == (SDK / "src" / "api.ts").read_bytes(), \
        "run: build/sandbox-run-http --openapi | sdk/typescript/generate_types.py > sdk/typescript/src/api.ts"


def test_the_package_has_no_dependency_and_its_types_hold(installed):
    """Its declarations are checked too: they need no package of types.  Those of the language are its makers' affair."""
    packed = json.loads((installed / "node_modules/sandbox-run/package.json").read_text())
    assert not packed.get("dependencies") and packed["engines"] == {"node": ">=18"}
    (installed / "typed.mts").write_text(TYPED)
    tsc = registry_packages.npm("sdk-typescript", SDK) / "typescript/bin/tsc"
    done = subprocess.run(["node", tsc, "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext",
                           "--lib", "es2022,dom", "--skipDefaultLibCheck", "typed.mts"], cwd=installed, stdout=subprocess.PIPE,
                          env=NODE_ONLY, check=False)
    assert done.returncode == 0, done.stdout.decode()


@pytest.mark.container
def test_a_command_has_its_result_files_and_figures(play):
    done, late, defaults, killed, healthy, sick = play("""
const box = new SandboxExecutor(HERE);
const files = [{ path: "run.sh", content: "#!/bin/sh\\ncat data/x; echo e >&2; exit 4\\n", mode: 0o755 },
  { path: "/work/data/x", content: new Uint8Array([0xc3, 0xa9, 10]) }, ...(HERE.baseUrl ? [{ path: "host", content: "x" }] : [{ path: "host", hostPath: process.argv[1] }])];
const done = await box.execute("./run.sh; s=$?; test -s host && id -u; exit $s", { memoryLimit: "256m" }, files);
const late = await box.execute("sleep 100", { timeout: 300 });
const defaults = await box.execute("ulimit -v; cat /proc/net/dev | wc -l; echo $A", { env: { A: "b" }, cpuLimit: "0.5" });
const killed = await box.execute("kill -SEGV $$");
print([done, late, defaults, killed, await box.healthCheck(), await new SandboxExecutor({ binary: "none-such" }).healthCheck()]);
""")
    assert (done["exitCode"], done["stdout"], done["stderr"]) == (4, "é\n1000\n", "e\n")
    assert 0 < done["resourceUsage"]["memoryUsageMb"] <= done["resourceUsage"]["maxMemoryMb"] < 256
    assert killed["exitCode"] == 128 + 11
    assert late["exitCode"] == 124 and late["duration"] >= 300
    assert defaults["stdout"].endswith("\nb\n") and healthy and not sick


@pytest.mark.container
def test_programs_streams_and_typed_errors(play):
    given = play("""
const box = new SandboxExecutor(HERE);
const seen = [];
for await (const event of box.stream({ language: "python", code: "import time\\nprint(1, flush=True)\\ntime.sleep(900)" }))
  if (event.type === "stdout") { seen.push(event.data); break; }
const run = await box.run({ language: "python", code: "print(input())", stdin: "typed" });
const names = [];
for (const call of [() => box.run({ language: "nolang", code: "1" }), () => box.run({ language: "python", code: "1", limits: { memory: "many" } }),
  () => box.execute("true", {}, [{ path: "/etc/x", content: "" }]), () => new SandboxExecutor({ binary: "none-such" }).run({ args: ["true"] })])
  await call().catch((error) => names.push([error.name, error instanceof sdk.SandboxError, error.code]));
const abort = new AbortController();
setTimeout(() => abort.abort(), 300);
await box.run({ args: ["sleep", "900"] }, { signal: abort.signal }).catch((error) => names.push(error.name));
print([seen, run.stdout, names, (await box.languages()).some((one) => one.name === "python")]);
""")
    assert given == [["1\n"], "typed\n",
                     [["NotFoundError", True, "not_found"], ["InvalidRequestError", True, "invalid"],
                      ["InvalidRequestError", True, "invalid"], ["BinaryNotFoundError", True, "not_found"],
                      "AbortError"], True]


@pytest.mark.parametrize("play", ["local"], indirect=True)
def test_the_executor_of_docker_uses_its_socket(play, folder):
    given = play(f"""
const docker = new sdk.DockerSandboxExecutor({json.dumps(str(folder / "none"))}), plain = new sdk.DockerSandboxExecutor();
const said = await docker.execute("true").catch((error) => [error.name, error.message]);
print([(await plain.execute("pwd; cat x", {{ workdir: "/app", readOnly: true }}, [{{ path: "x", content: "1" }}])).stdout,
  await plain.healthCheck(), await docker.healthCheck(), ...said]);
""")
    assert given[:4] == ["/app\n1", True, False, "UnsupportedError"] and f"{folder}/none" in given[4], given


@pytest.mark.container
def test_who_leaves_or_cancels_ends_what_runs(play, service, request):
    """At once: the service itself would wait for another reader for 15 seconds."""
    given = play("""
const box = new SandboxExecutor(HERE), said = [];
const slow = { language: "python", code: "import time; print('begun', flush=True); time.sleep(1000)", limits: { memory: "64m" } };
for await (const event of box.stream(slow)) if (event.type === "stdout") break;
const read = async (signal) => { for await (const event of box.stream(slow, { signal })); };
for (const one of [(signal) => box.run(slow, { signal }), (signal) => box.execute("sleep 1000", {}, [], { signal }), read])
  await one(AbortSignal.timeout(2000)).catch((error) => said.push(error.name));
print(said);
""")
    assert given == ["TimeoutError"] * 3
    if request.node.callspec.params["play"] == "http":
        by = {"base_url": service["baseUrl"], "token": service["token"]}
        left = [one["id"] for one in test_sdk_python.asked_of(by, "/v1/executions?limit=100")["executions"]]
        assert len(left) > 3
        assert engine.within(8, lambda: all(test_sdk_python.asked_of(by, f"/v1/executions/{one}")["status"] in ("done", "failed")
                                            for one in left))


@pytest.mark.parametrize("play", ["local"], indirect=True)
def test_only_what_may_be_repeated_is(play):
    with flaky_service.FlakyService(flaky_service.script()) as flaky:
        said = play(f"""
const box = new SandboxExecutor({{ baseUrl: {json.dumps(flaky.address)} }}), said = [];
const files = [{{ path: "a", content: "" }}], python = {{ language: "python", code: "x" }};
for (const call of [async () => (await box.run(python)).stdout, () => box.test({{ files }}),
  async () => (await box.verify(python)).verdict, () => box.build({{ files }}), () => box.profile(python),
  async () => (await box.languages()).length])
  said.push(await call().catch((error) => ({{ ConnectionError: "lost", BusyError: "busy" }})[error.name] ?? String(error)));
print(said);
""")
        flaky_service.judge(flaky, said)


@pytest.mark.container
def test_a_session_keeps_names_and_files(play):
    given = play("""
const box = new SandboxExecutor(HERE);
const session = await box.session("python", { limits: { memory: "128m" } });
await session.run("x = 41");
const shown = await session.run("x + 1");
await session.writeFile("d/in", new Uint8Array([255]));
const types = [];
for await (const event of session.stream("print(open('d/in', 'rb').read())")) types.push(event.type);
const read = [...(await session.readFile("d/in"))];
const files = (await session.files()).map((file) => file.path);
const alive = (await box.sessions()).length;
const fits = (await session.run("list(range(30))", { width: 40 })).display[0]["text/plain"].includes("\\n");
await session.close();
print([fits, shown.display, read, files, types, alive, (await box.sessions()).length]);
""")
    assert given == [True, [{"text/plain": "42"}], [255], ["d/in"], ["start", "stdout", "end"], 1, 0]


@pytest.mark.container
@pytest.mark.parametrize("play", ["local"], indirect=True)
def test_a_command_runs_on_an_image_of_a_registry(play, folder):
    npm = oci_images.member("bin/npm", b"#!/bin/sh\necho \"npm $1: $(cat package.json)\"\n")
    layer = oci_images.archive(oci_images.busybox_members() + [npm])
    ref = oci_images.Layout(folder / "layout").add([layer], Env=["PATH=/bin"])
    with oci_images.Registry(folder / "registry") as registry:
        registry.push(ref, "node:20-alpine")
        given = play("""
const files = [{ path: "package.json", content: "{}" }];
print(await new SandboxExecutor().execute('npm test', {image: 'node:20-alpine', timeout: 60000, cpuLimit: '1', memoryLimit: '1g'}, files));
""", CONTAINERS_REGISTRIES_CONF=registry.config, SANDBOX_RUN_CACHE=str(folder / "cache"))
    assert (given["exitCode"], given["stdout"]) == (0, "npm test: {}\n"), given


def test_work_on_a_project(play, folder):
    test_sdk_python.make_project(folder)
    tested, built, golden, checked = play(f"""
const files = {json.dumps(test_sdk_python.PROJECT)}, box = new SandboxExecutor(HERE);
const listed = ["test_a.py", "Makefile"].map((path) => ({{ path, content: files[path] }}));
process.chdir({json.dumps(str(folder / "p"))});
const where = HERE.baseUrl ? {{ files: listed }} : {{ project: process.cwd() }};
const cases = [{{ name: "one", command: files["golden/one/command"], stdout: "all:" }}];
const golden = await box.golden(HERE.baseUrl ? {{ files: listed, cases }} : {{ project: process.cwd() + "/golden" }});
print([await box.test({{ ...where, repeat: 2 }}), await box.build({{ ...where, tool: "make" }}), golden,
  [await box.verify({{ language: "python", code: "def f(): return 1", calls: ["f() == 1", "f() == 2"] }}),
   await box.verify({{ ...where, skip: ["golden"] }})]]);
""")
    assert {one["name"]: one["outcome"] for one in tested["cases"]} == {"test_a.A.test_good": "passed", "test_a.A.test_bad": "failed"}
    assert [one["path"] for one in built["artifacts"]] == ["out.txt"] and [one["outcome"] for one in golden["cases"]] == ["passed"]
    assert [one["verdict"] for one in checked] == ["failed", "failed"]
    assert [one["outcome"] for one in checked[0]["checks"][-1]["cases"]] == ["passed", "failed"]
    assert [one["check"] for one in checked[1]["checks"] if not one["file"]] == ["tests"]


def test_many_two_and_one_again(play):
    many, found, busy, wrong = play(f"""
const box = new SandboxExecutor(HERE), python = (code, more = {{}}) => ({{ language: "python", code, ...more }});
const many = await box.batch([python("print(1)"), python("print(2); exit(3)"), {{ args: ["echo", "3"] }}], HERE.baseUrl ? {{}} : {{ jobs: 2 }});
const a = python("print(input())", {{ limits: {{ memory: "64m" }} }}), b = python("print(input().upper())");
const inputs = [{{ name: "small", content: "b\\n" }}, {{ name: "large", content: "Qgo=", encoding: "base64" }}];
const found = [await box.compare({{ a, b, inputs, repeat: 2, warm_up: 0 }}), await box.compare({{ a: b, b, inputs, repeat: 2, checker: "tokens" }})];
const busy = await box.profile({{ ...python({json.dumps(test_sdk_python.BUSY)}), stdin: "x", repeat: 2, warm_up: 0, functions: true }});
const wrong = await box.profile({{ ...python("pass"), repeat: 0 }}).catch((error) => error.name);
print([many.map((one) => [one.stdout, one.exit_code]), found.map((one) => [one.same_output, one.first_different_input ?? null, one.b.wall_ms.runs]),
  [busy.runs, busy.functions.some((one) => one.function.includes("slow"))], wrong]);
""")
    assert many == [["1\n", 0], ["2\n", 3], ["3\n", 0]] and found == [[False, "small", 4], [True, None, 4]]
    assert busy == [2, True] and wrong == "InvalidRequestError"
