"""Tables as Parquet bytes: the same table gives the same bytes, and ``datasets`` can open them."""

import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])  # an image of `datasets`


def check_schema(found: pa.Schema, wanted: pa.Schema) -> None:
    """Raise a ValueError that says where a table's schema is not the declared one."""
    if found.equals(wanted, check_metadata=False):
        return
    extra = [name for name in found.names if name not in wanted.names]
    missing = [name for name in wanted.names if name not in found.names]
    different = [
        f"{name} is {found.field(name)} instead of {wanted.field(name)}"
        for name in wanted.names
        if name in found.names and found.field(name) != wanted.field(name)
    ]
    raise ValueError(
        f"the table does not have the declared schema: columns missing {missing}, extra {extra}, "
        f"different {different}, in the order {found.names}"
    )


def encode(table: pa.Table, schema: pa.Schema) -> bytes:
    """Return a table as a Parquet file of one row group, which depends on nothing but its rows.

    Raises:
        ValueError: the table does not have exactly this schema.
    """
    check_schema(table.schema, schema)
    # Chunks show in the file; so does metadata, such as that of pandas.
    whole = table.combine_chunks()
    whole = pa.Table.from_arrays(whole.columns, schema=schema.with_metadata(_metadata(schema)))
    sink = pa.BufferOutputStream()
    pq.write_table(
        whole,
        sink,
        row_group_size=max(1, whole.num_rows),
        version="2.6",
        data_page_version="1.0",
        compression="zstd",
        compression_level=3,
        use_dictionary=True,
        write_statistics=True,
        write_page_checksum=True,  # so that reading some columns notices damage in them
        store_schema=True,
    )
    return sink.getvalue().to_pybytes()


def decode(source: pa.NativeFile, columns: Sequence[str] | None = None) -> pa.Table:
    """Read an encoded table, or some of its columns in the order asked for.

    Raises:
        KeyError: there is no such column.
        OSError, pa.ArrowException: the bytes are damaged.
    """
    file = pq.ParquetFile(source, page_checksum_verification=True)
    if columns is None:
        return file.read().replace_schema_metadata(None)
    for name in columns:
        if name not in file.schema_arrow.names:
            raise KeyError(f"no column {name!r}: there are {file.schema_arrow.names}")
    return file.read(columns=list(columns)).select(list(columns)).replace_schema_metadata(None)


def _metadata(schema: pa.Schema) -> dict[bytes, bytes]:
    images = {field.name: {"_type": "Image"} for field in schema if field.type == IMAGE}
    if not images:
        return {}
    return {b"huggingface": json.dumps({"info": {"features": images}}, sort_keys=True).encode()}
