import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import trimesh

from bindbench.errors import UserError
from bindbench.rendering import meshes, solids
from bindbench.rendering.meshes import mesh_of, similarity
from bindbench.vocabulary import Noun

CUBE = Noun(name="cube", primitive="cube")
SPHERE = Noun(name="sphere", primitive="sphere")
CUP = Noun(name="cup", icon="cup")


def test_the_file_holds_the_solid():
    loaded = trimesh.load(mesh_of(CUP).path, process=False)
    solid = solids.icon("cup")
    assert np.allclose(loaded.vertices, solid.vertices, atol=1e-6)
    assert (np.asarray(loaded.faces) == solid.faces).all()


def test_silhouettes_solidity_and_centroids():
    cube, sphere, cup = mesh_of(CUBE), mesh_of(SPHERE), mesh_of(CUP)
    assert cube.silhouette.mean() > 0.95
    assert sphere.silhouette.mean() == pytest.approx(np.pi / 4, abs=0.02)
    assert sphere.solidity(10.0) > 0.96
    assert cup.solidity(0.0) < 0.95  # the handle
    assert sphere.centroid == pytest.approx((0, 0.5), abs=0.02)
    assert cup.centroid[1] == pytest.approx(0.5, abs=0.1)


def test_similarity_is_symmetric_and_ignores_mirroring():
    guitar, chair = Noun(name="guitar", icon="guitar-acoustic"), Noun(name="c", icon="stool")
    a, b = mesh_of(guitar), mesh_of(chair)
    assert similarity(a, a) == 1
    assert similarity(a, b) == similarity(b, a) < 0.7
    # a circle covers pi/4 of a square
    assert similarity(mesh_of(CUBE), mesh_of(SPHERE)) == pytest.approx(np.pi / 4, abs=0.04)


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(UserError, match="'carpet' can't be drawn"):
        mesh_of(Noun(name="carpet"))


def test_a_cache_that_cannot_be_made_is_said(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(UserError, match="XDG_CACHE_HOME"):
        meshes.cache_folder()


def test_processes_build_the_same_files_side_by_side(tmp_path):
    code = (
        "import sys; from bindbench.rendering.meshes import mesh_of;"
        "from bindbench.vocabulary import Noun;"
        "mesh_of(Noun(name='cup', icon='cup'));"
        "assert 'qtawesome' not in sys.modules and 'mitsuba' not in sys.modules"
    )
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    root = Path(meshes.__file__).parents[2]
    runs = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, cwd=root) for _ in range(2)
    ]
    assert [run.wait() for run in runs] == [0, 0]
    files = sorted(p.name for p in (tmp_path / "bindbench" / "meshes").iterdir())
    assert len(files) == 2  # no temporary files are left
    here = mesh_of(CUP)
    assert files[1] == here.path.name
    there = tmp_path / "bindbench" / "meshes" / files[1]
    assert there.read_bytes() == here.path.read_bytes()
