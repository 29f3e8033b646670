"""A shop whose database Debezium follows: random changes of its orders, and the messages that Kafka would deliver for them."""

from __future__ import annotations

import json
import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CUSTOMERS = ("Ada", "Grace", "Edsger", "Barbara")


@dataclass
class Shop:
    """The table `orders` of the source, and its log of changes."""

    seed: int
    orders: dict[int, dict[str, Any]] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._next_id = 1

    def change(self) -> None:
        """One random change of one order."""
        if len(self.orders) < 4 or self._chance.random() < 0.4:
            return self._create(self._next_id, self._chance.choice(CUSTOMERS))
        old = self.orders[self._chance.choice(sorted(self.orders))]
        kind = self._chance.choice(("update", "update", "delete", "move"))
        if kind == "update":
            new = {**old, "cents": self._chance.randrange(100, 10_000)}
            self.orders[old["id"]] = new
            return self._log("u", before=None, after=new)
        del self.orders[old["id"]]
        self._log("d", before={"id": old["id"], "customer": None, "cents": None}, after=None)
        self.messages.append(self._message(None))  # the tombstone that follows a delete
        if kind == "move":
            self._create(self._next_id, old["customer"])
        return None

    def totals(self) -> dict[str, tuple[int, int]]:
        """What the pipeline computes step by step: orders and cents of each customer."""
        found: dict[str, tuple[int, int]] = {}
        for order in self.orders.values():
            count, cents = found.get(order["customer"], (0, 0))
            found[order["customer"]] = (count + 1, cents + order["cents"])
        return found

    def deliver(self, folder: Path) -> None:
        """Writes the messages since the last call as one file, which takes the place of a Kafka topic."""
        folder.mkdir(parents=True, exist_ok=True)
        number = len(list(folder.glob("*.json")))
        hidden = folder / f".{number}"
        hidden.write_text("\n".join(json.dumps(message) for message in self.messages))
        os.utime(hidden, (1_700_000_000 + number,) * 2)  # Spark takes files in the order of their times
        hidden.rename(folder / f"{number:04}.json")
        self._delivered += len(self.messages)
        self.messages.clear()

    _delivered: int = 0

    def _create(self, id: int, customer: str) -> None:
        self._next_id += 1
        self.orders[id] = {"id": id, "customer": customer, "cents": self._chance.randrange(100, 10_000)}
        self._log("c", before=None, after=self.orders[id])

    def _log(self, op: str, *, before: dict[str, Any] | None, after: dict[str, Any] | None) -> None:
        self.messages.append(self._message(json.dumps({"op": op, "before": before, "after": after})))

    def _message(self, value: str | None) -> dict[str, Any]:
        offset = self._delivered + len(self.messages)
        return {"topic": "shop.public.orders", "partition": 0, "offset": offset, "value": value}
