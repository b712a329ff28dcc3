"""ConMe's evaluation, labels, self-check and tables as artifacts, with models behind a server."""

import io
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from api_server import ApiServer, Asked, Reply, answer
from PIL import Image as PILImage
from spine_driver import small_suite

from bindbench.cli.main import main
from bindbench.engine.local import LocalEngine
from bindbench.pipeline import (
    conme_evaluation,
    conme_labels,
    conme_report,
    conme_results,
    conme_self_check,
    conme_verification,
    spine,
)
from bindbench.pipeline.base import Context
from bindbench.pipeline.conme_cells import models_of
from bindbench.storage.store import Store

WHERE = "photos--two"
COLORS = {"a": (220, 30, 30), "b": (30, 30, 220), "c": (20, 160, 40)}
NAMES = {"a": "red", "b": "blue", "c": "green"}
FAST = {"backoff": 0.001, "retries": 1, "timeout": 20.0}


def seen(asked: Asked) -> str:
    """The color of the image, which the server truly looks at."""
    assert asked.image
    mean = np.asarray(PILImage.open(io.BytesIO(asked.image)).convert("RGB")).mean(axis=(0, 1))
    return NAMES[min(COLORS, key=lambda name: float(np.abs(mean - COLORS[name]).sum()))]


def script(asked: Asked) -> Reply:
    """The strong model and ``good`` see; ``always`` says A, and its likelier letter is B."""
    model, prompt, color = asked.body["model"], asked.prompt, seen(asked)
    if prompt.startswith("Describe"):
        return answer("A wall.")
    if "Write " in prompt:
        number = 2 if "harder" in prompt else 1
        wrong = [name for name in NAMES.values() if name != color]
        one = {"question": f"What color is wall {number}?", "answer": color, "negatives": wrong}
        return answer(json.dumps({"questions": [one]}))
    if '" a right answer' in prompt or '" a wrong answer' in prompt or "clear, with" in prompt:
        return choose(asked, "no" if "clear, with" in prompt and color == "green" else "yes")
    if "Which kind" in prompt or "What is this question about" in prompt:
        return choose(asked, "color" if "What is this" in prompt else "selective")
    if "\nB. " in prompt:
        letter = "A" if model == "always" else "AB"[f"\nB. {color}" in prompt]
        return with_letters(letter, "B" if model == "always" else letter)
    if 'the answer is "' in prompt:
        return with_letters("yes", "yes" if f'"{color}"' in prompt else "no")
    return answer("A wall.")


def choose(asked: Asked, text: str) -> Reply:
    """Answer a choice with the letter of an option."""
    options = asked.options.items()
    return answer(next(label for label, option in options if option == text))


def with_letters(text: str, likelier: str) -> Reply:
    pairs = ("A", "B") if likelier in "AB" else ("yes", "no")
    top = [{"token": one, "logprob": math.log(0.75 if one == likelier else 0.25)} for one in pairs]
    return answer(text, logprobs={"content": [{"token": text, "top_logprobs": top}]})


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("BINDBENCH_CACHE", str(tmp_path / "cache"))
    with ApiServer(script) as server:
        yield server


def section_of(server: ApiServer, tmp_path: Path, **more) -> dict:
    """The suite's section: three images, two targets, a further model and a labeller."""
    folder = tmp_path / "photos"
    folder.mkdir(exist_ok=True)
    for name, color in COLORS.items():
        pixels = np.full((32, 32, 3), color, np.uint8)
        PILImage.fromarray(pixels).save(folder / f"{name}.png")

    def model(name: str) -> dict:
        return {"model": f"api:{server.url}#{name}", "options": FAST}

    return {
        "sets": {"photos": {"source": "folder", "images": str(folder)}},
        "panels": {"two": {"strong": model("strong"), "targets": [model("good"), model("always")]}},
        "models": [model("good-too")],
        "labeller": model("chat"),
        "questions": 1,
        "negatives": 2,
        "shard_size": 2,
        **more,
    }


def context_of(server: ApiServer, tmp_path: Path, **more) -> Context:
    suite = small_suite(conme=section_of(server, tmp_path, **more))
    return Context(suite, Store(tmp_path / "store", suite.name), LocalEngine(1))


def converse(context: Context) -> None:
    spine.show_conme(context, "photos")
    spine.converse(context, WHERE)


