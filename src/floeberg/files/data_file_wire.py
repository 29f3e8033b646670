"""A described data file as bytes, for its way from a worker to the driver: everything a manifest entry will hold."""

from __future__ import annotations

import msgspec

from floeberg.errors import DataFileCorrupt
from floeberg.spec.snapshots.manifest_entry import DataFile, FileContent, FileFormat
from floeberg.spec.types import StructType
from floeberg.spec.values.single_value import from_bytes, to_bytes

_NAMES = DataFile.__struct_fields__


def encode_data_file(file: DataFile, partition_type: StructType) -> bytes:
    """The file's description; partition values in single-value form, because their types do not survive otherwise."""
    plain = {name: getattr(file, name) for name in _NAMES}
    plain["content"] = int(file.content)
    plain["file_format"] = str(file.file_format)
    plain["partition"] = [
        None if value is None else to_bytes(member.type, value)
        for member, value in zip(partition_type.members, file.partition, strict=True)
    ]
    return msgspec.msgpack.encode(plain)


def decode_data_file(data: bytes, partition_type: StructType) -> DataFile:
    """The description again. Raises DataFileCorrupt when the bytes are not one."""
    try:
        plain = msgspec.msgpack.decode(data, type=dict[str, object])
        values = plain["partition"]
        assert isinstance(values, list)
        plain["partition"] = tuple(
            None if value is None else from_bytes(member.type, value)
            for member, value in zip(partition_type.members, values, strict=True)
        )
        plain["content"] = FileContent(plain["content"])  # type: ignore[arg-type]
        plain["file_format"] = FileFormat(plain["file_format"])  # type: ignore[arg-type]
        for name in ("split_offsets", "equality_ids"):
            listed = plain[name]
            plain[name] = tuple(listed) if isinstance(listed, list) else None
        return DataFile(**plain)  # type: ignore[arg-type]
    except (msgspec.MsgspecError, KeyError, ValueError, TypeError, AssertionError) as error:
        raise DataFileCorrupt(f"a worker described a file in a way that cannot be read: {error}") from error
