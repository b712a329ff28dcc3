"""A real Label Studio takes our tasks, and what people answer in it comes back."""

import json

import pytest
from audit_samples import small_audit, tasks_in, wrong_of
from label_studio_server import install, running

from bindbench.people.audits import read_key
from bindbench.pipeline import audit

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    yield from small_audit(tmp_path_factory.mktemp("store"))


def test_tasks_go_in_and_answers_come_out(context, tmp_path):
    audit.export(context, audit.draw(context, ["color-n2", "position-n3"], 2, 0), tmp_path, 0)
    questions = {q.id: q for q in read_key(tmp_path / "key.json", context.suite.name)}
    data = tmp_path / "data"
    data.mkdir()
    labels = []
    with running(install(tmp_path / "venv"), data) as server:
        for kind in ("concordance", "swap", "confusion"):
            config = (tmp_path / f"{kind}.xml").read_text()
            fields = {"title": kind, "label_config": config}
            project = server.call("POST", "/api/projects", fields)["id"]
            tasks = json.loads((tmp_path / f"{kind}.json").read_text())
            server.call("POST", f"/api/projects/{project}/import", tasks)
            listed = server.call("GET", f"/api/tasks?project={project}&page_size=100")["tasks"]
            assert len(listed) == len(tasks)
            for place, task in enumerate(listed):
                question = questions[task["data"]["task_id"]]
                said = wrong_of(question) if place == 0 else question.right
                result = {
                    "from_name": "answer",
                    "to_name": "image",
                    "type": "choices",
                    "value": {"choices": [said]},
                }
                answer = {"result": [result], "lead_time": 1.0}
                server.call("POST", f"/api/tasks/{task['id']}/annotations", answer)
            export = server.call("GET", f"/api/projects/{project}/export?exportType=JSON")
            labels.append(tmp_path / f"{kind}-labels.json")
            labels[-1].write_text(json.dumps(export))
    artifact = audit.read(context, tmp_path, labels)
    said = audit.answers_of(artifact)
    assert len(said) == len(tasks_in(tmp_path)) == len(questions)
    wrong = [one for one in said if not one.is_right]
    assert sorted(one.kind for one in wrong) == ["concordance", "confusion", "swap"]
