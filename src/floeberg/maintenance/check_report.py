"""What a check found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from floeberg.effects.leniencies import Tolerated


class Severity(StrEnum):
    """An error loses rows, shows wrong ones or stops a reader; a warning is waste or doubt."""

    ERROR = "error"
    WARNING = "warning"


class Problem(StrEnum):
    """What is wrong with a file or with what the metadata say of it."""

    MISSING_FILE = "missing-file"
    WRONG_SIZE = "wrong-size"
    UNREADABLE = "unreadable"
    WRONG_COUNT = "wrong-count"
    WRONG_BOUNDS = "wrong-bounds"
    DUPLICATE_FILE = "duplicate-file"
    DUPLICATE_ROW_IDS = "duplicate-row-ids"
    DANGLING_DELETE = "dangling-delete"
    PARTLY_DANGLING_DELETE = "partly-dangling-delete"
    BAD_DELETE = "bad-delete"
    ORPHANED_STATISTICS = "orphaned-statistics"
    ENCRYPTED = "encrypted"
    LENIENCY = "leniency"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it should be; `location` is the file it is about, with `content_offset` the deletion vector
    in it."""

    severity: Severity
    problem: Problem
    location: str
    message: str
    content_offset: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """What was looked at, and what is wrong with it. Nothing was changed."""

    table: str
    findings: tuple[Finding, ...]
    snapshots: int
    manifests: int
    data_files: int
    delete_files: int

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity is Severity.WARNING)

    @property
    def ok(self) -> bool:
        """No error; there may be warnings."""
        return not self.errors

    def __str__(self) -> str:
        looked = f"{self.snapshots} snapshots, {self.manifests} manifests, {self.data_files} data files"
        looked += f", {self.delete_files} delete files"
        return f"{self.table}: {looked}: {len(self.errors)} errors, {len(self.warnings)} warnings"


@dataclass(slots=True)
class Findings:
    """Gathers findings; the same one is kept once. `content_offset` is that of the deletion vector they are about."""

    found: dict[Finding, None] = field(default_factory=dict)
    counted: Counter[str] = field(default_factory=Counter)
    content_offset: int | None = None

    def error(self, problem: Problem, location: str, message: str) -> None:
        self._add(Severity.ERROR, problem, location, message)

    def warn(self, problem: Problem, location: str, message: str) -> None:
        self._add(Severity.WARNING, problem, location, message)

    def _add(self, severity: Severity, problem: Problem, location: str, message: str) -> None:
        found = Finding(
            severity=severity,
            problem=problem,
            location=location,
            message=message,
            content_offset=self.content_offset,
        )
        self.found[found] = None

    def tolerated(self, leniencies: Iterable[Tolerated]) -> None:
        """What is read although it is not as the specification says."""
        for found in leniencies:
            self.warn(Problem.LENIENCY, found.location, f"{found.message} ({found.leniency})")

    def add_all(self, findings: Findings) -> None:
        self.found.update(findings.found)

    def report(self, table: str) -> CheckReport:
        return CheckReport(
            table=table,
            findings=tuple(self.found),
            snapshots=self.counted["snapshots"],
            manifests=self.counted["manifests"],
            data_files=self.counted["data_files"],
            delete_files=self.counted["delete_files"],
        )
