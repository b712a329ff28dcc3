"""The deployment examples: valid for their tools, reachable from this machine only, no secrets."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from bindbench.engine.choice import open_engine

PROJECT = Path(__file__).resolve().parents[2]
DEPLOY = PROJECT / "deploy"
COMPOSE = DEPLOY / "compose" / "compose.yaml"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))


def documents(path):
    return list(yaml.safe_load_all(path.read_text()))


def containers(document):
    """Return the containers of a Deployment or of a Ray cluster."""
    spec = document["spec"]
    templates = [spec["template"]] if "template" in spec else []
    if document["kind"] == "RayCluster":
        groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
        templates = [group["template"] for group in groups]
    return [c for template in templates for c in template["spec"]["containers"]]


def test_compose_is_valid(tmp_path):
    tool = shutil.which("docker-compose")
    if tool is None:
        pytest.skip("needs docker-compose (Debian's package)")
    environment = {**os.environ, "DAGSTER_POSTGRES_PASSWORD": "secret"}
    command = [tool, "-f", str(COMPOSE), "config", "--quiet"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stderr


def test_compose_refuses_to_start_without_a_password(tmp_path):
    tool = shutil.which("docker-compose")
    if tool is None:
        pytest.skip("needs docker-compose (Debian's package)")
    environment = {k: v for k, v in os.environ.items() if k != "DAGSTER_POSTGRES_PASSWORD"}
    command = [tool, "-f", str(COMPOSE), "config", "--quiet"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode != 0
    assert "DAGSTER_POSTGRES_PASSWORD" in run.stderr


def test_compose_publishes_on_this_machine_only():
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    assert set(services) == {"postgres", "code", "webserver", "daemon"}
    published = [port for service in services.values() for port in service.get("ports", [])]
    assert published == ["127.0.0.1:3000:3000"]


def test_the_workspace_names_the_service_of_the_code():
    (entry,) = yaml.safe_load((DEPLOY / "workspace.yaml").read_text())["load_from"]
    place = entry["grpc_server"]
    assert place["host"] in yaml.safe_load(COMPOSE.read_text())["services"]
    services = [d for path in MANIFESTS for d in documents(path) if d["kind"] == "Service"]
    ports = {s["metadata"]["name"]: s["spec"]["ports"][0]["port"] for s in services}
    assert ports[place["host"]] == place["port"]


def test_dagster_reads_the_instance(tmp_path, monkeypatch):
    from dagster._core.instance.config import dagster_instance_config

    shutil.copy(DEPLOY / "dagster.yaml", tmp_path)
    config, _ = dagster_instance_config(str(tmp_path))
    assert config["telemetry"] == {"enabled": False}
    assert config["storage"]["postgres"]["postgres_db"]["password"] == {
        "env": "DAGSTER_POSTGRES_PASSWORD"
    }


def test_every_variable_of_the_records_is_set():
    wanted = set(re.findall(r"env: (\w+)", (DEPLOY / "dagster.yaml").read_text()))
    assert len(wanted) == 4
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    for name in ("code", "webserver", "daemon"):
        assert wanted <= set(services[name]["environment"])
    plain = {k for p in MANIFESTS for d in documents(p) for k in d.get("data", {})}
    for path in MANIFESTS:
        for document in documents(path):
            for container in containers(document) if document["kind"] == "Deployment" else []:
                if container["image"] == "bindbench":
                    assert wanted <= plain | {entry["name"] for entry in container["env"]}


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_kubernetes_manifests_are_valid(path):
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    found = documents(path)
    assert found
    for document in found:
        if document["kind"] != "RayCluster":  # its schema comes with the KubeRay operator
            kubernetes_validate.validate(document, "1.33", strict=True)
            continue
        # The pods of a Ray cluster are ordinary ones.
        groups = [document["spec"]["headGroupSpec"], *document["spec"]["workerGroupSpecs"]]
        for group in groups:
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}}
            kubernetes_validate.validate(pod | group["template"], "1.33", strict=True)


def test_a_wrong_manifest_is_noticed():
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    (claim, *_) = documents(DEPLOY / "kubernetes" / "bindbench.yaml")
    claim["spec"]["acessModes"] = claim["spec"].pop("accessModes")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(claim, "1.33", strict=True)


def test_every_ray_worker_asks_for_a_gpu():
    (cluster,) = documents(DEPLOY / "kubernetes" / "ray.yaml")
    for group in cluster["spec"]["workerGroupSpecs"]:
        for container in group["template"]["spec"]["containers"]:
            resources = container["resources"]
            assert resources["requests"]["nvidia.com/gpu"] == "1"
            assert resources["limits"]["nvidia.com/gpu"] == "1"


def test_the_ray_cluster_and_its_driver_share_a_token():
    found = [
        c for path in MANIFESTS for d in documents(path) if _computes(d) for c in containers(d)
    ]
    assert [container["name"] for container in found] == ["code", "ray-head", "ray-worker"]
    for container in found:
        entries = {entry["name"]: entry for entry in container["env"]}
        assert entries["RAY_AUTH_MODE"]["value"] == "token"
        secret = entries["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"]
        assert secret == {"name": "bindbench-ray", "key": "token"}


def _computes(document):
    kind, name = document["kind"], document["metadata"]["name"]
    return kind == "RayCluster" or (kind, name) == ("Deployment", "code")


def test_every_part_sees_the_same_store():
    claims = {d["metadata"]["name"] for p in MANIFESTS for d in documents(p) if _is_claim(d)}
    assert "bindbench-store" in claims
    (cluster,) = documents(DEPLOY / "kubernetes" / "ray.yaml")
    for container in containers(cluster):
        assert {"name": "store", "mountPath": "/store"} in container["volumeMounts"]


def _is_claim(document):
    return document["kind"] == "PersistentVolumeClaim"


def test_the_engine_of_the_manifest_is_one():
    pytest.importorskip("ray")
    (config,) = [d for p in MANIFESTS for d in documents(p) if d["kind"] == "ConfigMap"]
    name = config["data"]["BINDBENCH_ENGINE"]
    assert type(open_engine(1, name)).__name__ == "RayEngine"
    (cluster,) = documents(DEPLOY / "kubernetes" / "ray.yaml")
    assert name == f"ray:{cluster['metadata']['name']}-head-svc:6379"  # as KubeRay names it


def test_no_secret_stands_in_a_file():
    for path in DEPLOY.rglob("*"):
        if not path.is_file():
            continue
        for line in path.read_text().splitlines():
            if found := re.match(r"\s*\w*PASSWORD\w*[:=]\s*(\S*)", line):
                assert found[1] == "" or found[1].startswith("${"), f"{path}: {line}"
