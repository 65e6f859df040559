import { afterAll, beforeAll } from "vitest";
import { installations, type Server, startPostgres } from "./postgres.ts";
import { scaled } from "./slowness.ts";

/** A server for the tests of one file. */
export function filePostgres(settings: readonly string[] = ["fsync=off"]): { server: Server; readonly url: string } {
  const held = {} as { server: Server };
  beforeAll(async () => {
    held.server = await startPostgres(installations[18], settings);
  }, scaled(60_000));
  afterAll(() => held.server.stop(), scaled(30_000));
  return {
    get server() {
      return held.server;
    },
    get url() {
      return held.server.url("postgres");
    },
  };
}