def test_the_tables_follow_from_what_the_models_see(server, tmp_path) -> None:
    context = context_of(server, tmp_path)
    converse(context)
    models = models_of(context.suite, WHERE)
    slugs = {name.rsplit("-stand", 1)[0]: name for name in models}
    assert len(slugs) == 4
    choices = {slug: conme_evaluation.build(context, WHERE, slug) for slug in models}
    conme_self_check.build(context, WHERE)
    conme_labels.build(context, WHERE)
    rows = conme_results.build(context).read().to_pylist()

    def found(name: str, reading: str, stage: str) -> dict:
        (slug,) = [slug for slug, one in models.items() if one.model.endswith(f"#{name}")]
        return next(
            r for r in rows if (r["model"], r["reading"], r["stage"]) == (slug, reading, stage)
        )

    # Three images with one question of two wrong answers in each round: six samples. The model
    # that always says A is right in both orders of none, so that all are kept.
    for stage in ("round_1", "round_1_kept", "round_2", "round_2_kept"):
        for reading in ("generate", "letter", "vqa"):
            good, always = (found(name, reading, stage) for name in ("good", "always"))
            assert (good["n"], good["accuracy"], good["both"], good["order_effect"]) == (6, 1, 1, 0)
            if reading != "vqa":
                assert (always["accuracy"], always["both"], always["order_effect"]) == (0.5, 0, 1)
                assert always["first"] == (1 if reading == "generate" else 0)
    parts = {one["model"]: one["part"] for one in rows}
    assert sorted(parts.values()) == ["strong", "target", "target", "unseen"]
    assert found("good", "generate", "source")["n"] == 0
    assert found("good", "generate", "source")["accuracy"] is None
    # Filtered by the other alone: all are kept for "good", none for "always".
    assert found("good", "generate", "round_2_kept")["without_n"] == 6
    assert found("always", "generate", "round_2_kept")["without"] is None
    details = json.loads(found("always", "generate", "round_2_kept")["details"])
    assert details["images"] == 3
    assert details["self_check"]["n"] == 6
    assert details["self_check"]["passed"]["clear"]["value"] == pytest.approx(4 / 6)
    assert details["categories"]["topics"]["shares"]["color"] == 1
    assert details["categories"]["topics"]["errors"]["color"]["rate"] == 0.5
    assert details["categories"]["formats"]["errors"]["selective"]["n"] == 6
    # Letters of generate and of likelihood are opposite for "always": the same choice nowhere.
    assert details["agreement"]["generate and letter"]["same"] == 0
    summaries = [one.summary for one in choices.values()]
    assert all(one["not_possible"] == ["text"] and one["usage"]["answers"] for one in summaries)


def test_what_targets_said_in_the_rounds_is_not_asked_again(server, tmp_path) -> None:
    context = context_of(server, tmp_path, modes=["generate"])
    converse(context)
    slugs = list(models_of(context.suite, WHERE))
    before = server.count
    conme_evaluation.build(context, WHERE, slugs[0])
    assert server.count == before
    conme_evaluation.build(context, WHERE, slugs[-1])  # has not been asked: two rounds
    assert server.count == before + 2 * 12
    conme_evaluation.build(context, WHERE, slugs[-1])
    assert server.count == before + 2 * 12


def test_a_model_that_can_not_do_a_mode_is_recorded_as_such(server, tmp_path) -> None:
    context = context_of(server, tmp_path, modes=["text"])
    converse(context)
    artifact = conme_evaluation.build(context, WHERE, next(iter(models_of(context.suite, WHERE))))
    assert artifact.summary["not_possible"] == ["text"]
    assert len(artifact.read()) == 0
    assert len(conme_results.build(context).read()) == 0


def test_without_a_labeller_nothing_is_labelled(server, tmp_path) -> None:
    context = context_of(server, tmp_path, labeller=None)
    converse(context)
    assert conme_labels.build(context, WHERE).summary["labeller"] == "none"


