"""CDC on Spark: events are sent to the tasks that own their keys, which write files; the driver commits once a batch."""
