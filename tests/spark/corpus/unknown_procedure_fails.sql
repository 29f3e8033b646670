-- A procedure that nobody knows.
CALL lake.system.no_such_procedure('x');
--! 
