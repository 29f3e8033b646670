"""Tables with files as other writers leave them: without field ids, with some, with others."""

from __future__ import annotations

import io
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from floeberg.api.catalog import Catalog
from floeberg.api.table import Table
from floeberg.commit.append import Append
from floeberg.spec.snapshots.manifest_entry import DataFile, FileFormat
from floeberg.storage.location import join

FORMATS = (FileFormat.PARQUET, FileFormat.ORC, FileFormat.AVRO)


def with_id(field: pa.Field, field_id: int) -> pa.Field:
    return field.with_metadata({b"PARQUET:field_id": str(field_id).encode(), b"iceberg.id": str(field_id).encode()})


def file_bytes(rows: pa.Table, file_format: FileFormat) -> bytes:
    """The rows as a plain writer writes them; Avro without any ids."""
    out = io.BytesIO()
    if file_format is FileFormat.PARQUET:
        pq.write_table(rows, out)
    elif file_format is FileFormat.ORC:
        orc.write_table(rows, out)
    else:
        schema = {
            "type": "record",
            "name": "row",
            "fields": [{"name": f.name, "type": ["null", _avro(f.type, f.name)]} for f in rows.schema],
        }
        fastavro.writer(out, schema, [_avro_row(row, rows.schema) for row in rows.to_pylist()])
    return out.getvalue()


def _avro(kind: pa.DataType, name: str) -> Any:
    if pa.types.is_struct(kind):
        fields = [{"name": f.name, "type": ["null", _avro(f.type, f"{name}_{f.name}")]} for f in kind]
        return {"type": "record", "name": f"record_{name}", "fields": fields}
    if pa.types.is_map(kind):
        pair = [
            {"name": "key", "type": _avro(kind.key_type, f"{name}_key")},
            {"name": "value", "type": ["null", _avro(kind.item_type, f"{name}_value")]},
        ]
        items = {"type": "record", "name": f"pair_{name}", "fields": pair}
        return {"type": "array", "logicalType": "map", "items": items}
    if pa.types.is_list(kind):
        return {"type": "array", "items": ["null", _avro(kind.value_type, f"{name}_item")]}
    return {"int64": "long", "int32": "int", "string": "string", "double": "double", "bool": "boolean"}[str(kind)]


def _avro_row(value: Any, kind: Any) -> Any:
    if value is None:
        return None
    if isinstance(kind, pa.Schema) or pa.types.is_struct(kind):
        return {field.name: _avro_row(value[field.name], field.type) for field in kind}
    if pa.types.is_map(kind):
        return [{"key": _avro_row(k, kind.key_type), "value": _avro_row(v, kind.item_type)} for k, v in value]
    if pa.types.is_list(kind):
        return [_avro_row(item, kind.value_type) for item in value]
    return value


def add_file(
    table: Table, rows: pa.Table, file_format: FileFormat = FileFormat.PARQUET, name: str = "part-0"
) -> DataFile:
    """Commits a file that another writer wrote."""
    location = join(table.metadata.location, f"data/{name}.{file_format}")
    data = file_bytes(rows, file_format)
    table._pointer.store_for(location).write(location, data)
    file = DataFile(
        file_path=location,
        file_format=file_format,
        record_count=rows.num_rows,
        file_size_in_bytes=len(data),
        spec_id=table.metadata.default_spec_id,
    )
    table._commit(Append(files=[file]))
    return file


def foreign_table(lake: Catalog, schema: str, rows: pa.Table, file_format: FileFormat = FileFormat.PARQUET) -> Table:
    table = lake.create_table("db.t", schema)
    add_file(table, rows, file_format)
    return table
