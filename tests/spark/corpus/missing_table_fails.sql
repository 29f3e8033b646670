-- A query of a missing table fails.
SELECT * FROM ${db}.nothing_here;
--! 
