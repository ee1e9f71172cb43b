/* Made by generate_types.py from the OpenAPI document of sandbox-run-http: do not edit. */

/** The schemas of the service by name; parts of one are "name_part". */
export interface Schemas {
  request: {
    language?: string;
    code?: string;
    files?: {
      path: string;
      content: string;
      encoding?: "utf-8" | "base64";
      executable?: boolean;
    }[];
    args?: string[];
    env?: Record<string, string>;
    stdin?: string;
    tty?: { rows: number; columns: number };
    deps?: string[];
    check?: boolean;
    buffered?: boolean;
    template?: string;
    set?: Record<string, string>;
    language_file?: string;
    compile_args?: string[];
    compile_limits?: Schemas["request_limits"];
    command?: boolean;
    workdir?: string;
    volumes?: string[];
    backend?: string;
    image?: string;
    read_only?: boolean;
    project?: string;
    program?: string;
    exclude?: string[];
    include?: string[];
    workspace?: string;
    diff?: boolean;
    keep?: boolean;
    outputs?: string[];
    network?: "none" | "localhost" | "allow" | "full";
    allow_hosts?: string[];
    publish?: string[];
    secrets?: string[];
    allow_dns?: boolean;
    limits?: Schemas["request_limits"];
    allow_commands?: string[];
    policy?: string;
    require?: "container" | "reduced" | "process";
    allow_degraded?: boolean;
    keep_output?: boolean;
  };
  request_limits: {
    wall_ms?: number | null;
    timeout?: number | string;
    cpu_ms?: number | null;
    "cpu-time"?: number | string;
    memory_bytes?: number;
    memory?: number | string;
    cpus?: number | string;
    pids?: number | string;
    disk_bytes?: number;
    disk?: number | string;
    inodes?: number | string;
    open_files?: number;
    "open-files"?: number | string;
    output_bytes?: number | null;
    "max-output"?: number | string;
    grace_ms?: number;
    grace?: number | string;
    connections?: number;
    "max-connections"?: number | string;
    network_in_bytes?: number;
    "max-network-in"?: number | string;
    network_out_bytes?: number;
    "max-network-out"?: number | string;
  };
  result: Schemas["result_result"] | Schemas["result_error"];
  result_metrics: {
    wall_ms: number;
    cpu_user_ms: number;
    cpu_system_ms: number;
    cpu_percent: number;
    peak_memory_bytes: number;
    peak_processes: number;
    io_read_bytes: number;
    io_write_bytes: number;
    context_switches: number;
    startup_ms: number;
    queue_ms: number;
    network_connections: number;
    network_bytes_in: number;
    network_bytes_out: number;
    network_cpu_ms: number;
    [field: string]: unknown;
  };
  result_limits: {
    wall_ms: number | null;
    cpu_ms: number | null;
    memory_bytes: number | null;
    cpus: number | null;
    pids: number | null;
    disk_bytes: number | null;
    inodes: number | null;
    open_files: number | null;
    output_bytes: number | null;
    grace_ms: number | null;
    connections: number | null;
    network_in_bytes: number | null;
    network_out_bytes: number | null;
    [field: string]: unknown;
  };
  result_denial: {
    kind: 
        | "connect" | "name" | "file" | "syscall" | "process" | "memory" | "disk"
        | "secret";
    target: string;
    rule: string;
    remedy: string | null;
    count: number;
    [field: string]: unknown;
  };
  result_stage: {
    name: "prepare" | "dependencies" | "compile" | "check" | "run";
    success: boolean;
    outcome: 
        | "exited" | "signaled" | "timeout" | "cpu_limit" | "memory_limit"
        | "output_limit" | "disk_limit" | "process_limit" | "denied"
        | "compile_failed" | "install_failed" | "cancelled" | "internal_error";
    exit_code: number | null;
    signal: string | null;
    execution_time: number;
    cpu_time: number;
    memory_used: number;
    metrics: Schemas["result_metrics"];
    limits: Schemas["result_limits"];
    startup: "parked" | "forked" | "cold";
    total_ms: number;
    explanation?: string | null;
    stdout?: string;
    stdout_bytes?: number;
    stdout_truncated?: boolean;
    stdout_encoding?: "utf-8" | "base64";
    stderr?: string;
    stderr_bytes?: number;
    stderr_truncated?: boolean;
    stderr_encoding?: "utf-8" | "base64";
    denials?: Schemas["result_denial"][];
    denials_dropped?: number;
    stdout_tail?: string | null;
    stdout_omitted_bytes?: number;
    stderr_tail?: string | null;
    stderr_omitted_bytes?: number;
    [field: string]: unknown;
  };
  result_diagnosis: {
    type: string | null;
    message: string | null;
    file: string | null;
    line: number | null;
    column: number | null;
    frames: {
      file: string | null;
      line: number | null;
      column: number | null;
      function: string | null;
      [field: string]: unknown;
    }[];
    context: string | null;
    suggestion: string | null;
    link: string | null;
    [field: string]: unknown;
  };
  result_change: {
    op: "created" | "modified" | "deleted" | "renamed" | "mode";
    path: string;
    path_base64?: string;
    from?: string;
    from_base64?: string;
    kind: "file" | "directory" | "link" | "other";
    size?: number;
    mode?: string;
    base_kind?: string;
    base_size?: number;
    base_mode?: string;
    volume?: string;
    volume_base64?: string;
    raced?: boolean;
    executes?: string;
    mark?: string;
    [field: string]: unknown;
  };
  result_file: {
    path: string;
    path_base64?: string;
    size: number;
    mime: string;
    saved: string | null;
    saved_base64?: string;
    skipped: string | null;
    [field: string]: unknown;
  };
  result_result: {
    schema: 1;
    id: string;
    version: string;
    started_at: string;
    total_ms: number;
    language: null | {
      name: string;
      version: string | null;
      tool: string | null;
      tool_version: string | null;
      [field: string]: unknown;
    };
    stage: "prepare" | "dependencies" | "compile" | "check" | "run";
    success: boolean;
    outcome: 
        | "exited" | "signaled" | "timeout" | "cpu_limit" | "memory_limit"
        | "output_limit" | "disk_limit" | "process_limit" | "denied"
        | "compile_failed" | "install_failed" | "cancelled" | "internal_error";
    exit_code: number | null;
    signal: string | null;
    execution_time: number;
    cpu_time: number;
    memory_used: number;
    metrics: Schemas["result_metrics"];
    explanation: string | null;
    stdout: string;
    stdout_bytes: number;
    stdout_truncated: boolean;
    stdout_encoding: "utf-8" | "base64";
    stderr: string;
    stderr_bytes: number;
    stderr_truncated: boolean;
    stderr_encoding: "utf-8" | "base64";
    limits: Schemas["result_limits"];
    stages: Schemas["result_stage"][];
    isolation: {
      tier: "container" | "reduced" | "process";
      mechanisms: string[];
      missing: string[];
      [field: string]: unknown;
    };
    policy: string | null;
    network: {
      mode: "none" | "localhost" | "allow" | "full";
      allow_hosts: string[];
      allow_dns: boolean;
      [field: string]: unknown;
    };
    ports?: {
      addresses: ("127.0.0.1" | "::1")[];
      port: number;
      inside: number;
      connections: number;
      bytes_in: number;
      bytes_out: number;
      [field: string]: unknown;
    }[];
    denials: Schemas["result_denial"][];
    uses: string[];
    excluded: string[];
    diagnosis: null | Schemas["result_diagnosis"];
    cached: boolean;
    compile_output?: string;
    tty?: { rows: number; columns: number; [field: string]: unknown };
    startup: "parked" | "forked" | "cold";
    changes: null | Schemas["result_change"][];
    changes_total: number | null;
    changes_summary: string | null;
    changes_id: string | null;
    files: Schemas["result_file"][];
    denials_dropped?: number;
    files_dropped?: number;
    stdout_tail: string | null;
    stdout_omitted_bytes: number;
    stderr_tail: string | null;
    stderr_omitted_bytes: number;
    output_id: string | null;
    cell?: number;
    session?: "kept" | "lost";
    memory_is?: "peak" | "change";
    display?: Record<string, unknown>[];
    display_dropped?: number;
    [field: string]: unknown;
  };
  result_error: {
    schema: 1;
    success: false;
    outcome: 
        | "invalid_request" | "not_found" | "unsupported" | "denied" | "busy"
        | "internal_error";
    error: {
      code: 
          | "invalid" | "not_found" | "unsupported" | "denied" | "busy" | "no_memory"
          | "system" | "bug";
      stage: string;
      message: string | null;
      errno: number | null;
      [field: string]: unknown;
    };
    [field: string]: unknown;
  };
  event: {
    type: "start";
    seq: number;
    time_ms: number;
    language: string | null;
    [field: string]: unknown;
  } | {
    type: "stage";
    seq: number;
    time_ms: number;
    stage: "prepare" | "dependencies" | "compile" | "check" | "run";
    [field: string]: unknown;
  } | {
    type: "queue";
    seq: number;
    time_ms: number;
    stage?: "prepare" | "dependencies" | "compile" | "check" | "run";
    before: number;
    [field: string]: unknown;
  } | {
    type: "progress";
    seq: number;
    time_ms: number;
    stage?: "prepare" | "dependencies" | "compile" | "check" | "run";
    files: number;
    bytes: number;
    [field: string]: unknown;
  } | {
    type: "stdout";
    seq: number;
    time_ms: number;
    data?: string;
    data_b64?: string;
    [field: string]: unknown;
  } | {
    type: "stderr";
    seq: number;
    time_ms: number;
    data?: string;
    data_b64?: string;
    [field: string]: unknown;
  } | {
    type: "denial";
    seq: number;
    time_ms: number;
    stage?: "prepare" | "dependencies" | "compile" | "check" | "run";
    denial: Schemas["event_denial"];
    [field: string]: unknown;
  } | {
    type: "port";
    seq: number;
    time_ms: number;
    address: string;
    port: number;
    inside: number;
    [field: string]: unknown;
  } | {
    type: "metrics";
    seq: number;
    time_ms: number;
    stage: "prepare" | "dependencies" | "compile" | "check" | "run";
    metrics: Schemas["event_metrics"];
    [field: string]: unknown;
  } | {
    type: "answer";
    seq: number;
    time_ms: number;
    result: Schemas["event_answer"];
    [field: string]: unknown;
  } | {
    type: "end";
    seq: number;
    time_ms: number;
    result: Schemas["event_outcome"];
    [field: string]: unknown;
  };
  event_denial: {
    kind: 
        | "connect" | "name" | "file" | "syscall" | "process" | "memory" | "disk"
        | "secret";
    target: string;
    rule: string;
    remedy: string | null;
    [field: string]: unknown;
  };
  event_metrics: {
    wall_ms: number;
    cpu_user_ms: number | null;
    cpu_system_ms: number | null;
    memory_bytes: number | null;
    peak_memory_bytes: number | null;
    processes: number | null;
    io_read_bytes: number | null;
    io_write_bytes: number | null;
    stdout_bytes: number;
    stderr_bytes: number;
    [field: string]: unknown;
  };
  event_answer: Record<string, unknown>;
  event_outcome: Record<string, unknown>;
  build: {
    tool: string;
    summary: {
      errors: number;
      warnings: number;
      notes: number;
      messages_dropped: number;
      artifacts: number;
      [field: string]: unknown;
    };
    messages: Schemas["build_message"][];
    artifacts: Schemas["build_artifact"][];
    reproducible: boolean | null;
    first_difference: string | null;
    first_difference_base64?: string;
    [field: string]: unknown;
  };
  build_message: {
    severity: "error" | "warning" | "note";
    file: string | null;
    line: number | null;
    column: number | null;
    message: string;
    code: string | null;
    [field: string]: unknown;
  };
  build_artifact: {
    path: string;
    path_base64?: string;
    size: number;
    executable: boolean;
    sha256: string | null;
    [field: string]: unknown;
  };
  comparison: {
    /** As in `same output, B 1.8 × faster, ± 6 %`. */
    verdict: string;
    same_output: boolean;
    inputs: number;
    different_inputs: number;
    /** Its name; only where outputs differ. */
    first_different_input?: string;
    first_different_input_base64?: string;
    difference?: string;
    ratio: Schemas["comparison_figures"];
    a: Schemas["comparison_program"];
    b: Schemas["comparison_program"];
    [field: string]: unknown;
  };
  comparison_program: {
    program: string;
    language: string | null;
    wall_ms: Schemas["comparison_figures"];
    cpu_ms: Schemas["comparison_figures"];
    peak_memory_bytes: Schemas["comparison_figures"];
    [field: string]: unknown;
  };
  comparison_figures: {
    runs: number;
    min: number;
    median: number;
    p95: number;
    max: number;
    /** Half of what lies between the first and the third quarter, as a part of the median. */
    spread: number;
    outliers: number;
    [field: string]: unknown;
  };
  golden: {
    success: boolean;
    summary: {
      passed: number;
      failed: number;
      skipped: number;
      error: number;
      [field: string]: unknown;
    };
    cases: Schemas["golden_case"][];
    changes_id: string | null;
    [field: string]: unknown;
  };
  golden_case: {
    name: string;
    outcome: "passed" | "failed" | "skipped" | "error";
    time_ms: number | null;
    message: string | null;
    file: string | null;
    line: number | null;
    [field: string]: unknown;
  };
  profile: {
    program: string;
    language: string | null;
    runs: number;
    succeeded: number;
    wall_ms: Schemas["profile_figures"];
    cpu_ms: Schemas["profile_figures"];
    peak_memory_bytes: Schemas["profile_figures"];
    over_time: Schemas["profile_point"][];
    /** Only where they were asked for; the one that used most comes first. */
    functions?: Schemas["profile_function"][];
    [field: string]: unknown;
  };
  profile_function: {
    function: string;
    self_ms: number;
    /** Also of what it called. */
    total_ms: number;
    [field: string]: unknown;
  };
  profile_point: {
    time_ms: number;
    /** 1: one processor, all of the time. */
    cpu: number;
    memory_bytes: number;
    processes: number;
    io_bytes_per_second: number;
    [field: string]: unknown;
  };
  profile_figures: {
    runs: number;
    min: number;
    median: number;
    p95: number;
    max: number;
    /** Half of what lies between the first and the third quarter, as a part of the median. */
    spread: number;
    outliers: number;
    [field: string]: unknown;
  };
  test: {
    runner: string;
    summary: {
      passed: number;
      failed: number;
      skipped: number;
      error: number;
      [field: string]: unknown;
    };
    coverage_percent?: number | null;
    repeat?: number;
    flaky?: string[];
    cases: Schemas["test_case"][];
    [field: string]: unknown;
  };
  test_case: {
    name: string;
    outcome: "passed" | "failed" | "skipped" | "error";
    time_ms: number | null;
    message: string | null;
    /** of a failure that the sandbox had a part in: what was refused, and the option that it wants */
    denial: string | null;
    file: string | null;
    line: number | null;
    runs?: number;
    failures?: number;
    [field: string]: unknown;
  };
  verify: {
    verdict: "passed" | "failed";
    /** One sentence for each check that failed. */
    reasons: string[];
    checks: Schemas["verify_check"][];
    /** The file that --write wrote. */
    written: string | null;
    written_base64?: string;
    [field: string]: unknown;
  };
  verify_check: {
    check: "syntax" | "types" | "lint" | "tests" | "golden" | "examples" | "calls";
    tool: string | null;
    file: string | null;
    file_base64?: string;
    outcome: "passed" | "failed" | "error" | "skipped";
    reason: string | null;
    time_ms: number;
    output: string | null;
    cases: Schemas["verify_case"][];
    [field: string]: unknown;
  };
  verify_case: {
    name: string;
    outcome: "passed" | "failed" | "skipped" | "error";
    time_ms: number | null;
    message: string | null;
    /** of a failure that the sandbox had a part in: what was refused, and the option that it wants */
    denial: string | null;
    file: string | null;
    line: number | null;
    [field: string]: unknown;
  };
  mcp_message: {
    jsonrpc: "2.0";
    id?: string | number | null;
    method?: string;
    params?: Record<string, unknown>;
    result?: Record<string, unknown>;
    error?: Record<string, unknown>;
    [field: string]: unknown;
  };
  problem: {
    type: string;
    title: string;
    status: number;
    detail: string;
    code: string;
    remedy?: string;
    instance?: string;
    position?: number;
    errors?: { pointer: string; detail: string; [field: string]: unknown }[];
    [field: string]: unknown;
  };
  health: { status: "ok"; [field: string]: unknown };
  ready: { status: "ready" | "not_ready"; reason?: string; [field: string]: unknown };
  version: { name: string; version: string; api: "v1"; [field: string]: unknown };
  openapi: {
    openapi: string;
    info: Record<string, unknown>;
    paths: Record<string, unknown>;
    [field: string]: unknown;
  };
  languages: {
    languages: {
      name: string;
      about?: string | null;
      aliases?: string[];
      extensions?: string[];
      installed: boolean;
      sessions: boolean;
      versions: string[];
      [field: string]: unknown;
    }[];
    [field: string]: unknown;
  };
  execution: {
    id: string;
    status: "queued" | "running" | "done" | "failed";
    language?: string | null;
    created: string;
    outcome?: string | null;
    position?: number;
    result?: Schemas["result"];
    [field: string]: unknown;
  };
  execution_list: { executions: Schemas["execution"][]; next: string | null; [field: string]: unknown };
  execute: {
    command: string;
    config?: Schemas["execute_config"];
    files?: Schemas["execute_file"][];
  };
  execute_config: {
    image?: string;
    /** Milliseconds; 300000 without it. */
    timeout?: number;
    cpuLimit?: string;
    memoryLimit?: string;
    workdir?: string;
    networkMode?: "none" | "localhost" | "allow" | "full" | "bridge";
    readOnly?: boolean;
    env?: Record<string, string>;
    [field: string]: unknown;
  };
  execute_file: {
    path: string;
    content: string;
    encoding?: "utf-8" | "base64";
    mode?: number;
    [field: string]: unknown;
  };
  execute_answer: {
    exitCode: number;
    stdout: string;
    stderr: string;
    /** Milliseconds. */
    duration: number;
    resourceUsage?: {
      cpuUsagePercent: number;
      memoryUsageMb: number;
      maxMemoryMb: number;
      [field: string]: unknown;
    };
    stdoutEncoding?: "base64";
    stderrEncoding?: "base64";
    [field: string]: unknown;
  };
  stdin_taken: { taken: number; open: boolean; [field: string]: unknown };
  batch: { requests: Schemas["request"][]; [field: string]: unknown };
  batch_results: { results: Schemas["result"][]; [field: string]: unknown };
  batch_job: {
    id: string;
    status: "running" | "done";
    created: string;
    total: number;
    over: number;
    executions: (string | null)[];
    results?: (Schemas["result"] | null)[];
    [field: string]: unknown;
  };
  session_request: {
    language: string;
    idle_ms?: number;
    age_ms?: number;
    freeze_ms?: number;
    [field: string]: unknown;
  };
  session: {
    id: string;
    lang: string;
    state: "starting" | "ready" | "busy" | "frozen" | "lost";
    startup_ms?: number;
    cells?: number;
    memory_bytes?: number;
    idle_s?: number;
    [field: string]: unknown;
  };
  session_list: { sessions: Schemas["session"][]; [field: string]: unknown };
  session_ended: { id: string; closed?: boolean; [field: string]: unknown };
  session_answer: Record<string, unknown>;
  cell_request: {
    code: string;
    /** Another language than the session's: a kernel of its own in the same sandbox. */
    language?: string;
    timeout_ms?: number;
    /** Tables and long values of the cell fit into so many columns. */
    width?: number;
    [field: string]: unknown;
  };
  cell_result: {
    outcome: string;
    cell: number;
    stdout?: string;
    stderr?: string;
    display?: Record<string, unknown>[];
    [field: string]: unknown;
  };
  rollback_request: { cell: number; [field: string]: unknown };
  workspace_list: {
    workspaces: {
      name: string;
      used_bytes?: number;
      quota_bytes?: number;
      busy?: boolean;
      [field: string]: unknown;
    }[];
    [field: string]: unknown;
  };
  file_list: {
    files: {
      path: string;
      size: number;
      type: "file" | "directory" | "other";
      [field: string]: unknown;
    }[];
    [field: string]: unknown;
  };
  changes_list: {
    changes: {
      id: string;
      damaged: boolean;
      about?: string | null;
      created?: number;
      applied?: boolean;
      roots?: { source?: string | null; target?: string; [field: string]: unknown }[];
      summary?: string;
      total?: number;
      [field: string]: unknown;
    }[];
    [field: string]: unknown;
  };
  changes: {
    id: string;
    damaged: boolean;
    about?: string | null;
    created?: number;
    applied?: boolean;
    roots?: { source?: string | null; target?: string; [field: string]: unknown }[];
    summary?: string;
    total?: number;
    changes?: Record<string, unknown>[] | null;
    files?: Record<string, unknown>[] | null;
    [field: string]: unknown;
  };
  apply_request: { paths?: string[]; force?: string[]; [field: string]: unknown };
  apply_report: {
    applied?: number;
    undone?: number;
    already?: number;
    skipped?: number;
    conflicts?: Record<string, unknown>[];
    left_out?: { path?: string; executes?: string; [field: string]: unknown }[];
    [field: string]: unknown;
  };
  build_request: { tool?: string; twice?: boolean; [field: string]: unknown };
  test_request: { runner?: string; repeat?: number; coverage?: boolean; [field: string]: unknown };
  golden_request: {
    cases: {
      name: string;
      command: string;
      normalize?: string;
      stdin?: string;
      stdout?: string;
      stderr?: string;
      status?: number;
      input?: Record<string, string>;
      tree?: Record<string, string>;
      [field: string]: unknown;
    }[];
    [field: string]: unknown;
  };
  verify_request: {
    /** Which of the files are checked; without it, all. */
    paths?: string[];
    calls?: string[];
    skip?: ("syntax" | "types" | "lint" | "tests" | "golden" | "examples" | "calls")[];
    [field: string]: unknown;
  };
  comparison_request: {
    a: Schemas["request"];
    b: Schemas["request"];
    inputs?: { name?: string; content: string; encoding?: "utf-8" | "base64" }[];
    repeat?: number;
    warm_up?: number;
    checker?: "exact" | "tokens" | "floats";
    tolerance?: number;
    [field: string]: unknown;
  };
  profile_request: {
    repeat?: number;
    warm_up?: number;
    /** One more run, with samples of its functions. */
    functions?: boolean;
    [field: string]: unknown;
  };
}
