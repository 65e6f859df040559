import { onPostgres } from "../helpers/on-postgres.ts";
import { postgresStoreSuite } from "./postgres-suite.ts";

onPostgres(18, postgresStoreSuite);
