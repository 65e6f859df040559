import { onPostgres } from "../helpers/on-postgres.ts";
import { postgresStoreSuite } from "./postgres-suite.ts";

onPostgres(15, postgresStoreSuite);
