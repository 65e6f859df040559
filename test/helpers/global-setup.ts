/** Behaviour tests drive what users install; a process that they leave behind fails the run. Deadlines depend on the machine, which is measured once it has built that. */
import { buildIfStale } from "../../scripts/build-if-stale.ts";
import { sharedDatabaseVariable, testsUsePostgres } from "./cluster.ts";
import { requireNoneLeftBehind } from "./left-behind.ts";
import { installations, startPostgres } from "./postgres.ts";
import { measureSlowness } from "./slowness.ts";
import { folderOfRun, makeTestFolder } from "./test-folder.ts";

export default async function setup(): Promise<() => Promise<void>> {
  buildIfStale();
  measureSlowness();
  const removeFolder = makeTestFolder();
  const end = async () => {
    const folder = folderOfRun();
    try {
      if (folder !== null) await requireNoneLeftBehind(folder);
    } finally {
      removeFolder();
    }
  };
  if (!testsUsePostgres || process.env[sharedDatabaseVariable] !== undefined) return end;
  // Nothing crashes this server, and every daemon of three files at once has up to seven connections.
  const server = await startPostgres(installations[18], ["fsync=off", "max_connections=400"]);
  process.env[sharedDatabaseVariable] = server.url("postgres");
  return async () => {
    await server.stop();
    await end();
  };
}
