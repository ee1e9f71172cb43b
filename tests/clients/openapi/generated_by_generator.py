"""The client that openapi-generator made: BASE TOKEN."""
import json
import sys

import generated
from generated import Batch, CellRequest, Request, SessionRequest

with generated.ApiClient(generated.Configuration(host=sys.argv[1], access_token=sys.argv[2])) as client:
    api = generated.DefaultApi(client)
    done = api.create_execution(Request(language="python", code="print(6 * 7)"))
    many = api.create_batch(Batch(requests=[Request(language="bash", code="echo 1")]))
    session = api.create_session(SessionRequest(language="python"))
    cell = api.create_cell(session.id, CellRequest(code="20 + 3"))
    api.delete_session(session.id)
    languages = api.list_languages()
    print(json.dumps([done.actual_instance.stdout, many.results[0].actual_instance.stdout, cell.display[0]["text/plain"],
                      any(one.name == "python" for one in languages.languages)]))
