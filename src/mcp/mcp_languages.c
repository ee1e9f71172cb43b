/* list_languages. */
#include "lib/runner.h"
#include "mcp/mcp_internal.h"
#include "plan/language.h"

void mcp_list_languages(struct mcp_call *call)
{
    json_t *list = json_array();
    const struct language *language;

    for (size_t i = 0; (language = language_at(i)); i++) {
        json_t *aliases;

        if (!grant_has_language(&call->peer->server->grant, language->name))
            continue;
        aliases = json_array();

        for (unsigned int k = 0; k < language->aliases.n; k++)
            json_array_append_new(aliases, json_string(language->aliases.at[k]));
        json_array_append_new(list,
                              json_pack("{s:s, s:o, s:b, s:b}", "name", language->name, "aliases",
                                        aliases, "installed", runner_locate(language) != NULL,
                                        "sessions", language->session.run.n > 0));
    }
    mcp_call_return(call, json_pack("{s:o}", "languages", list));
}
