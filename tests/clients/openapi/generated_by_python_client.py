"""The client that openapi-python-client made: BASE TOKEN."""
import json
import sys

from generated import AuthenticatedClient
from generated.api.default import create_batch, create_cell, create_execution, create_session, delete_session, list_languages
from generated.models import Batch, CellRequest, Request, SessionRequest

with AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2], raise_on_unexpected_status=True) as client:
    done = create_execution.sync(client=client, body=Request(language="python", code="print(6 * 7)"))
    many = create_batch.sync(client=client, body=Batch(requests=[Request(language="bash", code="echo 1")]))
    session = create_session.sync(client=client, body=SessionRequest(language="python"))
    cell = create_cell.sync(session.id, client=client, body=CellRequest(code="20 + 3"))
    delete_session.sync(session.id, client=client)
    languages = list_languages.sync(client=client)
    print(json.dumps([done.stdout, many.results[0].stdout, cell.to_dict()["display"][0]["text/plain"],
                      any(one.name == "python" for one in languages.languages)]))