def test_people_verify_the_final_set_and_the_page_shows_all(server, tmp_path) -> None:
    context = context_of(server, tmp_path)
    converse(context)
    for slug in models_of(context.suite, WHERE):
        conme_evaluation.build(context, WHERE, slug)
    conme_self_check.build(context, WHERE)
    conme_labels.build(context, WHERE)
    conme_results.build(context)
    out = tmp_path / "tasks.json"
    assert conme_verification.export(context, WHERE, 4, 0, out) == 4
    assert out.with_suffix(".xml").read_text().count("<Choices") == 3
    tasks = json.loads(out.read_text())
    assert tasks[0]["data"]["image"].startswith("data:image/png;base64,")
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps([labelled(task, wrong=i == 1) for i, task in enumerate(tasks)]))
    found = conme_verification.read(context, WHERE, labels)
    assert (found.verified.n, found.verified.error_rate.value) == (4, 0.25)
    assert found.found.faults == {"answer": 0, "negative": 0, "clear": 1}
    good = next(pair for name, pair in found.verified.accuracy.items() if "good" in name)
    assert good[1] is not None
    assert (good[0].n, good[1].n, good[1].accuracy.value) == (6, 3, 1)

    artifact = conme_report.build(context)
    (page,) = artifact.read().to_pylist()
    html = page["html"]
    assert "People found 25.0% of 4 samples wrong" in html
    assert "question clear 66.7%" in html
    assert "What color is wall 2?" in html and "Missed by" in html
    assert html.count('<svg class="chart"') == 2
    assert "Iteration 2, filtered" in html and "unseen" in html
    assert Path(conme_report.export(context, artifact)).read_text() == html
    assert conme_report.build(context).digest == artifact.digest


def labelled(task: dict, wrong: bool) -> dict:
    """A task as Label Studio exports it, with the answers of one person."""
    given = {"answer": "yes", "negative": "yes", "clear": "no" if wrong else "yes"}
    result = [
        {"from_name": name, "type": "choices", "value": {"choices": [said]}}
        for name, said in given.items()
    ]
    return {"data": task["data"], "annotations": [{"completed_by": 1, "result": result}]}


def test_a_suite_that_nobody_evaluated_has_a_page_that_says_so(server, tmp_path) -> None:
    context = context_of(server, tmp_path)
    converse(context)
    conme_results.build(context)
    (page,) = conme_report.build(context).read().to_pylist()
    assert "No model has been evaluated yet" in page["html"]


def test_the_commands_evaluate_label_report_and_verify(
    server, tmp_path, monkeypatch, capsys
) -> None:
    section = section_of(server, tmp_path)
    monkeypatch.setenv("BINDBENCH_WORKERS", "1")
    monkeypatch.setenv("COLUMNS", "200")
    file = tmp_path / "small.yaml"
    fields = {"name": "small", "benchmarks": ["color-n2"], "concepts": 8, "conme": section}
    file.write_text(yaml.safe_dump(fields))

    def call(*arguments: str) -> tuple[int, str, str]:
        where = ("--suite", str(file), "--store", str(tmp_path / "store"))
        monkeypatch.setattr(sys, "argv", ["bindbench", "conme", *arguments, *where])
        with pytest.raises(SystemExit) as caught:
            main()
        out, err = capsys.readouterr()
        return int(caught.value.code or 0), out, " ".join(err.split())

    code, _, said = call("evaluate")
    assert code == 2 and "is still to be held: run bindbench conme run" in said
    converse(context_of(server, tmp_path))
    code, out, _ = call("evaluate", "--json")
    rows = json.loads(out)
    assert code == 0 and len(rows) == 4 * 4  # models and modes
    seeing = [row for row in rows if "good" in row["model"] and row["reading"] != "blind"]
    assert len(seeing) == 2 * 3 and all(row["accuracy"] == 1 for row in seeing)
    # Gray is nearest to green: right on that wall's two samples, and on those that offer green.
    blind = [row for row in rows if "good" in row["model"] and row["reading"] == "blind"]
    assert all(row["accuracy"] < 1 for row in blind)
    options = [part for k, v in FAST.items() for part in ("--option", f"{k}={v}")]
    model = ("--model", f"api:{server.url}#another", *options)
    code, out, _ = call("evaluate", "--json", "--cell", WHERE, *model)
    assert [row["both"] for row in json.loads(out) if row["reading"] == "generate"] == [1]
    code, _, said = call("evaluate", "--cell", "photo--two")
    assert code == 2 and "did you mean photos--two" in said
    code, out, _ = call("taxonomy")
    assert code == 0 and "photos--two, topics: color 6" in out
    code, out, _ = call("report")
    assert code == 0 and "Figure 3" in Path(out.strip()).read_text()
    tasks = tmp_path / "tasks.json"
    code, out, _ = call("verify", "export", "--cell", WHERE, "--out", str(tasks), "--size", "3")
    assert code == 0 and out.startswith("3 tasks")
    given = [labelled(task, wrong=False) for task in json.loads(tasks.read_text())]
    (tmp_path / "labels.json").write_text(json.dumps(given))
    told = ("--cell", WHERE, "--labels", str(tmp_path / "labels.json"))
    code, out, _ = call("verify", "import", *told)
    assert code == 0 and out.startswith("3 samples judged, 0.0% of them wrong (0.0% to ")
