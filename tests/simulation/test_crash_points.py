"""Every kind of change, and a writer that dies or a call that fails at every point of it, on both kinds of catalog."""

from __future__ import annotations

import pytest

from floeberg.testing.crashes import crash_everywhere, fail_everywhere, quiet_setting
from floeberg.testing.decoding import decoded_once
from floeberg.testing.faults import Fault
from floeberg.testing.sim_catalogs import FILESYSTEM, ROWS
from floeberg.testing.workload import PLANS


def setting(catalog: str, kind: str, **other: object):
    version = 2 if kind == "upgrade" else 3
    return quiet_setting(catalog, version, evolves_spec=kind == "evolve_spec", **other)


@pytest.mark.parametrize("catalog", [FILESYSTEM, ROWS])
@pytest.mark.parametrize("kind", PLANS)
def test_a_writer_may_die_at_any_point(kind, catalog):
    with decoded_once():
        crashes = crash_everywhere(kind, setting(catalog, kind))
    assert crashes.tried >= 8
    assert 0 < crashes.took_effect < crashes.tried, "some points come before the change takes effect, some after"


@pytest.mark.parametrize("catalog", [FILESYSTEM, ROWS])
@pytest.mark.parametrize("kind", ["row_delta", "delete_files", "transaction"])
def test_a_writer_of_version_2_may_die_at_any_point(kind, catalog):
    with decoded_once():
        crash_everywhere(kind, quiet_setting(catalog, 2, keeps_versions=1))


@pytest.mark.parametrize("catalog", [FILESYSTEM, ROWS])
@pytest.mark.parametrize("fault", [Fault.ERROR_BEFORE, Fault.ERROR_AFTER, Fault.LATE, Fault.REFUSED])
@pytest.mark.parametrize(
    "kind", ["merge_append", "overwrite_files", "row_delta", "rewrite_files", "transaction", "properties"]
)
def test_any_call_may_fail_and_the_writer_is_told_the_truth(kind, fault, catalog):
    with decoded_once():
        assert fail_everywhere(kind, setting(catalog, kind, keeps_versions=1), fault).tried > 3
