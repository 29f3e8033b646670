-- A hadoop catalog makes no namespace by itself here, and a query of a missing table fails.
SELECT * FROM ${db}.nothing_here;
--! 
