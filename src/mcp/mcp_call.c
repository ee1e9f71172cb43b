/* One call of a tool: what it says to its client while it runs, and its result. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/text.h"
#include "mcp/mcp_internal.h"

#define PROGRESS_EVERY_US 250000

void mcp_call_say(struct mcp_call *call, const char *text, size_t len)
{
    json_array_append_new(call->content,
                          json_pack("{s:s, s:s%}", "type", "text", "text", text, len));
}

static void say_formatted(struct mcp_call *call, const char *fmt, va_list args)
{
    scoped_free char *text = NULL;
    int n = vasprintf(&text, fmt, args);

    if (n >= 0)
        mcp_call_say(call, text, (size_t)n);
}

void mcp_call_note(struct mcp_call *call, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    say_formatted(call, fmt, args);
    va_end(args);
}

void mcp_call_fail(struct mcp_call *call, const char *fmt, ...)
{
    va_list args;

    call->is_error = true;
    va_start(args, fmt);
    say_formatted(call, fmt, args);
    va_end(args);
}

void mcp_call_fail_by(struct mcp_call *call, const sbr_error *err)
{
    mcp_call_fail(call, "%s: %s", err_code_name(err->code), err->message);
}

void mcp_call_return(struct mcp_call *call, json_t *structured)
{
    scoped_free char *text = NULL;

    mcp_shape_json(structured); /* the text of it is JSON, in which nothing can be changed later */
    text = json_dumps(structured, JSON_COMPACT);
    if (text)
        mcp_call_say(call, text, strlen(text));
    call->structured = structured;
}

static json_t *progress_token(const struct mcp_call *call)
{
    json_t *token = json_object_get(call->era.meta, "progressToken");

    return json_is_string(token) || json_is_integer(token) ? token : NULL;
}

void mcp_call_progress(struct mcp_call *call, const char *message, bool at_once)
{
    json_t *token = progress_token(call), *params;
    uint64_t now = clock_now_us();

    if (!token || (!at_once && now - call->sent_us < PROGRESS_EVERY_US))
        return;
    if (!at_once)
        call->sent_us = now;
    call->steps++;
    params = json_pack("{s:O, s:I}", "progressToken", token, "progress", (json_int_t)call->steps);
    if (message[0])
        json_object_set_new(params, "message", json_string(message));
    mcp_peer_send(call->peer, call->context,
                  mcp_message_call(NULL, "notifications/progress", params));
}

void mcp_call_show_output(struct mcp_call *call, const char *data, size_t len)
{
    const char *end = len ? memrchr(data, '\n', len) : NULL, *begin;

    if (!end)
        return;
    begin = memrchr(data, '\n', (size_t)(end - data));
    begin = begin ? begin + 1 : data;
    text_copy_visibly(call->line, sizeof(call->line), begin, (size_t)(end - begin));
    mcp_call_progress(call, call->line, false);
}

void mcp_call_log(struct mcp_call *call, enum mcp_log_level level, json_t *data)
{
    int least = mcp_peer_log_level(call->peer, &call->era);

    if ((int)level < least) {
        json_decref(data);
        return;
    }
    mcp_peer_send(call->peer, call->context,
                  mcp_message_call(NULL, "notifications/message",
                                   json_pack("{s:s, s:s, s:o}", "level", mcp_log_levels[level],
                                             "logger", "sandbox-run", "data", data)));
}

bool mcp_call_watch_job(struct mcp_call *call, sbr_job *job)
{
    bool goes_on;

    pthread_mutex_lock(&call->peer->lock);
    goes_on = !call->cancelled;
    call->job = goes_on ? job : NULL;
    pthread_mutex_unlock(&call->peer->lock);
    return goes_on;
}

bool mcp_call_watch_session(struct mcp_call *call, sbr_session *session)
{
    bool goes_on;

    pthread_mutex_lock(&call->peer->lock);
    goes_on = !call->cancelled;
    call->session = goes_on ? session : NULL;
    pthread_mutex_unlock(&call->peer->lock);
    return goes_on;
}

bool mcp_call_watch_stop(struct mcp_call *call, int stop_fd)
{
    bool goes_on;

    pthread_mutex_lock(&call->peer->lock);
    goes_on = !call->cancelled;
    call->stop_fd = goes_on ? stop_fd : -1;
    pthread_mutex_unlock(&call->peer->lock);
    return goes_on;
}

void mcp_call_cancel(struct mcp_call *call)
{
    call->cancelled = true;
    if (call->job)
        sbr_job_cancel(call->job);
    if (call->stop_fd > 0)
        (void)eventfd_write(call->stop_fd, 1);
    if (call->session)
        (void)sbr_session_interrupt(call->session);
}
