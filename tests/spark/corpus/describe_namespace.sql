-- A namespace is described by its name.
DESCRIBE NAMESPACE ${db};
