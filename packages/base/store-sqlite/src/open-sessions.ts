/** Reads the open sessions of a database without a daemon. Changes nothing. */
import type { OpenSession } from "@aegis/store/store.ts";
import { Connection } from "./connection.ts";

export function openSessions(path: string): OpenSession[] {
  const connection = new Connection(path, { readOnly: true });
  try {
    return connection
      .all<OpenSession>("SELECT handle, agent, harness FROM sessions WHERE closed_at IS NULL ORDER BY created_at")
      .map((row) => ({ ...row }));
  } finally {
    connection.close();
  }
}
