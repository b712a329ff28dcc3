"""A recipe of docs/storage.md: Dagster's records were lost, the store was not."""

import os
from pathlib import Path

from dagster import AssetKey, DagsterInstance


def test_lost_records_are_made_anew_without_computing(defs):
    root = Path(os.environ["BINDBENCH_STORE"])
    versions, files = [], []
    for _ in range(2):
        with DagsterInstance.ephemeral() as instance:
            job = defs.resolve_job_def("list_words")
            assert job.execute_in_process(instance=instance).success
            (record,) = instance.fetch_materializations(AssetKey("vocabulary"), limit=9).records
            versions.append(record.asset_materialization.tags["dagster/data_version"])
            found = (root / "tiny" / "vocabulary").rglob("*")
            files.append({path: path.stat().st_mtime_ns for path in found if path.is_file()})
    assert versions[0] == versions[1]
    assert files[0] == files[1] and files[0]
