"""Small files that would become huge ones, decoded under a limit of memory. Prints `refused` for each."""

from __future__ import annotations

import gzip
import resource
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from pyroaring import BitMap64

from floeberg.errors import FormatError
from floeberg.files.avro_container import MAGIC, encode_long, write_container
from floeberg.files.compression import compress_avro_block, lz4_compress
from floeberg.files.deletion_vector import decode_positions, encode_deletion_vector
from floeberg.files.manifest_frame import decode_manifest
from floeberg.files.manifest_list import read_manifest_list
from floeberg.files.metadata_file import decode_metadata_file
from floeberg.files.puffin import Blob, read_blob, read_footer, write_puffin

ROOM = 640 * 1024 * 1024
MEBIBYTES = 300
SCHEMA = (
    b'{"type":"record","name":"m","fields":[{"name":"status","type":"int","field-id":0},{"name":"data_file","field-id":2,'
    b'"type":{"type":"record","name":"r2","fields":[{"name":"split_offsets","type":{"type":"array","items":"long"},'
    b'"field-id":132}]}}]}'
)
LIST = b'{"type":"record","name":"l","fields":[{"name":"manifest_path","type":"string","field-id":500}]}'


def _zeros(codec: str, mebibytes: int) -> bytes:
    return compress_avro_block(codec, bytes(mebibytes << 20), 1 if codec == "deflate" else None)


def _container(schema: bytes, codec: bytes, count: int, packed: bytes) -> bytes:
    """A container around a block that is compressed already."""
    pairs = {b"avro.schema": schema, b"avro.codec": codec}
    head = MAGIC + encode_long(2) + b"".join(encode_long(len(x)) + x for pair in pairs.items() for x in pair) + b"\x00"
    sync = bytes(range(16))
    return head + sync + encode_long(count) + encode_long(len(packed)) + packed + sync


def _runs() -> bytes:
    bitmap = BitMap64()
    bitmap.add_range(0, 1 << 34)
    return encode_deletion_vector(bitmap)


def _lying_lz4() -> bytes:
    frame = bytearray(lz4_compress(b"x" * 100))
    frame[6:14] = struct.pack("<Q", 2**50)
    return bytes(frame)


def _puffin(codec: str) -> Callable[[], object]:
    data = write_puffin([Blob(type="t", fields=(), data=bytes(MEBIBYTES << 20), compression_codec=codec)])
    return lambda: read_blob(data.data, data.footer.blobs[0])


def bombs() -> dict[str, Callable[[], object]]:
    """Made before the limit is set: making them takes what refusing them must not."""
    blocks = {
        codec: _container(SCHEMA, codec.encode(), 1000, _zeros(codec, MEBIBYTES))
        for codec in ("deflate", "snappy", "zstandard")
    }
    tail = _lying_lz4()
    footer = b"PFA1PFA1" + tail + struct.pack("<i", len(tail)) + b"\x01\x00\x00\x00PFA1"
    packed_list = _container(LIST, b"deflate", 1000, _zeros("deflate", MEBIBYTES))
    text = gzip.compress(b" " * (MEBIBYTES << 20), 1)
    items = write_container(SCHEMA, [(1, b"\x02" + encode_long(2**60) + bytes(10 << 20))], metadata={}, codec="deflate")
    runs = _runs()
    made: dict[str, Callable[[], object]] = {f"manifest {codec}": lambda data=data: decode_manifest(data) for codec, data in blocks.items()}  # fmt: skip
    return made | {
        "manifest list": lambda: read_manifest_list(packed_list),
        "array items": lambda: decode_manifest(items),
        "metadata": lambda: decode_metadata_file(text),
        "puffin lz4": _puffin("lz4"),
        "puffin zstd": _puffin("zstd"),
        "puffin footer": lambda: read_footer(footer),
        "runs": lambda: decode_positions(runs),
    }


def main() -> int:
    made = bombs()
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    held = int(status["VmSize"].split()[0]) * 1024
    resource.setrlimit(resource.RLIMIT_AS, (held + ROOM, held + ROOM))
    for name, decode in made.items():
        try:
            decode()
        except FormatError as error:
            print(f"refused {name}: {type(error).__name__} {str(error)[:80]}")
        else:
            print(f"NOT REFUSED {name}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
