"""mlcroissant reads an exported dataset. Run by its own interpreter.

Prints JSON: the errors that it finds, and the first record of each record set.
"""

import json
import sys

import mlcroissant


def shown(value):
    if isinstance(value, bytes):
        return value.decode()
    if hasattr(value, "size") and hasattr(value, "mode"):  # a picture
        return list(value.size)
    return (
        [shown(one) for one in value]
        if isinstance(value, list) or hasattr(value, "shape")
        else value
    )


dataset = mlcroissant.Dataset(f"{sys.argv[1]}/croissant.json")  # raises where it is not valid
found = {"errors": sorted(dataset.metadata.issues.errors), "records": {}}
for record_set in dataset.metadata.record_sets:
    record = next(iter(dataset.records(record_set.uuid)))
    found["records"][record_set.uuid] = {
        name.rpartition("/")[2]: shown(value) for name, value in record.items()
    }
print(json.dumps(found))
