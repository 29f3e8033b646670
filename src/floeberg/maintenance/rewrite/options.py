"""The options of rewriting data files, under the reference's names and with its defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from floeberg.arrow.formats.write_properties import write_properties
from floeberg.errors import InvalidInput
from floeberg.spec.metadata.table_metadata import TableMetadata

_MIN_RATIO: Final = 0.75
_MAX_RATIO: Final = 1.8
_NO_LIMIT: Final = 2**31 - 1
_LARGE_GROUP_BYTES: Final = 100 << 30


class JobOrder(StrEnum):
    """Which groups are rewritten first: `rewrite-job-order`."""

    NONE = "none"
    BYTES_ASC = "bytes-asc"
    BYTES_DESC = "bytes-desc"
    FILES_ASC = "files-asc"
    FILES_DESC = "files-desc"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSizes:
    """How large new files become, and which existing ones are neither too small nor too large."""

    target_bytes: int
    min_bytes: int
    max_bytes: int

    def __post_init__(self) -> None:
        if self.target_bytes <= 0 or self.min_bytes < 0:
            raise InvalidInput(
                f"target-file-size-bytes must be positive and min-file-size-bytes not negative, not {self.target_bytes} "
                f"and {self.min_bytes}"
            )
        if not self.min_bytes < self.target_bytes < self.max_bytes:
            raise InvalidInput(
                f"target-file-size-bytes ({self.target_bytes}) must be greater than min-file-size-bytes ({self.min_bytes}) "
                f"and less than max-file-size-bytes ({self.max_bytes})"
            )

    def fit(self, size_bytes: int) -> bool:
        """Whether a file of that size is as large as it should be."""
        return self.min_bytes <= size_bytes <= self.max_bytes

    def file_count(self, input_bytes: int) -> int:
        """How many files an input becomes: rather files somewhat above the target than one far below it."""
        whole, rest = divmod(input_bytes, self.target_bytes)
        if whole == 0:
            return 1
        spread = input_bytes / whole
        fits = rest <= self.min_bytes and spread < min(1.1 * self.target_bytes, self._most_bytes)
        return whole if fits or rest == 0 else whole + 1

    def roll_bytes(self, input_bytes: int) -> int:
        """The size at which a new file ends, so that a small rest of the input makes no file of its own."""
        even = -(-input_bytes // self.file_count(input_bytes))
        return min(self._most_bytes, max(self.target_bytes, even + even // 10))

    @property
    def _most_bytes(self) -> int:
        return self.target_bytes + (self.max_bytes - self.target_bytes) // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteOptions:
    """Which data files are rewritten and how their groups are committed."""

    sizes: FileSizes
    output_spec_id: int
    min_input_files: int = 5
    rewrite_all: bool = False
    max_file_group_bytes: int = _LARGE_GROUP_BYTES
    max_files_to_rewrite: int | None = None
    delete_file_threshold: int = _NO_LIMIT
    delete_ratio_threshold: float = 0.3
    partial_progress: bool = False
    max_commits: int = 10
    max_failed_commits: int = 10
    use_starting_sequence_number: bool = True
    remove_dangling_deletes: bool = False
    job_order: JobOrder = JobOrder.NONE
    max_concurrent_groups: int = 5
    compression_factor: float = 1.0
    shuffle_partitions_per_file: int = 1
    variable_length_bytes: int = 8
    """How many bytes of a string or binary value take part in a z-order value."""

    @classmethod
    def of(cls, metadata: TableMetadata, options: Mapping[str, str]) -> RewriteOptions:
        """The options laid over the table's properties. Raises InvalidInput for one that is unknown or makes no sense."""
        reader = OptionReader("rewrite_data_files", options)
        target = write_properties(metadata.properties).target_file_bytes
        spec_id = reader.integer("output-spec-id", metadata.default_spec_id)
        parsed = cls(
            sizes=reader.sizes(target),
            output_spec_id=metadata.spec(spec_id).spec_id,
            min_input_files=reader.integer("min-input-files", 5, least=1),
            rewrite_all=reader.flag("rewrite-all"),
            max_file_group_bytes=reader.integer("max-file-group-size-bytes", _LARGE_GROUP_BYTES, least=1),
            max_files_to_rewrite=reader.optional("max-files-to-rewrite", least=1),
            delete_file_threshold=reader.integer("delete-file-threshold", _NO_LIMIT),
            delete_ratio_threshold=reader.ratio("delete-ratio-threshold", 0.3),
            partial_progress=reader.flag("partial-progress.enabled"),
            max_commits=reader.integer("partial-progress.max-commits", 10, least=1),
            max_failed_commits=reader.integer("partial-progress.max-failed-commits", 10),
            use_starting_sequence_number=reader.flag("use-starting-sequence-number", "true"),
            remove_dangling_deletes=reader.flag("remove-dangling-deletes"),
            job_order=JobOrder(reader.choice("rewrite-job-order", JobOrder.NONE, tuple(JobOrder))),
            max_concurrent_groups=reader.integer("max-concurrent-file-group-rewrites", 5, least=1),
            compression_factor=reader.number("compression-factor", 1.0),
            shuffle_partitions_per_file=reader.integer("shuffle-partitions-per-file", 1, least=1),
            variable_length_bytes=reader.integer("var-length-contribution", 8, least=1),
        )
        reader.optional("max-output-size", least=1)  # the reference's bound of a z-order value, which needs none here
        reader.finish()
        return parsed


class OptionReader:
    """Options of a procedure by name; what is not asked for is unknown."""

    def __init__(self, procedure: str, options: Mapping[str, str]) -> None:
        self._procedure = procedure
        self._given = dict(options)
        self._known: list[str] = []

    def integer(self, name: str, default: int, *, least: int = 0) -> int:
        found = self.optional(name, least=least)
        return default if found is None else found

    def optional(self, name: str, *, least: int = 0) -> int | None:
        text = self._text(name)
        if text is None:
            return None
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise InvalidInput(
                f"{self._procedure}: option {name} is a whole number of at least {least}, not {text!r:.60}"
            )
        return int(text)

    def number(self, name: str, default: float) -> float:
        text = self._text(name)
        try:
            value = default if text is None else float(text)
        except ValueError:
            value = 0.0
        if not value > 0:
            raise InvalidInput(f"{self._procedure}: option {name} is a positive number, not {text!r:.60}")
        return value

    def ratio(self, name: str, default: float) -> float:
        value = self.number(name, default)
        if value > 1:
            raise InvalidInput(f"{self._procedure}: option {name} is more than 0 and at most 1, not {value}")
        return value

    def flag(self, name: str, default: str = "false") -> bool:
        return self.choice(name, default, ("true", "false")) == "true"

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        text = (self._text(name) or default).lower()
        if text not in choices:
            raise InvalidInput(f"{self._procedure}: option {name} is one of {', '.join(choices)}, not {text!r:.60}")
        return text

    def sizes(self, target_bytes: int) -> FileSizes:
        target = self.integer("target-file-size-bytes", target_bytes, least=1)
        return FileSizes(
            target_bytes=target,
            min_bytes=self.integer("min-file-size-bytes", int(target * _MIN_RATIO)),
            max_bytes=self.integer("max-file-size-bytes", max(target + 1, int(target * _MAX_RATIO)), least=1),
        )

    def finish(self) -> None:
        """Raises InvalidInput for options that nobody asked for."""
        if self._given:
            known = ", ".join(sorted(self._known))
            raise InvalidInput(f"{self._procedure}: unknown option {min(self._given)!r:.60}; known are {known}")

    def _text(self, name: str) -> str | None:
        self._known.append(name)
        return self._given.pop(name, None)
