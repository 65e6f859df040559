// @module-tag slow
import { onPostgres } from "@aegis/test/helpers/on-postgres.ts";
import { postgresStoreSuite } from "./postgres-suite.ts";

onPostgres(18, postgresStoreSuite);
