"""Croissant 1.0 metadata (mlcommons.org/croissant): files with their sha256, and record sets."""

import json
from collections.abc import Sequence
from typing import Any

from bindbench.exporting.card import splits
from bindbench.exporting.data_files import DataFile
from bindbench.exporting.items import Exported

CONFORMS = "http://mlcommons.org/croissant/1.0"
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_LISTS = {
    "objects": "What the picture shows, in the order of the caption.",
    "labels": "Its attributes or relations.",
    "candidates": "All captions, the right one first.",
    "semantics": "Of each candidate: true, false or undecided.",
    "reasons": "Of each candidate: why.",
    "families": "Of each candidate: its kind.",
}
_TEXTS = {
    "id": "The concept and the track.",
    "concept_id": "The concept.",
    "scene_id": "The scene, which replicates share.",
    "caption": "The right caption.",
}


def croissant(suite: Exported, files: Sequence[DataFile]) -> str:
    """Return the metadata as JSON."""
    name = suite.suite.name
    found = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS,
        "name": name,
        "description": f"A compositional-binding benchmark, made by BindBench from suite {name}.",
        "distribution": [_file(file) for file in files],
        "recordSet": [_records(file) for own in splits(files).values() for file in own],
    }
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _file(file: DataFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path,
        "contentUrl": file.path,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": "application/x-parquet",
        "sha256": file.sha256,
    }


def _records(file: DataFile) -> dict[str, Any]:
    name = file.path.removeprefix("data/").removesuffix(".parquet")
    image = _field(name, file, "image", "sc:ImageObject", "The picture.")
    image["source"]["extract"]["column"] = "image"
    image["source"]["transform"] = {"jsonPath": "bytes"}
    texts = [_field(name, file, column, "sc:Text", said) for column, said in _TEXTS.items()]
    lists = [
        _field(name, file, column, "sc:Text", said) | {"repeated": True}
        for column, said in _LISTS.items()
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"{file.rows} images of {file.benchmark}, track {file.split}.",
        "field": [image, *texts, *lists],
    }


def _field(record: str, file: DataFile, column: str, kind: str, said: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{record}/{column}",
        "name": f"{record}/{column}",
        "description": said,
        "dataType": kind,
        "source": {"fileObject": {"@id": file.path}, "extract": {"column": column}},
    }
