-- The functions of system are the partition transforms.
SELECT lake.system.bucket(16, 34), lake.system.bucket(16, 'iceberg'), lake.system.days(DATE '1970-01-02'), lake.system.years(DATE '2017-11-16'), lake.system.months(DATE '2017-11-16');
--> 3 | 9 | 1970-01-02 | 47 | 574
SELECT lake.system.hours(TIMESTAMP '1970-01-01 10:00:00'), lake.system.truncate(3, 'iceberg'), lake.system.truncate(10, -1);
--> 10 | ice | -10
SELECT lake.SYSTEM.Days(DATE '1970-01-02'), lake.system.BUCKET(16, 34);
--> 1970-01-02 | 3
