/* Modules that a program's source names. */
#include <stdio.h>
#include <string.h>

#include "base/scope.h"
#include "explain/denial_text.h"
#include "unit.h"

static void check(const char *literal, const char *text, const char *expected)
{
    struct string_list names = { 0 };
    char said[400] = "";
    size_t used = 0;
    sbr_error err;

    assert_int_equal(sensitive_name(literal, sensitive_find(literal, text, strlen(text)), &names,
                                    &err),
                     0);
    for (size_t i = 0; i < names.n; i++)
        used += (size_t)snprintf(said + used, sizeof(said) - used, "%s%s", i ? " " : "",
                                 names.items[i]);
    assert_string_equal(said, expected);
    string_list_done(&names);
}

static void python_imports_are_found(void **state)
{
    (void)state;
    check("python", "import subprocess", "subprocess");
    check("python", "import os, socket as s, sys\n", "socket");
    check("python", "    import  ctypes.util\n", "ctypes");
    check("python", "from urllib.request import urlopen\nfrom socket import *\n", "socket urllib");
    check("python", "x = __import__('pickle')\nimportlib.import_module(\"ssl\")", "ssl pickle");
    check("python", "# import socket\nimportant = 1\nfrom_socket = 2\nimport sockets\n", "");
    check("python", "import", "");
    check("python", "import subprocess,", "subprocess");
    check("python", "", "");
}

static void javascript_imports_are_found(void **state)
{
    (void)state;
    check("json", "const { exec } = require('child_process');", "child_process");
    check("json", "import net from \"node:net\"\nimport 'https'\n", "net https");
    check("json", "await import(`dns/promises`)", "dns");
    check("json", "// require('net')\nrequire(name); required('vm_'); import x from './net.js'",
          "");
}

static void other_languages_have_no_list(void **state)
{
    (void)state;
    check("ruby", "require 'socket'", "");
    assert_int_equal(sensitive_find(NULL, "import socket", 13), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_imports_are_found),
        cmocka_unit_test(javascript_imports_are_found),
        cmocka_unit_test(other_languages_have_no_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
