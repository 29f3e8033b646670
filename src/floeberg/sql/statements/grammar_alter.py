"""ALTER TABLE and ALTER VIEW, the Iceberg extensions included.

https://iceberg.apache.org/docs/latest/spark-ddl/#alter-table
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from floeberg.spec.partitions.sort_orders import SortTerm
from floeberg.spec.partitions.terms import PartitionTerm
from floeberg.sql.statements.grammar import NotOurs
from floeberg.sql.statements.grammar_refs import RefGrammar
from floeberg.sql.statements.session_statements import AlterViewAs
from floeberg.sql.statements.statements import (
    AddColumns,
    AddPartitionField,
    AlterColumns,
    ChangeIdentifierFields,
    ColumnChange,
    DropColumns,
    DropPartitionField,
    RenameColumn,
    RenameTable,
    ReplaceColumns,
    ReplacePartitionField,
    SetTableLocation,
    SetTableProperties,
    SetWriteOrder,
    Statement,
    UnsetTableProperties,
)
from floeberg.sql.text.lexer import Kind
from floeberg.sql.text.names import Name

_ACTIONS: Final = (
    "RENAME, SET, UNSET, ADD, DROP, REPLACE, ALTER COLUMN, ADD/DROP/REPLACE PARTITION FIELD, WRITE, "
    "SET/DROP IDENTIFIER FIELDS, CREATE/REPLACE/DROP BRANCH or TAG"
)
_PARTITIONS: Final = "a partition comes and goes with its data"


class AlterGrammar(RefGrammar):
    """ALTER TABLE and ALTER VIEW; the cursor is past ALTER."""

    def alter(self) -> Statement:
        cursor = self.cursor
        if cursor.accept("VIEW"):
            return self._view()
        if not cursor.accept("TABLE"):
            raise NotOurs
        table = self.table()
        statement = self._action(table)
        cursor.expect_end(hint="one ALTER TABLE makes one change")
        return statement

    def _action(self, table: Name) -> Statement:
        cursor = self.cursor
        match cursor.token.upper:
            case "RENAME":
                return self._rename(table, view=False)
            case "SET":
                return self._set(table)
            case "UNSET":
                return self._unset(table, view=False)
            case "ADD":
                return self._add(table)
            case "DROP":
                return self._drop(table)
            case "REPLACE":
                return self._replace(table)
            case "CREATE":
                return self.create_reference(table)
            case "ALTER" | "CHANGE":
                return self._alter_columns(table)
            case "WRITE":
                return self._write(table)
        if cursor.at_any("RECOVER", "PARTITION", "CLUSTER"):
            raise self.unsupported(f"ALTER TABLE … {cursor.token.upper} statements", _PARTITIONS)
        raise cursor.error("expected what to change", hint=f"ALTER TABLE knows {_ACTIONS}")

    def _rename(self, table: Name, *, view: bool) -> Statement:
        cursor = self.cursor
        cursor.expect("RENAME")
        if not view and cursor.accept("COLUMN"):
            path = cursor.multipart("a column's name").parts
            cursor.expect("TO")
            return RenameColumn(table, path, cursor.name("the column's new name"))
        if cursor.at("PARTITION"):
            raise self.unsupported("renamed partitions", _PARTITIONS)
        cursor.expect("TO", hint="RENAME TO new_name, or RENAME COLUMN a TO b")
        return RenameTable(table, cursor.multipart("the new name"), view)

    def _set(self, table: Name) -> Statement:
        cursor = self.cursor
        cursor.expect("SET")
        if cursor.accept("TBLPROPERTIES"):
            return SetTableProperties(table, self.properties())
        if cursor.accept("LOCATION"):
            return SetTableLocation(table, self.string("a location"))
        if cursor.accept("IDENTIFIER", "FIELDS"):
            return ChangeIdentifierFields(table, self.paths())
        raise cursor.error(
            "expected TBLPROPERTIES, LOCATION or IDENTIFIER FIELDS",
            hint="SET TBLPROPERTIES ('key' = 'value')",
        )

    def _unset(self, table: Name, *, view: bool) -> Statement:
        self.cursor.expect("UNSET", "TBLPROPERTIES", hint="UNSET TBLPROPERTIES [IF EXISTS] ('key')")
        if_exists = self.if_exists()
        return UnsetTableProperties(table, self.property_keys(), if_exists, view)

    def _add(self, table: Name) -> Statement:
        cursor = self.cursor
        cursor.expect("ADD")
        if cursor.accept("PARTITION", "FIELD"):
            return AddPartitionField(table, self._named(self.partition_term()))
        if cursor.at("PARTITION") or cursor.at("IF"):
            raise self.unsupported("ADD PARTITION statements", f"{_PARTITIONS}; ADD PARTITION FIELD changes the spec")
        if cursor.at_any("CONSTRAINT", "CHECK", "PRIMARY"):
            raise self.unsupported("table constraints", "leave them out")
        cursor.expect_any("COLUMN", "COLUMNS", hint="ADD COLUMN name TYPE, or ADD PARTITION FIELD transform")
        if_not_exists = self.if_not_exists()
        parenthesis = cursor.accept("(")
        columns = self.column_definitions(nested=True)
        if parenthesis:
            cursor.expect(")")
        return AddColumns(table, columns, if_not_exists)

    def _named(self, term: PartitionTerm) -> PartitionTerm:
        """The term with the name that AS gives."""
        if not self.cursor.accept("AS"):
            return term
        return replace(term, name=self.cursor.name("the partition field's name"))

    def _drop(self, table: Name) -> Statement:
        cursor = self.cursor
        cursor.expect("DROP")
        if cursor.at_any("BRANCH", "TAG"):
            return self.drop_reference(table)
        if cursor.accept("PARTITION", "FIELD"):
            return DropPartitionField(table, self.partition_term())
        if cursor.accept("IDENTIFIER", "FIELDS"):
            return ChangeIdentifierFields(table, self.paths(), drop=True)
        if cursor.at("PARTITION") or cursor.at("IF"):
            raise self.unsupported("DROP PARTITION statements", "DELETE FROM … WHERE removes a partition's rows")
        if cursor.at("CONSTRAINT"):
            raise self.unsupported("table constraints", "leave them out")
        cursor.expect_any("COLUMN", "COLUMNS", hint="DROP COLUMN, PARTITION FIELD, IDENTIFIER FIELDS, BRANCH or TAG")
        if_exists = self.if_exists()
        return DropColumns(table, self.paths(), if_exists)

    def _replace(self, table: Name) -> Statement:
        cursor = self.cursor
        if cursor.peek().upper in ("BRANCH", "TAG"):
            return self.create_reference(table)
        cursor.expect("REPLACE")
        if cursor.accept("PARTITION", "FIELD"):
            old = self.partition_term()
            cursor.expect("WITH", hint="REPLACE PARTITION FIELD old WITH new [AS name]")
            return ReplacePartitionField(table, old, self._named(self.partition_term()))
        cursor.expect("COLUMNS", hint="REPLACE COLUMNS, PARTITION FIELD, BRANCH or TAG")
        parenthesis = cursor.accept("(")
        columns = self.column_definitions()
        if parenthesis:
            cursor.expect(")")
        return ReplaceColumns(table, columns)

    def _alter_columns(self, table: Name) -> Statement:
        cursor = self.cursor
        hive_style = cursor.advance().upper == "CHANGE"
        cursor.accept("COLUMN")
        if hive_style and self._renames():
            return self._change_column(table)
        changes = [self._column_change()]
        while cursor.accept(","):
            changes.append(self._column_change())
        return AlterColumns(table, tuple(changes))

    def _renames(self) -> bool:
        """`CHANGE a b TYPE`: two names and a type, no keyword after the first."""
        following = self.cursor.peek()
        return following.is_name and following.upper not in ("TYPE", "COMMENT", "FIRST", "AFTER", "SET", "DROP")

    def _change_column(self, table: Name) -> Statement:
        cursor = self.cursor
        old = cursor.name("a column's name")
        column = self.column_definition(nested=True)
        if column.path[-1].lower() != old.lower():
            raise self.unsupported("CHANGE COLUMN statements that rename", "use RENAME COLUMN a TO b")
        change = ColumnChange(
            (old,), type_text=column.type_text, comment=column.comment, position=column.position, default=column.default
        )
        return AlterColumns(table, (change,))

    def _column_change(self) -> ColumnChange:
        cursor = self.cursor
        path = cursor.multipart("a column's name").parts
        if cursor.accept("TYPE"):
            return ColumnChange(path, type_text=self.type_span().of(cursor.sql))
        if cursor.accept("COMMENT"):
            return ColumnChange(path, comment=self.string("a comment"))
        if cursor.at_any("FIRST", "AFTER"):
            return ColumnChange(path, position=self.column_position())
        if cursor.accept("SET", "NOT", "NULL"):
            return ColumnChange(path, required=True)
        if cursor.accept("DROP", "NOT", "NULL"):
            return ColumnChange(path, required=False)
        if cursor.accept("SET", "DEFAULT"):
            return ColumnChange(path, default=self.default_value())
        if cursor.accept("DROP", "DEFAULT"):
            return ColumnChange(path, drop_default=True)
        raise cursor.error(
            "expected a change of the column",
            hint="TYPE t, COMMENT 'text', FIRST, AFTER c, SET|DROP NOT NULL, SET DEFAULT value or DROP DEFAULT",
        )

    def _write(self, table: Name) -> Statement:
        """WRITE [DISTRIBUTED BY PARTITION] [LOCALLY] ORDERED BY … | UNORDERED, in either order."""
        cursor = self.cursor
        cursor.expect("WRITE")
        hint = "WRITE [DISTRIBUTED BY PARTITION] [LOCALLY] ORDERED BY fields, or WRITE UNORDERED"
        distributed, ordering = False, ""
        order: tuple[SortTerm, ...] = ()
        while not cursor.at_end():
            if cursor.accept("DISTRIBUTED", "BY", "PARTITION"):
                if distributed:
                    raise cursor.error("DISTRIBUTED BY PARTITION stands twice")
                distributed = True
                continue
            if ordering:
                raise cursor.error("an order is given already", hint=hint)
            if cursor.accept("UNORDERED"):
                ordering = "none"
            elif cursor.accept("LOCALLY", "ORDERED", "BY"):
                ordering, order = "local", self.sort_terms()
            else:
                cursor.expect("ORDERED", "BY", hint=hint)
                ordering, order = "range", self.sort_terms()
        if not distributed and not ordering:
            raise cursor.error("expected a distribution or an order", hint=hint)
        mode = "hash" if distributed else {"none": "none", "range": "range"}.get(ordering)
        return SetWriteOrder(table, order, mode)

    def _view(self) -> Statement:
        cursor = self.cursor
        view = cursor.multipart("a view's name")
        ours = cursor.owned = self.names.table(view.parts) is not None
        if not ours and cursor.at_any("RENAME", "SET", "UNSET"):
            raise NotOurs
        if cursor.at("RENAME"):
            statement = self._rename(view, view=True)
        elif cursor.accept("SET", "TBLPROPERTIES"):
            statement = SetTableProperties(view, self.properties(), view=True)
        elif cursor.at("UNSET"):
            statement = self._unset(view, view=True)
        else:
            cursor.accept("AS")
            if cursor.at_end() or cursor.at_kind(Kind.STRING):
                raise cursor.error("expected AS query, RENAME TO, SET TBLPROPERTIES or UNSET TBLPROPERTIES")
            query = self.rest("a query")
            references = self.references(query)
            if not ours and not references:
                raise NotOurs
            return AlterViewAs(view, query, references)
        cursor.expect_end()
        return statement
