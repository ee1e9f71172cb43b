"""What users met in a first version, a line each: the tests that would have found it, and whether they pass.

Usage: users_met.py [--caller root|user] [NUMBER]...
       users_met.py --list           the lines without their tests

Tests of both callers run as both in any case; --caller is for those to whom it does not matter.

A line without tests says what became of it in its last column.
"""
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent
BLACKBOX = TESTS / "blackbox"
PYTHON = "/usr/bin/python3"

# Number, what was met, tests (of tests/blackbox, unless they name their folder) or what became of it.
MET = (
    ("U1", "serve --http is always cold", "test_serve::test_the_words_of_the_documents_serve_warm_runs"),
    ("U2", "stopping an engine while a run compiles ends the client by a signal", "warm/test_engine_faults"),
    ("U3", "real projects' tests fail", "test_real_layouts"),
    ("U4", "matplotlib, R plots: configuration of the host is missing", "test_host_packages"),
    ("U5", "the prompt's search does not come back; history by line", "test_repl::test_the_search_shows_what_it_finds_and_always_comes_back "
     "test_repl::test_a_cell_is_recalled_edited_and_run_as_a_whole test_repl::test_history_is_of_the_language_and_stays"),
    ("U6", "input() and getpass fail; %timeit, !ls, x?", "test_repl_input::test_a_cell_asks_and_the_person_answers "
     "test_repl_input::test_input_of_python_ends_and_hides test_repl_input::test_lines_of_ipython_work_without_it"),
    ("U7", "a dry run that commits harms the repository", "test_dry_runs::test_a_commit_inside_has_neither_the_secrets_nor_the_program"),
    ("U8", "the program hides a file of the project", "test_dry_runs::test_the_projects_file_of_the_same_name_is_there"),
    ("U9", "changes are thrown away in silence", "test_dry_runs::test_what_nobody_keeps_is_said_in_one_line"),
    ("U10", "a look by git is a conflict; lists begin with .git", "test_dry_runs::test_a_look_by_git_is_neither_a_change_nor_a_conflict "
     "test_dry_runs::test_lists_begin_with_the_users_own_files"),
    ("U11", "require: reduced does not count for repl and session", "test_config::test_sessions_and_prompts_follow_the_configuration"),
    ("U12", ":dep gives the host's older version", "test_repl_commands::test_every_line_with_a_colon_in_every_kernel"),
    ("U13", "test and verify take different projects", "test_small_words::test_test_and_verify_mean_the_same_project"),
    ("U14", "profile ignores stdin", "test_small_words::test_profile_gives_the_program_what_is_on_stdin "
     "test_small_words::test_profile_says_that_it_reads_a_stdin_that_does_not_end"),
    ("U15", "php prints its source", "test_small_words::test_php_without_its_opening_is_told_so"),
    ("U16", "the SDK cannot cancel or leave", "test_sdk_python::test_who_leaves_cancels_or_waits_no_longer_ends_what_runs "
     "test_sdk_typescript::test_who_leaves_or_cancels_ends_what_runs"),
    ("U17", "generated clients and checkers of types", "test_http_tools::test_generated_types_compile_and_work "
     "test_http_tools::test_a_generated_client_works test_sdk_python::test_a_strict_checker_of_types_accepts_it "
     "test_sdk_typescript::test_the_package_has_no_dependency_and_its_types_hold"),
    ("U18", "make hello builds no HTTP service", "unit/test_packages::test_what_the_readme_shows_is_built_by_hello"),
    ("U19", "behind a proxy: options that serve does not have", "test_serve::test_every_option_of_the_gateway_is_one_of_serve "
     "test_serve::test_options_of_the_gateway_hold_under_serve"),
    ("U20", "builds over HTTP without their artifacts", "test_work_calls"),
    ("U21", "Docker's path: sockets, reasons, images of the daemon", "test_image_daemon test_sdk_python::test_the_executor_of_docker_uses_its_socket "
     "test_sdk_typescript::test_the_executor_of_docker_uses_its_socket"),
    ("U22", "execute(command, config, files)", "test_execute"),
    ("U23", "verify --write with code on stdin", "test_small_words::test_verify_asks_at_the_terminal_though_the_code_is_on_stdin"),
    ("U24", "first programs wait in silence", "test_languages_command::test_languages_are_made_ready_ahead_and_the_seconds_are_shown "
     "test_languages_command::test_a_first_run_shows_language_stage_and_seconds_and_a_pipe_gets_one_line"),
    ("U25", "make check beside another engine", "test_leaks"),
    ("M1", "ps, top, kill, logs of runs", "of docker's words here: test_docker lists, looks at and stops named runs"),
    ("M4", "after a dry run: apply, diff, pick, keep, drop", "test_dry_runs::test_at_a_terminal_a_dry_run_ends_with_a_question "
     "test_dry_runs::test_some_files_can_be_picked_and_ctrl_c_keeps"),
    ("M5", "a network that can be opened later", "test_ask test_repl_input::test_a_session_without_a_network_gets_one_with_its_state"),
    ("M6", "--quiet on every command", "test_small_words::test_every_command_can_be_quiet"),
    ("M7", "colour for traces, documents laid out", "test_pretty"),
    ("M9", "docker run -d, stop, stats, info, version", "test_docker"),
    ("M15", "a tried migration is applied to a named database", "test_migrate"),
    ("P1", "--ask: fails first, band stays, wrong key, no always, no port", "test_ask::test_a_connection_waits_until_the_person_decides "
     "test_ask::test_what_is_allowed_always_is_kept_in_the_agents_hosts"),
    ("P2", "an agent without changes is kept", "test_dry_runs::test_an_agent_without_changes_keeps_nothing"),
    ("P3", "repl postgres: \\d, \\x, \\timing", "test_repl_input::test_psqls_own_commands_look_like_psqls"),
    ("P4", "audit prints nothing when it is off", "test_small_words::test_an_audit_that_is_off_says_so"),
    ("P5", "config sett, --json --text, keys at the wrong level", "test_small_words::test_words_that_were_ignored_are_refused "
     "test_small_words::test_a_key_at_the_wrong_level_is_told_where_it_belongs"),
    ("P6", "wild guesses for misspelt words", "test_wrong_inputs"),
    ("P7", "the prompt's exit status", "test_repl::test_an_error_is_the_status_and_the_next_cell_runs"),
    ("P8", "raw Markdown in help, commands without groups", "test_small_words::test_a_page_at_a_terminal_has_no_markdown "
     "test_small_words::test_help_has_each_command_once_under_a_task"),
    ("P9", "volumes below /tmp", "test_execute::test_a_volume_below_tmp"),
    ("P10", "the prompt leaves a folder in /tmp", "test_repl_input::test_long_output_goes_with_the_prompt"),
    ("P11", "what a program imports is not said", "test_small_words::test_what_a_program_imports_is_said_at_a_terminal test_uses"),
    ("P12", "sql without headers", "test_tty::test_rows_of_sql_are_a_table_at_a_terminal"),
    ("P13", "full-screen programs at 80 columns", "test_screen::test_curses_with_colours_and_size"),
    ("P14", "no line of ours when the disk is full", "test_denials::test_a_full_disk_is_told"),
)


def nodes(tests):
    """Node ids of pytest; empty for a line that is answered in words."""
    found = []
    for word in tests.split():
        name, _, test = word.partition("::")
        folder, _, file = name.rpartition("/")
        if not file.startswith("test_"):
            return []
        path = (TESTS / folder if folder else BLACKBOX) / f"{file}.py"
        found.append(f"{path}::{test}" if test else str(path))
    return found


def verdict(found):
    done = subprocess.run([PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", *found], capture_output=True, text=True,
                          cwd=TESTS, check=False)
    last = next((line for line in reversed(done.stdout.splitlines()) if " in " in line), done.stderr[-100:])
    return ("ok    " if done.returncode == 0 else "FAILS ") + last.strip("= ")


def main(words):
    if words == ["--list"]:
        sys.stdout.write("".join(f"{number:4} {met}\n" for number, met, _ in MET))
        return 0
    failed = 0
    if words[:1] == ["--caller"]:
        os.environ["SBR_CALLER"], words = words[1], words[2:]
    for number, met, tests in MET:
        if words and number not in words:
            continue
        found = nodes(tests)
        said = verdict(found) if found else f"said  {tests}"
        failed += said.startswith("FAILS")
        print(f"{number:4} {said:40} {met}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
