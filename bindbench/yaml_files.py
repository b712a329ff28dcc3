"""YAML files: safe, and a key that is given twice is an error, not a silent last one."""

from collections.abc import Hashable
from typing import Any

import yaml


class _UniqueKeys(yaml.SafeLoader):
    """A safe loader that refuses duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return the mapping of a node, or raise a YAMLError at the second of two equal keys."""
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable):
                if key in seen:
                    problem = f"the key {key!r} is given twice"
                    raise yaml.constructor.ConstructorError(
                        None, None, problem, key_node.start_mark
                    )
                seen.add(key)
        return super().construct_mapping(node, deep)


def parse_yaml(text: str) -> Any:
    """Return the value of a YAML text.

    Raises:
        yaml.YAMLError: it is not YAML, holds an unsafe tag, or gives a key twice.
    """
    return yaml.load(text, Loader=_UniqueKeys)
