import { Client } from "pg";
import { afterAll, beforeAll } from "vitest";
import { installations, type Server, startPostgres } from "./postgres.ts";
import { scaled } from "./slowness.ts";

export type FilePostgres = {
  server: Server;
  readonly url: string;
  /** Executes statements one after the other, as the superuser. */
  asAdmin(...statements: string[]): Promise<void>;
};

/** A server for the tests of one file. */
export function filePostgres(settings: readonly string[] = ["fsync=off"]): FilePostgres {
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
    async asAdmin(...statements) {
      const client = new Client(held.server.url("postgres"));
      await client.connect();
      try {
        for (const statement of statements) await client.query(statement);
      } finally {
        await client.end();
      }
    },
  };
}
