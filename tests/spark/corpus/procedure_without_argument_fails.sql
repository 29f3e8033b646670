-- A required argument is missing.
CALL lake.system.rollback_to_snapshot('${ns}.t');
--! 
