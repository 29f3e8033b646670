"""create_changelog_view: https://iceberg.apache.org/docs/latest/spark-procedures/#create_changelog_view"""

from __future__ import annotations

from floeberg.errors import InvalidInput
from floeberg.scan.change_form import change_form
from floeberg.spark.host.calls.originals import original
from floeberg.spark.host.execution import Execution
from floeberg.spark.procedures.imports import Identify
from floeberg.spark.procedures.snapshots import Rows, Values
from floeberg.spark.read.changelog import changelog_frame
from floeberg.sql.text.cursor import parse_parts
from floeberg.sql.text.lexer import quote_name


def create_changelog_view(execution: Execution, identify: Identify, values: Values) -> Rows:
    """Makes the temporary view over the changes that the table has now, and gives its name. Raises InvalidInput."""
    session = execution.session
    identifier = identify(values["table"])
    table = session.load(identifier)
    view: str = values["changelog_view"] or quote_name(f"{identifier.name}_changes")
    parts = parse_parts(view)
    if len(parts) != 1:
        raise InvalidInput(f"create_changelog_view: {view} is no name of a temporary view, which has one part")
    form = change_form(
        table.state.metadata.current_schema,
        compute_updates=values["compute_updates"],
        identifier_columns=values["identifier_columns"],
        net_changes=bool(values["net_changes"]),
        case_sensitive=session.setting("spark.sql.caseSensitive", "false") == "true",
    )
    frame = changelog_frame(
        session.spark, table, options=values["options"] or {}, form=form, cache=session.state.manifests
    )
    original(frame, "createOrReplaceTempView")(view)
    session.forget_view(parts[0].lower())
    return [(view,)]
