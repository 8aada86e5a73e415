-- The table that electd asks, and one that a job writes to. The owner makes them once.
CREATE ROLE electd LOGIN PASSWORD :'password';
CREATE TABLE electd_lock (name text PRIMARY KEY, holder text NOT NULL,
                          token bigint NOT NULL, until timestamptz NOT NULL);
GRANT SELECT, INSERT, UPDATE ON electd_lock TO electd;
CREATE TABLE written (number bigserial PRIMARY KEY, token bigint NOT NULL, host text NOT NULL,
                      at timestamptz NOT NULL DEFAULT clock_timestamp());
GRANT SELECT, INSERT ON written TO electd;
GRANT USAGE ON SEQUENCE written_number_seq TO electd;
